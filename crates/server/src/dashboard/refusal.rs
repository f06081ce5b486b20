//! Why there is no page, and the page that says so.

use std::sync::Arc;

use axum::response::Response;
use formsvc_protocol::ErrorCode;
use http::{HeaderValue, StatusCode, header};

use super::chrome::Chrome;
use super::pairs::query;
use super::reply;
use crate::admin::AdminError;
use crate::api::{Cause, Problem, text_cause};
use crate::random::NoRandomness;
use crate::store::StoreError;

/// Why a request gets no page of its own.
#[derive(Debug)]
pub(super) enum Refusal {
    /// There is no such thing, or it is another's: nobody learns which.
    NotFound,
    /// Somebody has to sign in first, and then may go on to this path.
    SignIn {
        /// Where to.
        next: String,
    },
    /// The form was not sent by a page of ours, as far as that can be told.
    Foreign {
        /// Where the dashboard is.
        address: String,
    },
    /// The page it was sent from is out of date.
    Stale,
    /// Passwords would travel in the clear.
    InTheClear,
    /// The link was used, or is too old.
    LinkGone,
    /// The service cannot, or the request is malformed.
    Problem(Problem),
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound { .. } => Self::NotFound,
            other => Self::Problem(other.into()),
        }
    }
}

impl From<AdminError> for Refusal {
    fn from(error: AdminError) -> Self {
        match error {
            AdminError::Store(error) => error.into(),
            other => Self::Problem(Problem::internal(Arc::new(other))),
        }
    }
}

impl From<NoRandomness> for Refusal {
    fn from(error: NoRandomness) -> Self {
        Self::Problem(Problem::internal(Arc::new(error)))
    }
}

impl From<askama::Error> for Refusal {
    fn from(error: askama::Error) -> Self {
        Self::Problem(Problem::internal(text_cause(error.to_string())))
    }
}

impl Refusal {
    /// Why the service failed, when it did.
    pub(super) fn cause(&self) -> Option<Cause> {
        match self {
            Self::Problem(problem) => problem.cause().cloned(),
            _ => None,
        }
    }

    /// The page that says so, or the way to one that helps.
    pub(super) fn page(&self, chrome: &Chrome) -> Response {
        if let Self::SignIn { next } = self {
            let next = if next == super::next::HOME { "" } else { next.as_str() };
            return reply::redirect(&format!("/dashboard/sign-in{}", query(&[("next", next)])));
        }
        let (status, heading, text) = self.words();
        let mut response = reply::notice(status, chrome, heading, &text);
        if let Some(wait) = self.wait() {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(wait));
        }
        response
    }

    fn wait(&self) -> Option<u64> {
        match self {
            Self::Problem(problem) => problem.retry_after(),
            _ => None,
        }
    }

    fn words(&self) -> (StatusCode, &'static str, String) {
        let nothing = "Nothing was changed.";
        match self {
            Self::NotFound | Self::SignIn { .. } => (
                StatusCode::NOT_FOUND,
                "Nothing here",
                "There is no such page, or what it was about is gone.".into(),
            ),
            Self::Foreign { address } => (
                StatusCode::FORBIDDEN,
                "Not sent from here",
                format!(
                    "{nothing} Your browser says that this did not come from a page of this \
                    service. Open {address}/dashboard and do it there."
                ),
            ),
            Self::Stale => (
                StatusCode::FORBIDDEN,
                "That page was out of date",
                format!(
                    "{nothing} You signed in again since it was opened, or your browser keeps no \
                    cookies. Go back, reload the page, and try once more."
                ),
            ),
            Self::InTheClear => (
                StatusCode::FORBIDDEN,
                "Not over this connection",
                "Your password would travel unencrypted, so that others on the way could read it. \
                 On the server itself, open http://127.0.0.1 with its port. From elsewhere, put a \
                 proxy with TLS in front and start the server with `--public-url https://…`, the \
                 address it has from outside."
                    .into(),
            ),
            Self::LinkGone => (
                StatusCode::GONE,
                "This link does not work any more",
                "It works once and for a limited time, and only until a newer one is made. While \
                 nobody can sign in yet, each server that starts makes a newer one: use the link of \
                 the last. Whoever runs the service makes another one with `formsvc-server user link \
                 EMAIL`, or by starting a server again when nobody can sign in yet."
                    .into(),
            ),
            Self::Problem(problem) => of_problem(problem),
        }
    }
}

fn of_problem(problem: &Problem) -> (StatusCode, &'static str, String) {
    let (heading, text) = match problem.code() {
        ErrorCode::NotFound => ("Nothing here", "There is no such page.".to_owned()),
        ErrorCode::MethodNotAllowed => {
            ("Not this way", "This address answers another kind of request.".to_owned())
        }
        ErrorCode::Unavailable => (
            "Not possible right now",
            "The service is busy or cannot write. It may not have done what you asked for: look \
             before you try again in a moment."
                .to_owned(),
        ),
        ErrorCode::InternalError => (
            "Something went wrong",
            "The service failed, and its log says why. It may not have done what you asked for."
                .to_owned(),
        ),
        _ => ("That was not understood", format!("The reason: {}.", problem.message())),
    };
    (problem.status(), heading, text)
}

/// How long to wait, in words.
pub(super) fn seconds(wait: u64) -> String {
    match wait {
        1 => "a second".to_owned(),
        2..=90 => format!("{wait} seconds"),
        _ => format!("{} minutes", wait.div_ceil(60)),
    }
}
