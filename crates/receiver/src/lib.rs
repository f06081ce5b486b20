#![doc = include_str!("../README.md")]

#[cfg(feature = "axum")]
mod axum;
mod event;
mod event_error;
#[cfg(feature = "inbox")]
pub mod inbox;
#[cfg(feature = "inbox")]
mod process;
#[cfg(feature = "tower")]
mod read_body;
mod refusal;
#[cfg(feature = "tower")]
mod rejection;
#[cfg(feature = "test-util")]
pub mod test_util;
#[cfg(feature = "tower")]
mod tower;
mod verified;
mod verifier;
mod verify_error;

pub use bytes;
pub use http;

pub use event::{SubmissionCreated, UnknownEvent, WebhookEvent};
pub use event_error::{EventError, EventProblem};
/// Name of the signature header in lower case: `x-service-signature` (SPEC §5).
pub use formsvc_protocol::signature::HEADER as SIGNATURE_HEADER;
pub use formsvc_protocol::signature::SigningSecret;
pub use formsvc_protocol::{
    Answers, FormId, SecretTextError as SecretError, SubmissionId, Timestamp,
};
#[cfg(feature = "inbox")]
pub use process::{IdempotencyKey, ProcessOnce, ProcessOutcome, process_next, process_once};
#[cfg(feature = "tower")]
pub use rejection::Rejection;
#[cfg(feature = "tower")]
pub use tower::{VerifyLayer, VerifyService};
pub use verified::{SignatureProof, Verified};
pub use verifier::{
    ConfigError, DEFAULT_MAX_BODY, DEFAULT_READ_TIMEOUT, MAX_TOLERANCE, Verifier, VerifierBuilder,
    signature_header,
};
pub use verify_error::VerifyError;
