//! Errors as the API answers them (SPEC §7).

use std::borrow::Cow;
use std::error::Error;
use std::sync::Arc;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use formsvc_protocol::{ErrorBody, ErrorCode};
use http::{HeaderValue, Method, StatusCode, header};

use crate::printable::Excerpt;
use crate::store::StoreError;

/// How long a client should wait when the service cannot answer now.
const UNAVAILABLE_WAIT_SECS: u64 = 2;

/// The reason of a failure, kept for the log and never sent.
pub type Cause = Arc<dyn Error + Send + Sync>;

/// A request that is answered with an error: what the client is told, and what only the log is.
#[derive(Clone, Debug)]
pub struct Problem {
    code: ErrorCode,
    message: Cow<'static, str>,
    retry_after: Option<u64>,
    cause: Option<Cause>,
}

impl Problem {
    /// An error with a code of the table and a sentence for a person.
    pub fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), retry_after: None, cause: None }
    }

    /// 400 `bad_request`.
    pub fn bad_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorCode::BadRequest, message)
    }

    /// 404 `not_found`: no such path.
    pub fn no_such_path() -> Self {
        Self::new(ErrorCode::NotFound, "there is nothing at this path")
    }

    /// The same with the path, cut and made harmless.
    pub fn nothing_at(path: &str) -> Self {
        Self::new(ErrorCode::NotFound, format!("there is nothing at `{}`", Excerpt(path)))
    }

    /// 404 `form_not_found`: the same whether the form is missing, malformed or another's, so that
    /// nobody learns which ids exist.
    pub fn form_not_found() -> Self {
        Self::new(ErrorCode::FormNotFound, "no form of yours has this id")
    }

    /// 405 `method_not_allowed`, with the header `Allow` that goes with it.
    pub fn method_not_allowed(method: &Method, allow: Option<&HeaderValue>) -> Self {
        let allowed = allow.and_then(|allow| allow.to_str().ok()).unwrap_or_default();
        let allowed: Vec<_> = allowed.split(',').map(|name| format!("`{}`", name.trim())).collect();
        let message = format!(
            "this path does not answer `{}`, but {}",
            Excerpt(method.as_str()),
            allowed.join(" and ")
        );
        Self::new(ErrorCode::MethodNotAllowed, message)
    }

    /// 429 `rate_limited`, with the seconds to wait.
    pub fn rate_limited(retry_after: u64) -> Self {
        let message = format!("the rate limit of this key is used up: retry in {retry_after} s");
        Self::new(ErrorCode::RateLimited, message).wait(retry_after)
    }

    /// The same with the seconds to wait before a retry, for the header `Retry-After`.
    #[must_use]
    pub fn wait(self, seconds: u64) -> Self {
        Self { retry_after: Some(seconds), ..self }
    }

    /// 500 `internal_error`.
    pub fn internal(cause: Cause) -> Self {
        let message = "the service failed; quote the request id when you report this";
        let problem = Self::new(ErrorCode::InternalError, message);
        Self { cause: Some(cause), ..problem }
    }

    /// 503 `unavailable`, with a short wait.
    pub fn unavailable(message: impl Into<Cow<'static, str>>, cause: Option<Cause>) -> Self {
        let problem = Self::new(ErrorCode::Unavailable, message);
        Self { retry_after: Some(UNAVAILABLE_WAIT_SECS), cause, ..problem }
    }

    /// The error for a status that something else chose.
    pub fn of_status(status: StatusCode) -> Self {
        match status {
            StatusCode::NOT_FOUND => Self::no_such_path(),
            StatusCode::METHOD_NOT_ALLOWED => {
                Self::new(ErrorCode::MethodNotAllowed, "this path does not answer this method")
            }
            StatusCode::PAYLOAD_TOO_LARGE => {
                Self::new(ErrorCode::PayloadTooLarge, "the request body is too large")
            }
            StatusCode::SERVICE_UNAVAILABLE => {
                Self::unavailable("the service cannot answer now", None)
            }
            status if status.is_server_error() => {
                Self::internal(text_cause(format!("a handler answered {status}")))
            }
            _ => Self::bad_request("the request is malformed"),
        }
    }

    /// Its code.
    pub fn code(&self) -> &ErrorCode {
        &self.code
    }

    /// The sentence for a person.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The seconds to wait before a retry.
    pub fn retry_after(&self) -> Option<u64> {
        self.retry_after
    }

    /// What is kept from the client.
    pub fn cause(&self) -> Option<&Cause> {
        self.cause.as_ref()
    }

    /// The status its code is sent with.
    pub fn status(&self) -> StatusCode {
        let status = self.code.info().and_then(|info| StatusCode::from_u16(info.status).ok());
        status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(_) => {
                Self::unavailable("the service cannot answer now", Some(Arc::new(error)))
            }
            // The API only reads, so that the other refusals would be a fault of ours too.
            _ => Self::internal(Arc::new(error) as Cause),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&ErrorBody::new(self.code.clone(), &*self.message))
            .expect("a code and a message are plain strings");
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status() == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// A cause that is only text.
pub(crate) fn text_cause(text: String) -> Cause {
    Arc::from(Box::<dyn Error + Send + Sync>::from(text))
}
