//! One attempt: signing the body, sending it, and making a record of what came back.

use std::time::Duration;

use bytes::Bytes;
use formsvc_protocol::signature::sign;
use formsvc_protocol::{FormInstant, retry_after};
use futures_util::future::BoxFuture;
use http::HeaderValue;
use tokio::time::Instant;

use super::code::AttemptCode;
use super::guard::Target;
use super::outcome::Ending;
use super::select::Reached;
use crate::egress::{
    BodyEnd, DeliveryClient, DeliveryFailure, DeliveryRequest, DeliveryResponse, Denied,
    FailureCode,
};
use crate::fault_point::fault_point;
use crate::store::{Attempt, Claimed};

/// The event of every delivery (SPEC §6).
const EVENT: HeaderValue = HeaderValue::from_static("submission.created");

/// What carries a delivery to its endpoint; a seam for tests.
pub trait Carrier: Send + Sync + 'static {
    /// Sends a delivery and waits for the answer until the request's deadline. A problem with the
    /// answer's body is no failure.
    fn carry<'a>(
        &'a self,
        request: DeliveryRequest<'a>,
    ) -> BoxFuture<'a, Result<DeliveryResponse, DeliveryFailure>>;
}

impl Carrier for DeliveryClient {
    fn carry<'a>(
        &'a self,
        request: DeliveryRequest<'a>,
    ) -> BoxFuture<'a, Result<DeliveryResponse, DeliveryFailure>> {
        Box::pin(self.post(request))
    }
}

/// An attempt that is over.
#[derive(Debug)]
pub(super) struct Attempted {
    /// What is recorded of it.
    pub(super) record: Attempt,
    /// What it means for the delivery.
    pub(super) ending: Ending,
    /// What it means for the endpoint.
    pub(super) reached: Reached,
    /// Why it did not deliver.
    pub(super) code: Option<AttemptCode>,
    /// Why the address may not be reached, if it may not.
    pub(super) denied: Option<Denied>,
    /// The problem with the answer's body, for the log.
    pub(super) body_problem: Option<String>,
}

/// When an attempt begins, by the wall's clock, and how long it may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) began: FormInstant,
    /// Seconds since 1970 that the signature carries.
    pub(super) signed_at: u64,
    pub(super) timeout: Duration,
}

impl Times {
    pub(super) fn beginning(now: FormInstant, timeout: Duration) -> Self {
        let signed_at = u64::try_from(now.micros() / 1_000_000).unwrap_or_default();
        Self { began: now, signed_at, timeout }
    }
}

/// Attempts a delivery: the same body every time, signed anew. `resend` is for the record.
pub(super) async fn attempt(
    carrier: &dyn Carrier,
    target: &Target,
    body: Bytes,
    resend: bool,
    times: Times,
) -> Attempted {
    let signature = sign(&target.secrets, times.signed_at, &body);
    let signature = HeaderValue::try_from(signature).expect("a signature is digits and commas");
    let began = Instant::now();
    let request = DeliveryRequest {
        url: &target.url,
        event: EVENT,
        signature,
        body,
        deadline: began + times.timeout,
    };
    fault_point!(BeforePost);
    let outcome = carrier.carry(request).await;
    let record = Attempt {
        started_at: times.began,
        duration: began.elapsed(),
        status: None,
        error: None,
        detail: None,
        address: None,
        snippet: Bytes::new(),
        resend,
    };
    let is_slow = record.duration > times.timeout / 2;
    match outcome {
        Ok(response) => answered(record, response, times.signed_at, is_slow),
        Err(failure) => unanswered(record, &failure, is_slow),
    }
}

/// An attempt that was not made, recorded as one that failed.
pub(super) fn not_made(
    claimed: &Claimed,
    began: FormInstant,
    code: AttemptCode,
    why: String,
) -> Attempt {
    Attempt {
        started_at: began,
        duration: Duration::ZERO,
        status: None,
        error: Some(code.as_str().into()),
        detail: Some(why),
        address: None,
        snippet: Bytes::new(),
        resend: claimed.resend,
    }
}

fn answered(record: Attempt, response: DeliveryResponse, now: u64, is_slow: bool) -> Attempted {
    let status = response.status;
    let code = AttemptCode::of_status(status);
    let asked_for = response.retry_after.as_ref();
    let asked_for = asked_for.and_then(|value| retry_after(status.as_u16(), value.as_bytes(), now));
    let record = Attempt {
        status: Some(status.as_u16()),
        error: code.map(|code| code.as_str().into()),
        address: Some(response.peer.to_string()),
        snippet: response.snippet.into(),
        ..record
    };
    let ending = match code {
        None => Ending::Success,
        Some(_) => Ending::Failure { retry_after: asked_for },
    };
    let reached = match response.body_end {
        // The answer counts, but it occupied a slot for as long as no answer does.
        BodyEnd::TimedOut => Reached::NotInTime,
        // An answer shortly before the deadline does not show that the endpoint has recovered.
        _ if is_slow => Reached::Unknown,
        _ => Reached::InTime,
    };
    let body_problem = response.body_end.problem().map(Into::into);
    Attempted { record, ending, reached, code, denied: None, body_problem }
}

fn unanswered(record: Attempt, failure: &DeliveryFailure, is_slow: bool) -> Attempted {
    let code = AttemptCode::NoAnswer(failure.code);
    let record = Attempt {
        error: Some(code.as_str().into()),
        detail: Some(failure.to_string()),
        address: failure.peer.map(|peer| peer.to_string()),
        ..record
    };
    let ours = failure.code == FailureCode::Overloaded;
    let reached = match failure.code {
        _ if ours => Reached::Unknown,
        FailureCode::Timeout => Reached::NotInTime,
        // It cost a slot as long as silence does.
        _ if is_slow => Reached::NotInTime,
        _ => Reached::Unknown,
    };
    let ending = if ours { Ending::Ours } else { Ending::Failure { retry_after: None } };
    Attempted {
        record,
        ending,
        reached,
        code: Some(code),
        denied: failure.denied,
        body_problem: None,
    }
}
