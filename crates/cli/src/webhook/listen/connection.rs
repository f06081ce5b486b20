//! One connection, from its first byte to its last.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{HeaderMap, HeaderValue, Method, Request, header};
use hyper::body::{Body, Incoming as Unread};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::{Notify, watch};

use super::answers::{self, Answer, Refusal};
use super::body;
use super::intake::{Incoming, Intake, Reply};
use super::lasting::Lasting;
use super::server::Phase;
use super::waiting::{Wait, Waiting};
use crate::webhook::capture::Source;

/// Most a connection buffers of a request's head, in bytes; a longer one is refused with 431.
const HEAD_MAX: usize = 32 * 1024;
/// Most header fields of a request.
const HEADERS_MAX: usize = 64;
/// Time for what is half read or half written when the listener is to end.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// The path that whoever waits for a listener may ask.
const HEALTH: &str = "/healthz";

/// The connection ends without an answer.
#[derive(Debug, thiserror::Error)]
#[error("dropped as told")]
struct Dropped;

/// Serves one connection until its peer is done or too slow, or the listener ends.
pub(super) async fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    intake: Intake,
    heads: Arc<Waiting>,
    mut phase: watch::Receiver<Phase>,
) {
    let gives_way = Arc::new(Notify::new());
    // Of its next request, from the last answer on, which is to be taken within that time as well; none
    // while one is under way.
    let wait = Mutex::new(Some(heads.begin(&gives_way)));
    let waits = |wait: &Mutex<Option<Wait>>| locked(wait).is_some();
    let service = service_fn(|request| {
        let (intake, wait, next) = (intake.clone(), &wait, || heads.begin(&gives_way));
        async move {
            drop(locked(wait).take());
            let answered = answer(request, peer, intake).await;
            *locked(wait) = Some(next());
            answered
        }
    });
    let mut http = http1::Builder::new();
    // Whoever is too slow gives way. Said, since the time that is meant where nothing is said wants a timer,
    // and warns at each connection that there is none.
    http.max_buf_size(HEAD_MAX).max_headers(HEADERS_MAX).header_read_timeout(None);
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    loop {
        let changed = tokio::select! {
            biased;
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "connection ended");
                }
                return;
            }
            () = gives_way.notified() => {
                // At this moment its request may have begun, and even ended.
                if locked(&wait).as_ref().is_some_and(Wait::gave_way) {
                    tracing::debug!(%peer, "connection gives way");
                    return;
                }
                continue;
            }
            changed = phase.changed() => changed,
        };
        match changed.map(|()| *phase.borrow_and_update()) {
            Ok(Phase::Listening) => {}
            Ok(Phase::Draining) => {
                connection.as_mut().graceful_shutdown();
                // What has not become a request by then is not waited for: half a head would hold up
                // the end for as long as it may take.
                let soon = tokio::time::timeout(LAST_WORDS, connection.as_mut()).await;
                if soon.is_ok() || waits(&wait) {
                    return;
                }
            }
            // Err: the listener is gone.
            Ok(Phase::Ended) | Err(_) => return,
        }
    }
}

fn locked(wait: &Mutex<Option<Wait>>) -> MutexGuard<'_, Option<Wait>> {
    wait.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns true if the sender waits for `100 Continue` before it sends the body. Such a sender reads an answer
/// that comes before that, so that nothing of the body has to be read for it.
fn waits_for_continue(headers: &HeaderMap) -> bool {
    let expected = headers.get(header::EXPECT).map(HeaderValue::as_bytes);
    expected.is_some_and(|expected| expected.eq_ignore_ascii_case(b"100-continue"))
}

/// Whether a page in a browser sent the request, which no sender of deliveries is: any page that somebody
/// has open here could otherwise deliver to a listener that is given no secret.
fn is_from_a_page(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    headers.contains_key(header::ORIGIN) || site.is_some_and(|site| site != b"none")
}

async fn answer(
    request: Request<Unread>,
    peer: SocketAddr,
    intake: Intake,
) -> Result<Answer, Dropped> {
    if request.uri().path() == HEALTH && matches!(*request.method(), Method::GET | Method::HEAD) {
        return Ok(answers::healthy());
    }
    let (parts, unread) = request.into_parts();
    let request_target =
        parts.uri.path_and_query().map_or("*", |target| target.as_str()).to_owned();
    let refuse = |refusal: Refusal| {
        intake.refused(parts.method.clone(), request_target.clone(), refusal);
        Ok(refusal.answer())
    };
    if intake.rules().path.as_deref().is_some_and(|path| path != parts.uri.path()) {
        return refuse(Refusal::NotFound);
    }
    if parts.method != Method::POST {
        return refuse(Refusal::MethodNotAllowed);
    }
    if is_from_a_page(&parts.headers) {
        return refuse(Refusal::CrossSite);
    }
    let limits = intake.rules().limits;
    if waits_for_continue(&parts.headers) && unread.size_hint().lower() > limits.body as u64 {
        return refuse(Refusal::TooLarge);
    }
    let body = if unread.is_end_stream() {
        bytes::Bytes::new()
    } else {
        let Some(reading) = intake.reading().await else { return refuse(Refusal::Busy) };
        match body::read(unread, limits.body, &reading.gives_way).await {
            Ok(body) => body,
            Err(body::Unread::TooLarge) => return refuse(Refusal::TooLarge),
            Err(body::Unread::TooSlow) => return refuse(Refusal::TooSlow),
            Err(body::Unread::Scattered) => return refuse(Refusal::Scattered),
            Err(body::Unread::Broken) => return refuse(Refusal::Unreadable),
        }
    };
    let place = match intake.place().await {
        Ok(place) => place,
        Err(refusal) => return refuse(refusal),
    };
    let source = Source::Request(peer);
    let (method, request_target) = (parts.method.clone(), request_target.clone());
    let incoming = Incoming { source, method, request_target, headers: parts.headers, body };
    match Lasting::of(intake.clone().take(incoming, place)).await {
        Ok((Reply::Answer(answer), _)) => Ok(answer),
        Ok((Reply::Nothing, _)) => Err(Dropped),
        Err(refusal) => refuse(refusal),
    }
}
