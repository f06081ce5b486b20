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
//! | limits | [`limits`], [`RollingWindow`] | §8 |
//! | webhook event, signature, pauses between attempts | [`WebhookEvent`], [`signature`], [`RetrySchedule`], [`retry_after()`] | §5, §6 |
//! | keys and secrets damaged by copying | [`check_secret_text`] | |
//! | hosts that always are this machine | [`is_localhost`], [`is_localhost_name`] | |
//!
//! Additions of a later release of the service are no errors: unknown members are kept in `extra` or
//! skipped, and unknown values of `status`, `code` and `event` are kept.

mod answers;
mod cursor;
mod error_body;
mod error_code;
mod event;
mod extra;
mod form;
mod id;
mod instant;
pub mod limits;
mod localhost;
mod open_enum;
mod page;
pub mod paths;
mod printable;
mod retry_after;
mod retry_schedule;
mod rfc3339;
mod rolling_window;
mod secret_text;
pub mod signature;
mod submission;
mod timestamp;
#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
mod timestamp_conversions;
mod user;
mod wire_object;

pub use answers::{Answer, Answers, AnswersError, NotAnObject, decode_string};
pub use cursor::Cursor;
pub use error_body::{ErrorBody, ErrorDetail};
pub use error_code::{ErrorCode, ErrorCodeInfo, UnknownErrorCode};
pub use event::{EventKind, UnknownEventKind, WebhookEvent};
pub use extra::ExtraMembers;
pub use form::{Form, FormList, FormStatus, UnknownFormStatus};
pub use id::{DeliveryId, EndpointId, FormId, IdError, KeyId, PublicId, SubmissionId, UserId};
pub use instant::FormInstant;
pub use localhost::{is_localhost, is_localhost_name};
pub use page::{Page, Pagination};
pub use printable::{is_stray_selector, is_unsafe_in_terminals};
pub use retry_after::{delay_seconds, retry_after};
pub use retry_schedule::RetrySchedule;
pub use rfc3339::TimeError;
pub use rolling_window::RollingWindow;
pub use secret_text::{SecretTextError, check_secret_text};
pub use submission::Submission;
pub use timestamp::Timestamp;
#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
pub use timestamp_conversions::OutOfRange;
pub use user::User;
