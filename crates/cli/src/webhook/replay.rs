//! A capture sent once more: what goes out, with a signature of now or with the one it came with.

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use formsvc_contract::send::{EVENT, Outgoing, SIGNATURE};
use formsvc_protocol::signature::sign;
use http::HeaderValue;
use serde::Deserialize;
use url::Url;

use super::capture::Received;
use super::end_to_end::end_to_end;
use super::secrets::Secrets;
use crate::error::CliError;

/// What is sent once more.
#[derive(Clone, Debug)]
pub(crate) struct Replay<'a> {
    pub(crate) received: &'a Received,
    pub(crate) to: Url,
    /// Another body in place of the one it came with.
    pub(crate) body: Option<Bytes>,
    pub(crate) signature: Signature,
}

/// What it is signed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signature {
    /// The secrets, now: what a receiver takes.
    Fresh,
    /// Nothing: the header it came with, to the byte, or none.
    Kept,
}

impl Replay<'_> {
    /// The request. A fresh signature needs a secret.
    pub(crate) fn outgoing(self, secrets: &Secrets, now: u64) -> Result<Outgoing, CliError> {
        let received = self.received;
        let mut headers = end_to_end(&received.headers);
        let is_edited = self.body.is_some();
        let body = self.body.unwrap_or_else(|| received.body.clone());
        // A receiver may look at either.
        if let Some(event) = event(&body).filter(|_| is_edited) {
            headers.insert(EVENT, event);
        }
        if self.signature == Signature::Fresh {
            let secrets: Vec<_> =
                secrets.clone().required("a fresh signature")?.all_signing().collect();
            let value = HeaderValue::try_from(sign(&secrets, now, &body));
            headers.insert(SIGNATURE, value.expect("digits and hex digits are a header"));
        }
        Ok(Outgoing { method: received.method.clone(), url: self.to, headers, body })
    }
}

/// The request as it came, to an address: what somebody is shown of it, or copies.
pub(crate) fn as_it_came(received: &Received, to: Url) -> Outgoing {
    let (method, headers) = (received.method.clone(), end_to_end(&received.headers));
    Outgoing { method, url: to, headers, body: received.body.clone() }
}

/// What is sent of a delivery, in words.
pub(crate) fn how(is_edited: bool, signature: Signature) -> &'static str {
    match (is_edited, signature) {
        (false, Signature::Fresh) => "with its body to the byte, signed now",
        (false, Signature::Kept) => "with its body to the byte, with the signature it came with",
        (true, Signature::Fresh) => "with the edited body, signed now",
        (true, Signature::Kept) => "with the edited body, with the signature it came with",
    }
}

/// Unix seconds now.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The event that a body says it is.
fn event(body: &[u8]) -> Option<HeaderValue> {
    #[derive(Deserialize)]
    struct Said {
        event: String,
    }
    let said: Said = serde_json::from_slice(body).ok()?;
    HeaderValue::from_str(&said.event).ok()
}

#[cfg(test)]
mod tests {
    use formsvc_receiver::Verifier;
    use http::{HeaderMap, HeaderName};
    use jiff::Timestamp;

    use super::*;
    use crate::webhook::capture::{Arrival, Source};
    use crate::webhook::verdict::{Verdict, VerdictCode};

    const SECRET: &str = "whsec_of_a_test_of_replays";

    fn received() -> Received {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("host", "old.test"),
            ("content-length", "2"),
            ("connection", "keep-alive, X-Hop"),
            ("x-hop", "1"),
            ("keep-alive", "timeout=5"),
            ("transfer-encoding", "chunked"),
            ("x-service-event", "submission.created"),
            ("x-service-signature", "t=1,v1=00"),
            ("x-twice", "1"),
            ("x-twice", "2"),
        ] {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        Received {
            at: Timestamp::UNIX_EPOCH,
            source: Source::Poll,
            method: http::Method::POST,
            request_target: "/".to_owned(),
            headers,
            body: Bytes::from_static(b"{ }\xff"),
            verdict: Verdict { code: VerdictCode::Unchecked, secret: None, age: None },
            event: None,
            submission_id: None,
            form_id: None,
            arrival: Arrival { number: 1, gap: None, duplicate: false },
        }
    }

    fn replay(received: &Received, signature: Signature) -> Replay<'_> {
        let to = Url::parse("http://localhost:1/hook").unwrap();
        Replay { received, to, body: None, signature }
    }

    fn shown(headers: &HeaderMap) -> Vec<String> {
        headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect()
    }

    #[test]
    fn what_is_kept_is_kept_to_the_byte() {
        let received = received();
        let sent = replay(&received, Signature::Kept).outgoing(&Secrets::default(), 7).unwrap();
        assert_eq!(sent.body, received.body);
        assert_eq!(
            shown(&sent.headers),
            [
                "x-service-event: submission.created",
                "x-service-signature: t=1,v1=00",
                "x-twice: 1",
                "x-twice: 2"
            ]
        );
    }

    #[test]
    fn what_is_fresh_is_signed_now_over_what_is_sent() {
        let received = received();
        let secrets = Secrets(vec![("a".into(), SECRET.into())]);
        let mut replay = replay(&received, Signature::Fresh);
        let missing = replay.clone().outgoing(&Secrets::default(), 7).unwrap_err();
        assert!(missing.told().contains("--secret-file"), "{}", missing.told());
        replay.body = Some(Bytes::from_static(br#"{"event":"form.closed"}"#));
        let sent = replay.outgoing(&secrets, 7).unwrap();
        assert_eq!(sent.headers[EVENT], "form.closed");
        let clock = || UNIX_EPOCH + std::time::Duration::from_secs(7);
        let verifier = Verifier::builder().secret(SECRET).clock(clock).build().unwrap();
        verifier.verify_signature(&sent.headers[SIGNATURE], &sent.body).unwrap();
    }
}
