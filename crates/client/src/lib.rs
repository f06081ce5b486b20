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
pub mod event;
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
mod row_key;
mod shared;
mod skipped_item;
#[cfg(feature = "test-util")]
pub mod test_util;
pub mod transport;

/// Lists of forms and of submissions.
pub mod list {
    pub use crate::completeness::{CursorUnit, TieOverflow};
    pub use crate::forms::Forms;
    pub use crate::paging::{
        Follow, FollowQuery, NewSubmissionPage, NewSubmissionPages, NewSubmissions, RawPages,
        SubmissionPages, Submissions,
    };
}

/// The other types of the wire format, and the errors of arguments.
pub mod types {
    pub use crate::api_key::ApiKeyError;
    pub use crate::base_url::BaseUrlError;
    pub use crate::paging::{ResumeTokenError, SyncPointError};
    /// The error of converting a time that [`Timestamp`](crate::Timestamp) cannot represent.
    #[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
    pub use formsvc_protocol::OutOfRange;
    pub use formsvc_protocol::{
        AnswersError, ErrorCodeInfo, ExtraMembers, IdError, NotAnObject, Pagination, PublicId,
        RatePolicy, TimeError, UnknownErrorCode, UnknownFormStatus, UserId,
    };
}

/// Re-exported because functions of this crate use its types.
pub use bytes;
/// Re-exported because functions of this crate use its types.
pub use http;

pub use api_key::ApiKey;
pub use base_url::BaseUrl;
pub use builder::ClientBuilder;
pub use client::Client;
pub use completeness::Completeness;
pub use error::{Error, ErrorKind};
pub use form::FormHandle;
/// Types of the wire format.
pub use formsvc_protocol::{
    Answer, Answers, Cursor, ErrorCode, Form, FormId, FormStatus, Submission, SubmissionId,
    Timestamp, User, limits::PAGE_SIZE_MAX,
};
pub use limiter::RateLimit;
pub use options::{RequestOptions, Timeouts};
pub use paging::{ResumeToken, SubmissionPage, SubmissionQuery, SyncPoint};
pub use response::{Response, ResponseMeta};
pub use retry::RetryPolicy;

/// The guide, with examples that need these features.
#[cfg(all(doctest, feature = "blocking", feature = "jiff", feature = "test-util"))]
#[doc = include_str!("../../../docs/SDK.md")]
struct Guide;
