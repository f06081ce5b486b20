#![cfg_attr(doctest, doc = include_str!("../README.md"))]
//! Wire types of the form submissions service: the JSON of its REST API and webhooks, and the rules
//! that client and server share. Pure data and pure decisions without I/O.
//!
//! | Concept | Module | SPEC |
//! |---|---|---|
//! | user, form, submission, page | [`User`], [`Form`], [`Submission`], [`Page`] | §2, §4 |
//! | answers as exact JSON text, members of later releases | [`Answers`], [`ExtraMembers`] | §2 |
//! | times on the wire, form instants, cursors | [`Timestamp`], [`FormInstant`], [`Cursor`] | §2, §4 |
//! | error codes and the error body | [`ErrorCode`], [`ErrorBody`] | §7 |
//! | endpoints | [`paths`] | §4 |
//! | characters that are unsafe to print | [`is_unsafe_in_terminals`], [`is_stray_selector`] | |
//! | limits | [`limits`], [`RollingWindow`], [`RatePolicy`] | §8 |
//! | webhook event, pauses between attempts | [`WebhookEvent`], [`RetrySchedule`], [`retry_after()`] | §6 |
//! | signature of webhooks | `signature`, with the feature `signature` | §5 |
//! | keys and secrets damaged by copying | [`check_secret_text`] | |
//! | hosts that always are this machine | [`is_localhost`], [`is_localhost_name`] | |
//!
//! Additions of a later release of the service are no errors: unknown members are kept in `extra` or
//! skipped, and unknown values of `status`, `code` and `event` are kept.

mod answers;
mod error_code;
mod error_text;
mod id;
pub mod limits;
mod localhost;
mod open_enum;
pub mod paths;
mod printable;
mod rate_policy;
mod resources;
mod retry_schedule;
mod rfc3339;
mod rolling_window;
mod secret_text;
#[cfg(feature = "signature")]
pub mod signature;
mod timestamp;
mod wire_object;

pub use answers::{Answer, Answers, AnswersError, NotAnObject, decode_string, object_members};
pub use error_code::{ErrorBody, ErrorCode, ErrorCodeInfo, ErrorDetail, UnknownErrorCode};
pub use id::{
    Cursor, DeliveryId, EndpointId, FormId, IdError, KeyId, PublicId, SubmissionId, UserId,
};
pub use localhost::{is_localhost, is_localhost_name};
pub use printable::{is_stray_selector, is_unsafe_in_terminals};
pub use rate_policy::RatePolicy;
pub use resources::{
    EventKind, Form, FormList, FormStatus, Page, Pagination, Submission, UnknownEventKind,
    UnknownFormStatus, User, WebhookEvent,
};
pub use retry_schedule::{RETRY_AFTER_MAX, RetrySchedule, parse_retry_after, retry_after};
pub use rfc3339::TimeError;
pub use rolling_window::RollingWindow;
pub use secret_text::{SecretTextError, check_secret_text};
#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
pub use timestamp::OutOfRange;
pub use timestamp::{FormInstant, Timestamp};
pub use wire_object::ExtraMembers;
