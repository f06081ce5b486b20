//! The result of verifying a request.

use formsvc_receiver::WebhookEvent;
use formsvc_workbench::delivery::CaptureNumber;
use formsvc_workbench::secrets::SigningSecrets;
use formsvc_workbench::verdict::{Verdict, VerdictCode, verify};
use formsvc_workbench::verify::Explanation;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::super::args::BODY_MAX;
use super::Request;
use crate::error::{CliError, Code};

/// A verified request.
pub(super) struct Verified {
    verdict: Verdict,
    is_by_previous_secret: bool,
    /// The time as of which the age is computed.
    at: Timestamp,
    ignore_age: bool,
    /// Seconds from the time of the signature to `at`.
    age_secs: Option<i64>,
    pub(super) explanation: Option<Explanation>,
}

/// The JSON of a result.
#[derive(Serialize)]
pub(super) struct VerifyRecord<'a> {
    capture: Option<CaptureNumber>,
    valid: bool,
    verdict: &'static str,
    /// The ids of the causes that `--explain` found.
    why: Option<String>,
    meaning: &'static str,
    secret: Option<&'a str>,
    /// True if the previous secret of a rotation made the signature.
    previous: Option<bool>,
    signed_at: Option<String>,
    age_s: Option<i64>,
    judged_at: String,
    event: Option<String>,
    submission_id: Option<String>,
    body_size: usize,
    explanation: Option<&'a Explanation>,
}

impl Verified {
    pub(super) fn new(
        request: &Request,
        secrets: &SigningSecrets,
        at: Timestamp,
        ignore_age: bool,
    ) -> Result<Self, CliError> {
        let Request { headers, body, .. } = request;
        let builder = secrets.builder().max_body(usize::try_from(BODY_MAX).unwrap_or(usize::MAX));
        // Without a verifier, only the time is read.
        let age_secs = verify(None, headers, body, at).age_secs;
        let signed_at = signed_at(at, age_secs).filter(|_| ignore_age);
        let verify_at = signed_at.unwrap_or(at);
        let verifier = builder.clock(move || verify_at.into()).build().map_err(|error| {
            CliError::usage("these signing secrets cannot be used").because(&error)
        })?;
        let verdict = verify(Some(&verifier), headers, body, verify_at);
        let secret = verdict.secret.as_deref();
        Ok(Self {
            is_by_previous_secret: secret.is_some_and(|name| secrets.is_previous(name)),
            verdict,
            at,
            ignore_age,
            age_secs,
            explanation: None,
        })
    }

    pub(super) fn code(&self) -> VerdictCode {
        self.verdict.code
    }

    pub(super) fn is_valid(&self) -> bool {
        self.code() == VerdictCode::Valid
    }

    /// The error for a request that is not valid, with causes and advice.
    pub(super) fn error(&self) -> CliError {
        let what = format!("not valid: {}", self.meaning());
        let error = CliError::coded(Code::VerificationFailed, what);
        if let Some(explanation) = &self.explanation {
            let causes = explanation.found.iter();
            let error = causes.fold(error, |error, cause| error.cause(cause.line()));
            let mut advice = explanation.advice.join("; ");
            if !explanation.left_out.is_empty() {
                advice += "; `--json explanation` lists the causes that were not tried";
            }
            return error.hint(advice);
        }
        error.hint(match self.code() {
            VerdictCode::SignatureTooOld | VerdictCode::SignatureInFuture => {
                "`--ignore-age` accepts any age, `--at TIME` verifies as of another time, and \
                 `webhook replay` makes a fresh signature"
            }
            VerdictCode::BadEvent => {
                "the signature is valid; the body must be a JSON object with the members of an event"
            }
            _ => "`--explain` tries common causes",
        })
    }

    pub(super) fn record(&self, request: &Request) -> VerifyRecord<'_> {
        let event = WebhookEvent::from_json(request.body.clone()).ok();
        let submission_id = match &event {
            Some(WebhookEvent::SubmissionCreated(event)) => Some(event.submission_id.to_string()),
            _ => None,
        };
        let secret = self.verdict.secret.as_deref();
        VerifyRecord {
            capture: request.capture,
            valid: self.is_valid(),
            verdict: self.code().row().name,
            why: self.explanation.as_ref().and_then(cause_ids),
            meaning: self.meaning(),
            secret,
            previous: secret.map(|_| self.is_by_previous_secret),
            signed_at: signed_at(self.at, self.age_secs).map(seconds_of),
            age_s: self.age_secs,
            judged_at: seconds_of(self.at),
            event: event.map(|event| event.kind().to_owned()),
            submission_id,
            body_size: request.body.len(),
            explanation: self.explanation.as_ref(),
        }
    }

    fn meaning(&self) -> &'static str {
        match self.code() {
            VerdictCode::Valid if self.ignore_age => {
                "the signature is valid; its age was not checked"
            }
            VerdictCode::Valid if self.is_by_previous_secret => {
                "the signature is valid and recent, made with the previous secret"
            }
            code => code.row().meaning,
        }
    }
}

/// Returns the time of a signature, in whole seconds.
fn signed_at(at: Timestamp, age_secs: Option<i64>) -> Option<Timestamp> {
    let at = Timestamp::from_second(at.as_second()).ok()?;
    at.checked_sub(SignedDuration::from_secs(age_secs?)).ok()
}

fn seconds_of(at: Timestamp) -> String {
    format!("{at:.0}")
}

fn cause_ids(explanation: &Explanation) -> Option<String> {
    let ids: Vec<_> = explanation.found.iter().map(|cause| cause.id).collect();
    (!ids.is_empty()).then(|| ids.join(", "))
}
