//! Answers that are not of the caller's type.

use std::error::Error as StdError;
use std::fmt;

use formsvc_protocol::SubmissionId;
use http::StatusCode;

use super::{Error, ErrorKind, Safe, cut, short};
use crate::ResponseMeta;
use crate::operation::SUBMISSIONS;

/// Characters of a place in JSON that is kept.
const PATH_KEPT: usize = 1_000;

/// The answers of one submission cannot be read as the type that was asked for. Nothing is wrong
/// with the service or the list: the others can be read.
///
/// Display and Debug name the submission and the place, and quote no answer;
/// [`source`](StdError::source) is the parser's sentence, which may quote one.
///
/// Turns into an [`Error`] of the kind [`Decode`](ErrorKind::Decode) by `?`.
pub struct AnswersError(Box<Parts>);

struct Parts {
    submission_id: SubmissionId,
    json_path: String,
    why: Why,
    /// Status, request id and attempts of the page.
    page: Option<(StatusCode, Option<String>, u32)>,
}

/// What the parser said, safe to print and no longer than needed.
struct Why(String);

impl AnswersError {
    pub(crate) fn new(submission_id: SubmissionId, json_path: &str, why: &str) -> Self {
        let why = Why(Safe(short(why)).to_string());
        let json_path = cut(json_path, PATH_KEPT).to_owned();
        Self(Box::new(Parts { submission_id, json_path, why, page: None }))
    }

    pub(crate) fn on_page(mut self, meta: &ResponseMeta) -> Self {
        let request_id = meta.request_id().map(str::to_owned);
        self.0.page = Some((meta.status(), request_id, meta.attempts()));
        self
    }

    /// The submission whose answers they are.
    pub fn submission_id(&self) -> &SubmissionId {
        &self.0.submission_id
    }

    /// Where in the page's JSON, such as `data[3].data.Email`, cut after 1,000 characters. Labels
    /// in it are the form's: untrusted text, which Display escapes.
    pub fn json_path(&self) -> &str {
        &self.0.json_path
    }

    /// The page's `X-Request-Id`; `None` when it had none, or when a [`Row`](crate::Row) was read
    /// by itself.
    pub fn request_id(&self) -> Option<&str> {
        self.0.page.as_ref()?.1.as_deref()
    }

    /// The page's HTTP status; `None` when a [`Row`](crate::Row) was read by itself.
    pub fn status(&self) -> Option<StatusCode> {
        Some(self.0.page.as_ref()?.0)
    }

    fn what(&self) -> String {
        let Parts { submission_id: id, json_path, .. } = &*self.0;
        let (id, path) = (Safe(id.as_str()), Safe(short(json_path)));
        format!("the answers of `{id}` are not of the type asked for, at `{path}`")
    }
}

impl fmt::Display for AnswersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what())?;
        match self.request_id() {
            Some(id) => write!(f, " (request id {})", Safe(short(id))),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for AnswersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswersError")
            .field("text", &format_args!("{self}"))
            .finish_non_exhaustive()
    }
}

impl StdError for AnswersError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.0.why)
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Shows nothing: it may quote an answer.
impl fmt::Debug for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Why").finish_non_exhaustive()
    }
}

impl StdError for Why {}

impl From<AnswersError> for Error {
    fn from(error: AnswersError) -> Self {
        let what = error.what();
        let parts = *error.0;
        let mut whole = Self::parts(ErrorKind::Decode, SUBMISSIONS, what).with_source(parts.why);
        whole.json_path = Some(parts.json_path);
        if let Some((status, request_id, attempts)) = parts.page {
            whole.status = Some(status);
            whole.request_id = request_id;
            whole.attempts = attempts;
        }
        whole.into()
    }
}
