#![doc = include_str!("../README.md")]

mod api_key;
mod base_url;
#[cfg(feature = "blocking")]
pub mod blocking;
mod builder;
mod call;
mod client;
mod completeness;
mod decode;
mod error;
mod event;
mod file;
mod form;
mod forms;
mod limiter;
pub mod network;
mod operation;
mod options;
mod paging;
mod response;
mod retry;
mod shared;
mod skipped_item;
#[cfg(feature = "test-util")]
pub mod test_util;
mod transport;

/// Re-exported because functions of this crate use its types.
pub use bytes;
/// Re-exported because functions of this crate use its types.
pub use http;

pub use api_key::{ApiKey, ApiKeyError};
pub use base_url::{BaseUrl, BaseUrlError};
pub use builder::ClientBuilder;
pub use client::Client;
pub use completeness::{Completeness, CursorUnit, FallbackReason, TieOverflow};
pub use error::{Error, ErrorKind};
pub use event::ClientEvent;
pub use form::FormHandle;
pub use forms::Forms;
/// The error of converting a time that [`Timestamp`] cannot represent.
#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
pub use formsvc_protocol::OutOfRange;
/// Types of the wire format.
pub use formsvc_protocol::{
    Answer, Answers, AnswersError, Cursor, ErrorCode, ErrorCodeInfo, ExtraMembers, Form, FormId,
    FormStatus, IdError, NotAnObject, Pagination, PublicId, RatePolicy, Submission, SubmissionId,
    TimeError, Timestamp, UnknownErrorCode, UnknownFormStatus, User, UserId, limits::PAGE_SIZE_MAX,
};
pub use limiter::{RateLimit, WaitReason};
pub use options::{RequestOptions, Timeouts};
pub use paging::{
    Follow, FollowQuery, NewSubmissionPage, NewSubmissionPages, NewSubmissions, RawPages,
    ResumeToken, ResumeTokenError, SubmissionPage, SubmissionPages, SubmissionQuery, Submissions,
    SyncPoint, SyncPointError,
};
pub use response::{Response, ResponseMeta};
pub use retry::{RetryPolicy, RetryReason};
pub use skipped_item::SkippedItem;
pub use transport::{AttemptContext, BoxFuture, Transport, TransportError, TransportErrorKind};

/// The guide, with examples that need these features.
#[cfg(all(doctest, feature = "blocking", feature = "jiff", feature = "test-util"))]
#[doc = include_str!("../../../docs/SDK.md")]
struct Guide;
