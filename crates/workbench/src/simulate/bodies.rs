//! Creates the bodies of simulated deliveries.

use bytes::Bytes;
use formsvc_client::Timestamp;
use formsvc_contract::payload;
use formsvc_contract::send::{EVENT, SIGNATURE, USER_AGENT};
use formsvc_protocol::signature::sign;
use http::{HeaderMap, HeaderValue, header};

use crate::delivery::EventNames;
use crate::edit::{self, Change, EditError};
use crate::secrets::SigningSecrets;

/// The origin of bodies.
#[derive(Clone, Debug)]
pub enum BodySource {
    /// Generated submissions of a form that does not exist.
    Sample,
    /// The given bodies in rotation. At least one body is required.
    Fixed(Vec<Bytes>),
}

/// Creates the bodies of deliveries.
#[derive(Debug)]
pub struct Bodies {
    source: BodySource,
    changes: Vec<Change>,
    event: Option<HeaderValue>,
}

/// A delivery before it is signed.
#[derive(Clone, Debug)]
pub struct UnsignedDelivery {
    pub body: Bytes,
    pub event: HeaderValue,
    /// The submission id in the body; `None` if the body has no id.
    pub submission_id: Option<String>,
}

impl Bodies {
    /// Creates a source of bodies to which `changes` are applied. `event` replaces the event in header and body.
    pub fn new(source: BodySource, changes: Vec<Change>, event: Option<HeaderValue>) -> Self {
        Self { source, changes, event }
    }

    /// Returns the delivery with this index, counted from 0.
    ///
    /// # Errors
    /// Fails if a change cannot be applied.
    pub fn get(&self, index: u64) -> Result<UnsignedDelivery, EditError> {
        let mut body = edit::apply(&self.body(index), &self.changes)?;
        let EventNames { event, submission_id, .. } = EventNames::of_body(&body);
        let has_event = event.is_some();
        let event = event.and_then(|event| HeaderValue::try_from(event).ok());
        if let Some(new) = self.event.clone().filter(|new| has_event && event.as_ref() != Some(new))
        {
            let text = String::from_utf8_lossy(new.as_bytes());
            let value = serde_json::to_string(&text).expect("a string serializes");
            body = edit::apply(&body, &[Change::Set { path: "event".to_owned(), value }])?;
        }
        let default = HeaderValue::from_static("submission.created");
        let event = self.event.clone().or(event).unwrap_or(default);
        Ok(UnsignedDelivery { body, event, submission_id })
    }

    fn body(&self, index: u64) -> Bytes {
        match &self.source {
            BodySource::Sample => {
                let millis = jiff::Timestamp::now().as_millisecond();
                let created_at = Timestamp::from_unix_nanos(i128::from(millis) * 1_000_000);
                let created_at = created_at.expect("the current year has four digits");
                payload::body(&payload::sample(&mut || fastrand::u64(..), created_at))
            }
            BodySource::Fixed(bodies) => {
                let index = index % bodies.len().max(1) as u64;
                let index = usize::try_from(index).ok();
                index.and_then(|index| bodies.get(index)).cloned().unwrap_or_default()
            }
        }
    }
}

impl UnsignedDelivery {
    /// Returns the headers that the service sends (SPEC §6), with a signature by all secrets.
    pub fn headers(&self, secrets: &SigningSecrets, now_unix_secs: u64) -> HeaderMap {
        let keys: Vec<_> = secrets.signing().collect();
        let signature = HeaderValue::try_from(sign(&keys, now_unix_secs, &self.body));
        HeaderMap::from_iter([
            (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (header::USER_AGENT, HeaderValue::from_static(USER_AGENT)),
            (EVENT, self.event.clone()),
            (SIGNATURE, signature.expect("a signature is visible ASCII")),
        ])
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use formsvc_protocol::WebhookEvent;

    use super::*;

    fn bodies(source: BodySource, changes: &[&str]) -> Bodies {
        let changes = changes.iter().map(|text| Change::parse_set(text).unwrap()).collect();
        Bodies::new(source, changes, None)
    }

    #[test]
    fn generated_bodies_differ() {
        let bodies = bodies(BodySource::Sample, &[]);
        assert_ne!(bodies.get(0).unwrap().body, bodies.get(1).unwrap().body);
    }

    #[test]
    fn fixed_bodies_repeat_byte_for_byte() {
        let source = BodySource::Fixed(vec!["{ }".into(), Bytes::from_static(b"\xffnot JSON")]);
        let bodies = bodies(source, &[]);
        let read = [0, 1, 2].map(|index| bodies.get(index).unwrap().body);
        assert_eq!(read, [&b"{ }"[..], b"\xffnot JSON", b"{ }"]);
        let unsigned = bodies.get(3).unwrap();
        assert_eq!(unsigned.event, "submission.created");
        assert_eq!(unsigned.submission_id, None);
    }

    #[test]
    fn change_and_event_are_in_header_and_body() {
        let mut bodies = bodies(BodySource::Sample, &["data.species=Emperor"]);
        bodies.event = Some(HeaderValue::from_static("form.closed"));
        let unsigned = bodies.get(0).unwrap();
        let event: WebhookEvent = serde_json::from_slice(&unsigned.body).unwrap();
        assert_eq!(event.event.as_str(), "form.closed");
        assert_eq!(unsigned.event, "form.closed");
        assert_eq!(unsigned.submission_id.as_deref(), Some(event.submission_id.as_str()));
        assert!(event.data.as_json().contains(r#""species":"Emperor""#));
    }

    #[test]
    fn headers_are_signed_as_the_service_does() {
        const SECRET: &str = "whsec_of_a_test_of_simulation";
        let mut secrets = SigningSecrets::default();
        secrets.add("a", SECRET.into()).unwrap();
        let unsigned = bodies(BodySource::Sample, &[]).get(0).unwrap();
        let headers = unsigned.headers(&secrets, 7);
        let clock = || UNIX_EPOCH + Duration::from_secs(7);
        let verifier = secrets.builder().clock(clock).build().unwrap();
        verifier.verify_signature(&headers[SIGNATURE], &unsigned.body).unwrap();
        assert_eq!(headers[EVENT], "submission.created");
        assert_eq!(headers[header::USER_AGENT], "service-webhooks/1.0");
    }
}
