//! What came of judging a delivery.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use formsvc_protocol::limits::SIGNATURE_TOLERANCE;
use formsvc_protocol::signature::SignatureHeader;
use formsvc_receiver::{Event, Verifier, VerifyError, signature_header};
use serde_json::{Value, json};

use super::source::Delivery;
use crate::webhook::moment;
use crate::webhook::payload;
use crate::webhook::secrets::Secrets;
use crate::webhook::verdict::VerdictCode;

/// By what clock an age is judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// Unix seconds.
    pub(super) at: u64,
    /// None is the specification's.
    pub(super) tolerance: Option<Duration>,
    pub(super) ignores_age: bool,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) verdict: VerdictCode,
    /// The secret that signed it.
    secret: Option<Arc<str>>,
    previous: bool,
    /// The header's `t`: a stranger's word unless the signature is right.
    signed: Option<u64>,
    clock: Clock,
}

impl Judged {
    /// Judges a delivery with the receiver's verifier. What the body says does not matter here: the
    /// question is who signed it.
    pub(super) fn of(delivery: &Delivery, secrets: &Secrets, clock: Clock) -> Self {
        let header = signature_header(delivery.headers.signatures());
        let signed = header
            .as_ref()
            .ok()
            .and_then(|header| SignatureHeader::parse(header).ok())
            .map(|header| header.unix_seconds());
        let at = if clock.ignores_age { signed.unwrap_or(clock.at) } else { clock.at };
        let verified = header.and_then(|header| {
            let verifier = verifier(secrets, clock.tolerance, at).ok_or(VerifyError::NoMatch)?;
            verifier.verify(header, &delivery.body)
        });
        match verified {
            Ok(verified) => Self {
                verdict: VerdictCode::Valid,
                previous: secrets.is_previous(verified.secret()),
                secret: Some(verified.secret().into()),
                signed,
                clock,
            },
            Err(error) => {
                Self { verdict: (&error).into(), secret: None, previous: false, signed, clock }
            }
        }
    }

    /// Whether the signature is right, and of its time.
    pub(super) fn is_valid(&self) -> bool {
        self.verdict == VerdictCode::Valid
    }

    /// Seconds from the signature's time to that of the judgement; negative when it lies ahead.
    fn age(&self) -> Option<i64> {
        let signed = i64::try_from(self.signed?).ok()?;
        i64::try_from(self.clock.at).ok().map(|at| at.saturating_sub(signed))
    }

    /// What to do about a delivery that is not valid.
    pub(super) fn advice(&self) -> Option<&'static str> {
        match self.verdict {
            VerdictCode::MissingHeader => Some("give it with `--header` or `--signature-file`"),
            VerdictCode::TooOld | VerdictCode::InFuture => Some(
                "`--ignore-age` judges the signature alone, `--at TIME` as of another time; \
                 `webhook replay` signs afresh",
            ),
            _ => None,
        }
    }

    /// The item that is shown.
    pub(super) fn item(&self, delivery: &Delivery) -> Value {
        let event = Event::from_json(delivery.body.clone()).ok();
        let submission = match &event {
            Some(Event::SubmissionCreated(event)) => Some(event.submission_id.as_str()),
            _ => None,
        };
        json!({
            "valid": self.is_valid(),
            "verdict": self.verdict.row().name,
            "meaning": self.meaning(),
            "secret": self.secret.as_deref(),
            "previous": self.is_valid().then_some(self.previous),
            "signed_at": self.signed.and_then(moment::shown),
            "age": self.age(),
            "judged_at": moment::shown(self.clock.at),
            "event": event.as_ref().map(Event::kind),
            "submission_id": submission,
            "body_bytes": delivery.body.len(),
        })
    }

    fn meaning(&self) -> String {
        let meaning = self.verdict.row().meaning;
        match (self.is_valid(), self.clock.ignores_age, self.previous) {
            (true, true, _) => "the signature is right; its age was not looked at".to_owned(),
            (true, _, true) => format!("{meaning}, by the previous secret"),
            _ => meaning.to_owned(),
        }
    }
}

fn verifier(secrets: &Secrets, tolerance: Option<Duration>, at: u64) -> Option<Verifier> {
    let now = UNIX_EPOCH.checked_add(Duration::from_secs(at))?;
    let max = usize::try_from(payload::MAX).unwrap_or(usize::MAX);
    let builder = secrets.builder().max_body(max).clock(move || now);
    builder.tolerance(tolerance.unwrap_or(SIGNATURE_TOLERANCE)).build().ok()
}
