//! The JSON and the error of a verified request.

use formsvc_receiver::WebhookEvent;
use formsvc_workbench::delivery::CaptureNumber;
use formsvc_workbench::verdict::{Verdict, VerdictCode};
use formsvc_workbench::verify::Explanation;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::Request;
use crate::error::{CliError, Code};

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
    explanation: Option<Explanation>,
}

impl<'a> VerifyRecord<'a> {
    /// Describes a verdict. `is_previous` reports whether a secret is the previous one of a rotation.
    pub(super) fn new(
        request: &Request,
        verdict: &'a Verdict,
        is_previous: impl Fn(&str) -> bool,
        ignore_age: bool,
    ) -> Self {
        let event = WebhookEvent::from_json(request.body.clone()).ok();
        let submission_id = match &event {
            Some(WebhookEvent::SubmissionCreated(event)) => Some(event.submission_id.to_string()),
            _ => None,
        };
        let secret = verdict.secret.as_deref();
        let previous = secret.map(is_previous);
        let meaning = match verdict.code {
            VerdictCode::Valid if ignore_age => "the signature is valid; its age was not checked",
            VerdictCode::Valid if previous == Some(true) => {
                "the signature is valid and recent, made with the previous secret"
            }
            code => code.row().meaning,
        };
        Self {
            capture: request.capture,
            valid: verdict.code == VerdictCode::Valid,
            verdict: verdict.code.row().name,
            why: None,
            meaning,
            secret,
            previous,
            signed_at: signed_at(request.received_at, verdict.age_secs).map(seconds_of),
            age_s: verdict.age_secs,
            judged_at: seconds_of(request.received_at),
            event: event.map(|event| event.kind().to_owned()),
            submission_id,
            body_size: request.body.len(),
            explanation: None,
        }
    }

    pub(super) fn explain(&mut self, explanation: Explanation) {
        let ids: Vec<_> = explanation.found.iter().map(|cause| cause.id).collect();
        self.why = (!ids.is_empty()).then(|| ids.join(", "));
        self.explanation = Some(explanation);
    }

    /// Returns the error for a request that is not valid, with causes and advice.
    pub(super) fn error(&self, code: VerdictCode) -> CliError {
        let result = if code.row().has_valid_signature { "refused" } else { "not valid" };
        let what = format!("{result}: {}", self.meaning);
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
        error.hint(match code {
            VerdictCode::SignatureTooOld | VerdictCode::SignatureInFuture => {
                "`--ignore-age` accepts any age, and `webhook replay` makes a fresh signature"
            }
            VerdictCode::BadEvent => {
                "the signature is valid; the body must be a JSON object with the members of an event"
            }
            _ => "`--explain` tries common causes",
        })
    }
}

/// Returns the time of a signature, in whole seconds.
pub(super) fn signed_at(received_at: Timestamp, age_secs: Option<i64>) -> Option<Timestamp> {
    let received_at = Timestamp::from_second(received_at.as_second()).ok()?;
    received_at.checked_sub(SignedDuration::from_secs(age_secs?)).ok()
}

fn seconds_of(at: Timestamp) -> String {
    format!("{at:.0}")
}
