//! Creates the bodies of simulated deliveries.

use bytes::Bytes;
use formsvc_client::{FormId, Timestamp};
use formsvc_contract::payload::{self, AnswerType};
use formsvc_contract::send::{EVENT, SIGNATURE, USER_AGENT};
use formsvc_protocol::signature::sign;
use http::{HeaderMap, HeaderValue, header};

use crate::delivery::EventNames;
use crate::edit::{self, Change, EditError};
use crate::secrets::SigningSecrets;

/// `created_at` of the first generated submission if there is a seed: 2026-01-01. Each further submission is one
/// second later.
const SEEDED_START_NANOS: i128 = 1_767_225_600_000_000_000;

/// The origin of bodies.
#[derive(Clone, Debug)]
pub enum BodySource {
    /// Generated submissions of a form that does not exist.
    Sample,
    /// Generated answers to the questions of a form.
    Form { id: FormId, title: String, questions: Vec<(String, AnswerType)> },
    /// The given bodies in rotation. At least one body is required.
    Fixed(Vec<Bytes>),
}

/// Creates the bodies of deliveries.
#[derive(Debug)]
pub struct Bodies {
    source: BodySource,
    changes: Vec<Change>,
    event: Option<HeaderValue>,
    random: fastrand::Rng,
    is_seeded: bool,
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
    /// Creates a source of bodies to which `changes` are applied. `event` replaces the event in header and body. The
    /// same seed results in the same bodies.
    pub fn new(
        source: BodySource,
        changes: Vec<Change>,
        event: Option<HeaderValue>,
        seed: Option<u64>,
    ) -> Self {
        let random = seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
        Self { source, changes, event, random, is_seeded: seed.is_some() }
    }

    /// Returns the delivery with this index. Must be called for each index in order, from 0.
    ///
    /// # Errors
    /// Fails if a change cannot be applied.
    pub fn next(&mut self, index: u64) -> Result<UnsignedDelivery, EditError> {
        let mut body = edit::apply(&self.generate(index), &self.changes)?;
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

    fn generate(&mut self, index: u64) -> Bytes {
        let created_at = created_at(self.is_seeded.then_some(index));
        let mut bits = || self.random.u64(..);
        match &self.source {
            BodySource::Sample => payload::body(&payload::sample(&mut bits, created_at)),
            BodySource::Form { id, title, questions } => {
                let (id, bits) = (id.clone(), &mut bits);
                payload::body(&payload::generate(id, title, questions, bits, created_at))
            }
            BodySource::Fixed(bodies) => {
                let index = index % bodies.len().max(1) as u64;
                usize::try_from(index)
                    .ok()
                    .and_then(|index| bodies.get(index))
                    .cloned()
                    .unwrap_or_default()
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

/// Returns the time of a generated submission: the current time, or a fixed time for each index if there is a seed.
fn created_at(seeded_index: Option<u64>) -> Timestamp {
    let nanos = match seeded_index {
        Some(index) => SEEDED_START_NANOS + i128::from(index) * 1_000_000_000,
        None => i128::from(jiff::Timestamp::now().as_millisecond()) * 1_000_000,
    };
    let start = || Timestamp::from_unix_nanos(SEEDED_START_NANOS).expect("2026 is a valid year");
    Timestamp::from_unix_nanos(nanos).unwrap_or_else(start)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use formsvc_protocol::WebhookEvent;

    use super::*;

    fn bodies(source: BodySource, changes: &[&str], seed: Option<u64>) -> Bodies {
        let changes = changes.iter().map(|text| Change::parse_set(text).unwrap()).collect();
        Bodies::new(source, changes, None, seed)
    }

    fn form() -> BodySource {
        let questions = [
            ("n", AnswerType::Number),
            ("v1.2", AnswerType::NumberText),
            ("species", AnswerType::Text),
            ("list", AnswerType::List),
        ];
        let questions = questions.map(|(label, kind)| (label.to_owned(), kind)).to_vec();
        BodySource::Form { id: FormId::new("frm_1").unwrap(), title: "Form".to_owned(), questions }
    }

    #[test]
    fn same_seed_creates_the_same_bodies() {
        let create = |seed| {
            let mut bodies = bodies(BodySource::Sample, &[], seed);
            [0, 1].map(|index| bodies.next(index).unwrap().body)
        };
        let [first, second] = create(Some(7));
        assert_ne!(first, second);
        assert_eq!(create(Some(7)), [first.clone(), second]);
        assert_ne!(create(Some(8))[0], first);
        assert_ne!(create(None)[0], create(None)[0]);
    }

    #[test]
    fn fixed_bodies_repeat_byte_for_byte() {
        let source = BodySource::Fixed(vec!["{ }".into(), Bytes::from_static(b"\xffnot JSON")]);
        let mut bodies = bodies(source, &[], None);
        let read = [0, 1, 2].map(|index| bodies.next(index).unwrap().body);
        assert_eq!(read, [&b"{ }"[..], b"\xffnot JSON", b"{ }"]);
        let unsigned = bodies.next(3).unwrap();
        assert_eq!(unsigned.event, "submission.created");
        assert_eq!(unsigned.submission_id, None);
    }

    #[test]
    fn change_and_event_are_in_header_and_body() {
        let mut bodies = bodies(form(), &["data.species=Emperor"], Some(1));
        bodies.event = Some(HeaderValue::from_static("form.closed"));
        let unsigned = bodies.next(0).unwrap();
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
        let unsigned = bodies(BodySource::Sample, &[], Some(1)).next(0).unwrap();
        let headers = unsigned.headers(&secrets, 7);
        let clock = || UNIX_EPOCH + Duration::from_secs(7);
        let verifier = secrets.builder().clock(clock).build().unwrap();
        verifier.verify_signature(&headers[SIGNATURE], &unsigned.body).unwrap();
        assert_eq!(headers[EVENT], "submission.created");
        assert_eq!(headers[header::USER_AGENT], "service-webhooks/1.0");
    }
}
