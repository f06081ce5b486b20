//! What the sender is told where its delivery was forwarded: the word of one of the targets.

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;

use super::answers::{Answer, gateway, no_final_status};
use crate::webhook::capture::{Forward, Forwarded};
use crate::webhook::end_to_end::end_to_end;

/// The answer to the sender, and which of the forwards it is that of: the first that failed, or else the
/// first; so the service tries again until all have taken it. None where nothing was forwarded.
pub(super) fn answer(forwards: &[Forward]) -> Option<(usize, Answer)> {
    let failed = forwards.iter().position(|forward| !forward.is_accepted());
    let decides = failed.unwrap_or(0);
    Some((
        decides,
        match &forwards.get(decides)?.answer {
            Ok(answer) => relayed(answer).unwrap_or_else(no_final_status),
            Err(unanswered) => gateway(unanswered),
        },
    ))
}

/// The answer of a target, as it may go on: without what is of its connection. None where its status is
/// none that an exchange of HTTP ends with (RFC 9110, section 15).
fn relayed(answer: &Forwarded) -> Option<Answer> {
    let status = StatusCode::from_u16(answer.status).ok();
    let status = status.filter(|status| (200..600).contains(&status.as_u16()))?;
    let mut relayed = Response::new(Full::new(Bytes::clone(&answer.body)));
    *relayed.status_mut() = status;
    *relayed.headers_mut() = end_to_end(&answer.headers);
    if answer.truncated {
        // Its beginning is all there is, which a digest of the whole would not fit.
        for name in ["content-encoding", "content-md5", "digest", "etag"] {
            relayed.headers_mut().remove(name);
        }
    }
    Some(relayed)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::header::{HeaderMap, HeaderName, HeaderValue};
    use http_body_util::BodyExt;

    use super::*;
    use crate::webhook::capture::Unanswered;

    fn answered(status: u16) -> Forward {
        let headers = HeaderMap::new();
        let answer =
            Ok(Forwarded { status, headers, body: status.to_string().into(), truncated: false });
        Forward { url: "http://localhost:1/".into(), answer, took: Duration::ZERO }
    }

    fn unanswered(timed_out: bool) -> Forward {
        let answer = Err(Unanswered { timed_out, garbled: false, why: "refused".into() });
        Forward { url: "http://localhost:1/".into(), answer, took: Duration::ZERO }
    }

    #[test]
    fn the_first_that_failed_decides_or_else_the_first() {
        for (forwards, status) in [
            (vec![], None),
            (vec![answered(201), answered(200)], Some((0, 201))),
            (vec![answered(200), answered(500), answered(404)], Some((1, 500))),
            (vec![answered(200), answered(302)], Some((1, 302))),
            (vec![unanswered(false), answered(502)], Some((0, 502))),
            (vec![answered(200), unanswered(true)], Some((1, 504))),
            (vec![answered(101)], Some((0, 502))),
            (vec![answered(599)], Some((0, 599))),
            (vec![answered(600), answered(999)], Some((0, 502))),
            (vec![answered(99)], Some((0, 502))),
        ] {
            let answer = answer(&forwards).map(|(at, answer)| (at, answer.status().as_u16()));
            assert_eq!(answer, status, "{forwards:?}");
        }
    }

    #[test]
    fn nothing_goes_on_of_an_answer_that_is_none() {
        let (_, answer) = answer(&[answered(999)]).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let body = runtime.block_on(answer.into_body().collect()).unwrap().to_bytes();
        assert!(body.starts_with(br#"{"error":{"code":"target_status""#), "{body:?}");
    }

    #[test]
    fn headers_of_a_connection_stay_behind() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Hop"),
            ("x-hop", "1"),
            ("transfer-encoding", "chunked"),
            ("content-length", "7"),
            ("retry-after", "5"),
            ("set-cookie", "a=1"),
            ("set-cookie", "b=2"),
        ] {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let answer = Forwarded { headers, ..answered(200).answer.unwrap() };
        let relayed = relayed(&answer).unwrap();
        let kept = relayed.headers().iter().map(|(name, value)| (name.as_str(), value));
        let kept: Vec<_> = kept.collect();
        let expected = [("retry-after", "5"), ("set-cookie", "a=1"), ("set-cookie", "b=2")];
        let expected = expected.map(|(name, value)| (name, HeaderValue::from_static(value)));
        let expected: Vec<_> = expected.iter().map(|(name, value)| (*name, value)).collect();
        assert_eq!(kept, expected);
    }
}
