//! What came of judging a delivery.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use formsvc_protocol::limits::SIGNATURE_TOLERANCE;
use formsvc_protocol::signature::SignatureHeader;
use formsvc_receiver::{Verifier, VerifyError, WebhookEvent, signature_header};
use secrecy::SecretString;
use serde::Serialize;

use super::explained::{Explained, ExplanationData};
use super::source::Delivery;
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::webhook::capture::CaptureNumber;
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

impl Clock {
    /// Largest difference that is taken; none takes any.
    pub(super) fn tolerance(self) -> Option<Duration> {
        (!self.ignores_age).then(|| self.tolerance.unwrap_or(SIGNATURE_TOLERANCE))
    }
}

/// What came of it.
pub(super) struct Judged {
    pub(super) verdict: VerdictCode,
    /// The secret that signed it.
    secret: Option<Arc<str>>,
    previous: bool,
    /// The header's `t`: a stranger's word unless the signature is right.
    signed: Option<u64>,
    clock: Clock,
    /// Why it is not valid, where that was asked for.
    explained: Option<Explained>,
}

impl Judged {
    /// Judges a delivery as a listener does, with the receiver's verifier: by its signature first, and then
    /// by whether its body is an event.
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
            verifier.verify_signature(header, &delivery.body)
        });
        match verified {
            Ok(verified) => Self {
                verdict: match WebhookEvent::from_json(delivery.body.clone()) {
                    Ok(_) => VerdictCode::Valid,
                    Err(_) => VerdictCode::BadEvent,
                },
                previous: secrets.is_previous(verified.secret_name()),
                secret: Some(verified.secret_name().into()),
                signed,
                clock,
                explained: None,
            },
            Err(error) => Self {
                verdict: (&error).into(),
                secret: None,
                previous: false,
                signed,
                clock,
                explained: None,
            },
        }
    }

    /// The same with an explanation, if there is anything about the signature to explain.
    pub(super) async fn explained(
        mut self,
        cx: &Context,
        delivery: &Delivery,
        secrets: &Secrets,
        api_key: Option<&SecretString>,
    ) -> Self {
        if self.verdict != VerdictCode::Valid && self.verdict != VerdictCode::BadEvent {
            let explained = Explained::of(delivery, secrets, api_key, self.clock);
            self.explained = Some(explained.compared(cx, delivery, secrets).await);
        }
        self
    }

    /// Whether the signature is right, and of its time, and the body an event.
    pub(super) fn is_valid(&self) -> bool {
        self.verdict == VerdictCode::Valid
    }

    /// Seconds from the signature's time to that of the judgement; negative when it lies ahead.
    fn age(&self) -> Option<i64> {
        let signed = i64::try_from(self.signed?).ok()?;
        i64::try_from(self.clock.at).ok().map(|at| at.saturating_sub(signed))
    }

    /// What is wrong with a delivery that is not valid, and what to do about it.
    pub(super) fn error(&self) -> CliError {
        let what = format!("not valid: {}", self.meaning());
        let error = CliError::coded(Code::VerificationFailed, what);
        if let Some(explained) = &self.explained {
            return explained.explain_error(error);
        }
        error.hint(if self.verdict.row().off.is_some() {
            "`--ignore-age` judges the signature alone, `--at TIME` as of another time; \
             `webhook replay` signs afresh"
        } else if self.verdict == VerdictCode::BadEvent {
            "it was signed so: a body is JSON with `event`, and with the fields of that event"
        } else {
            "`--explain` tries what may have happened to it, and names what fits"
        })
    }

    /// The item that is shown; without what the verdict means where an error says it beside.
    pub(super) fn item(&self, delivery: &Delivery, tells_meaning: bool) -> Item {
        let event = WebhookEvent::from_json(delivery.body.clone()).ok();
        let submission = match &event {
            Some(WebhookEvent::SubmissionCreated(event)) => Some(event.submission_id.to_string()),
            _ => None,
        };
        Item {
            capture: delivery.capture,
            valid: self.is_valid(),
            verdict: self.verdict.row().name,
            why: self.explained.as_ref().and_then(Explained::ids),
            meaning: tells_meaning.then(|| self.meaning()),
            secret: self.secret.as_deref().map(str::to_owned),
            previous: self.secret.is_some().then_some(self.previous),
            signed_at: self.signed.and_then(moment::shown),
            age_s: self.age(),
            judged_at: moment::shown(self.clock.at),
            event: event.map(|event| event.kind().to_owned()),
            submission_id: submission,
            body_size: delivery.body.len(),
            explanation: self.explained.as_ref().map(Explained::item),
        }
    }

    fn meaning(&self) -> Cow<'static, str> {
        let row = self.verdict.row();
        if let Some(off) = row.off {
            let tolerance = self.clock.tolerance().unwrap_or_default().as_secs();
            let age = self.age().unwrap_or_default().unsigned_abs();
            return format!(
                "the signature is right, and {age} seconds {off}, where {tolerance} are taken"
            )
            .into();
        }
        if self.is_valid() && self.clock.ignores_age {
            return "the signature is right; its age was not looked at".into();
        }
        if self.is_valid() && self.previous {
            return format!("{}, by the previous secret", row.meaning).into();
        }
        row.meaning.into()
    }
}

/// What is shown of a delivery, its fields in the order of [`FIELDS`](super::FIELDS).
#[derive(Serialize)]
pub(super) struct Item {
    capture: Option<CaptureNumber>,
    valid: bool,
    verdict: &'static str,
    why: Option<String>,
    meaning: Option<Cow<'static, str>>,
    secret: Option<String>,
    previous: Option<bool>,
    signed_at: Option<String>,
    age_s: Option<i64>,
    judged_at: Option<String>,
    event: Option<String>,
    submission_id: Option<String>,
    body_size: usize,
    explanation: Option<ExplanationData>,
}

/// Whether one of the secrets signed the body, at whatever time the header says.
pub(super) fn is_signed(header: &[u8], body: &[u8], secrets: &Secrets) -> bool {
    let at = SignatureHeader::parse(header).map(|header| header.unix_seconds());
    at.ok()
        .and_then(|at| verifier(secrets, None, at))
        .is_some_and(|verifier| verifier.verify_signature(header, body).is_ok())
}

fn verifier(secrets: &Secrets, tolerance: Option<Duration>, at: u64) -> Option<Verifier> {
    let now = UNIX_EPOCH.checked_add(Duration::from_secs(at))?;
    let max = usize::try_from(payload::MAX).unwrap_or(usize::MAX);
    let builder = secrets.builder().max_body(max).clock(move || now);
    builder.tolerance(tolerance.unwrap_or(SIGNATURE_TOLERANCE)).build().ok()
}
