//! What stands where, below the token.

use std::sync::Arc;
use std::time::Duration;

use axum::BoxError;
use axum::body::{Body, HttpBody};
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use serde::Serialize;
use url::{Url, form_urlencoded};

use super::gate::{Refusal, admit};
use super::reply::{Problem, guard, json, problem, refused, typed};
use super::{Desk, assets, detail, explain, list, replay, stream};
use crate::webhook::capture::CaptureNumber;
use crate::webhook::verdict::{VERDICTS, VerdictRow};
use crate::webhook::{attempts, mask};

/// Longest body of a request, in bytes: an edited delivery of 1 MiB in base64, and then some.
const BODY_MAX: usize = 4 << 20;
/// Time for the body of a request.
const BODY_TIME: Duration = Duration::from_secs(10);

/// Answers a request. What every answer has is added here, whatever it is.
pub(super) async fn answer(desk: Arc<Desk>, request: Request<Incoming>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let mut response = match admit(&desk.token, desk.port, &parts) {
        Ok(path) => {
            let parameters = parts.uri.query().unwrap_or_default().as_bytes();
            let parameters: Vec<_> = form_urlencoded::parse(parameters).into_owned().collect();
            let answered = if parts.method == Method::POST {
                act(&desk, path, body).await
            } else if path == "api/events" {
                let after = parameter(&parameters, "after").ok();
                Ok(stream::events(Arc::clone(&desk), stream::seen(&parts.headers, after)))
            } else {
                read(&desk, path, &parameters).await
            };
            answered.unwrap_or_else(|told| problem(&told))
        }
        Err(refusal) => refused(refusal),
    };
    guard(response.headers_mut());
    response
}

/// What can be read.
async fn read(
    desk: &Desk,
    path: &str,
    parameters: &[(String, String)],
) -> Result<Response<Body>, Problem> {
    Ok(match path {
        "api/about" => json(&about(desk)),
        "api/list" => json(&list::list(desk, parameters).await?),
        "api/capture" => json(&detail::detail(desk, parameter(parameters, "number")?).await?),
        "api/explain" => json(&explain::explained(desk, parameter(parameters, "number")?).await?),
        "api/curl" => {
            let command = replay::curl(desk, parameter(parameters, "number")?).await?;
            typed(Response::new(Body::from(command)), "text/plain; charset=utf-8")
        }
        "api/body" => body(desk, parameter(parameters, "number")?).await?,
        _ => assets::asset(path).unwrap_or_else(|| refused(Refusal::NotFound)),
    })
}

/// What can be done.
async fn act(desk: &Desk, path: &str, body: Incoming) -> Result<Response<Body>, Problem> {
    Ok(match path {
        "api/replay" => json(&replay::replay(desk, &whole(body).await?).await?),
        _ => refused(Refusal::NotFound),
    })
}

/// What the page has to know once.
#[derive(Serialize)]
struct About<'a> {
    address: &'a str,
    targets: Vec<String>,
    /// Whether there is a secret to sign with.
    can_sign: bool,
    /// When a failed delivery is tried again, in words.
    schedule: String,
    verdicts: Vec<AboutVerdict>,
}

#[derive(Serialize)]
struct AboutVerdict {
    name: &'static str,
    short: &'static str,
}

fn about(desk: &Desk) -> About<'_> {
    let inspected = &desk.inspected;
    let shown = |target: &Url| mask::url(target.as_str(), inspected.reveal);
    let verdict = |row: &VerdictRow| AboutVerdict { name: row.name, short: row.short };
    About {
        address: inspected.address.as_str(),
        targets: inspected.targets.iter().map(shown).collect(),
        can_sign: !inspected.secrets.is_empty(),
        schedule: attempts::told(&inspected.schedule),
        verdicts: VERDICTS.iter().map(verdict).collect(),
    }
}

/// The body of a delivery, to the byte, as something that no browser shows by itself.
async fn body(desk: &Desk, number: CaptureNumber) -> Result<Response<Body>, Problem> {
    let capture = detail::capture(desk, number).await?;
    let mut response = Response::new(Body::from(capture.received.body.clone()));
    for (name, value) in [
        (header::CONTENT_TYPE, "application/octet-stream"),
        (header::CONTENT_DISPOSITION, "attachment"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

/// A number that is asked for.
fn parameter(parameters: &[(String, String)], name: &str) -> Result<u64, Problem> {
    let Some((_, value)) = parameters.iter().find(|(given, _)| given == name) else {
        return Err(Problem::bad(format!("`{name}` is missing: the number of a delivery.")));
    };
    value.parse().map_err(|_| Problem::not(name, value, "a number, 0 or more"))
}

/// The whole body of a request, if it is no longer than it may be and comes in time.
async fn whole<B>(body: B) -> Result<Bytes, Problem>
where
    B: HttpBody<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    let too_large = || {
        let what = format!("The request is broken off, or longer than {BODY_MAX} bytes.");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, what)
    };
    // Before the first read, which answers `100 Continue`.
    if body.size_hint().lower() > BODY_MAX as u64 {
        return Err(too_large());
    }
    let mut body = Limited::new(body, BODY_MAX);
    let read = async {
        // Copied, because a chunk that is kept keeps the buffer that it was read into.
        let mut whole = Vec::new();
        while let Some(frame) = body.frame().await {
            if let Ok(chunk) = frame?.into_data() {
                whole.extend_from_slice(&chunk);
            }
        }
        Ok::<_, BoxError>(whole.into())
    };
    match tokio::time::timeout(BODY_TIME, read).await {
        Ok(Ok(whole)) => Ok(whole),
        Ok(Err(_)) => Err(too_large()),
        Err(_) => {
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "The request did not come in time."))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::stream;

    use super::*;

    /// A read buffer with one byte, and a reference to the counter.
    struct Buffer(#[expect(dead_code, reason = "counted")] Arc<AtomicUsize>);

    impl AsRef<[u8]> for Buffer {
        fn as_ref(&self) -> &[u8] {
            b"a"
        }
    }

    #[tokio::test]
    async fn scattered_body_keeps_one_read_buffer() {
        let peak = Arc::<AtomicUsize>::default();
        let counter = Arc::clone(&peak);
        let chunk = move |_| {
            let buffer = Buffer(Arc::clone(&counter));
            counter.fetch_max(Arc::strong_count(&counter), Ordering::Relaxed);
            Ok::<_, Infallible>(Bytes::from_owner(buffer))
        };
        let body = Body::from_stream(stream::iter((0..1_000).map(chunk)));
        assert_eq!(whole(body).await.unwrap(), [b'a'; 1_000].as_slice());
        let references = peak.load(Ordering::Relaxed);
        assert_eq!(references, 3, "those of the test, the body and one buffer");
    }
}
