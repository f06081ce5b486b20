//! The wire of the form submissions service: what its REST API and its webhooks say, and the rules
//! both sides must agree on. Pure data and pure decisions; no I/O, no async, no clock of its own.
//!
//! | Concept | Module | SPEC |
//! |---|---|---|
//! | user, form, submission, page | [`User`], [`Form`], [`Submission`], [`Page`] | §2, §4 |
//! | answers kept as exact JSON text | [`Answers`] | §2 |
//! | pages and answers found in their text, without values | [`PagePlaces`], [`Literals`] | §4 |
//! | times on the wire, form instants, cursors | [`Timestamp`], [`FormInstant`], [`Cursor`] | §2, §4 |
//! | error codes and the error body | [`ErrorCode`], [`ErrorBody`] | §7 |
//! | endpoints | [`paths`] | §4 |
//! | arrays that must not pass for objects | [`Objects`] | |
//! | text that is not safe to show | [`is_unsafe_in_terminals`], [`is_stray_selector`] | |
//! | keys and secrets damaged by copying | [`check_secret_text`] | |
//! | limits | [`limits`], [`RollingWindow`] | §8 |
//! | webhook event, signature, and when a delivery is tried again | [`WebhookEvent`], [`signature`], [`RetrySchedule`], [`retry_after()`] | §5, §6 |
//!
//! Everything tolerates what a later release of the service may add: unknown fields are skipped,
//! unknown values of closed sets (`status`, `code`, `event`) are kept and round-trip.

mod answers;
mod cursor;
mod error_body;
mod error_code;
mod event;
mod form;
mod id;
mod instant;
pub mod limits;
mod objects;
mod open_enum;
mod page;
pub mod paths;
mod printable;
mod retry_after;
mod retry_schedule;
mod rfc3339;
mod rolling_window;
mod scan;
mod secret_text;
pub mod signature;
mod submission;
mod timestamp;
#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
mod timestamp_conversions;
mod user;

pub use answers::{Answers, NotAnObject, text_of};
pub use cursor::Cursor;
pub use error_body::{ErrorBody, ErrorDetail};
pub use error_code::{ErrorCode, ErrorCodeRow, UnknownErrorCode};
pub use event::{EventKind, UnknownEventKind, WebhookEvent};
pub use form::{Form, FormList, FormStatus, UnknownFormStatus};
pub use id::{DeliveryId, EndpointId, FormId, IdError, KeyId, PublicId, SubmissionId, UserId};
pub use instant::FormInstant;
pub use objects::Objects;
pub use page::{Page, PageRef, Pagination, SubmissionRef};
pub use printable::{is_stray_selector, is_unsafe_in_terminals};
pub use retry_after::{delay_seconds, retry_after};
pub use retry_schedule::RetrySchedule;
pub use rfc3339::TimeError;
pub use rolling_window::RollingWindow;
pub use scan::{AnswerPlace, Literal, Literals, PagePlaces, Place, RowPlaces};
pub use secret_text::{SecretTextError, check_secret_text};
pub use submission::Submission;
pub use timestamp::Timestamp;
#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
pub use timestamp_conversions::OutOfRange;
pub use user::User;
