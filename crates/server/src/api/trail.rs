//! What a handler tells the log about a request.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use formsvc_protocol::{KeyId, SubmissionId};
use http::{HeaderValue, header};
use serde::Serialize;

use super::problem::{Cause, Problem, text_cause};

/// What a request turned out to be. It travels with the response to [`Edge`](super::Edge), which
/// writes the one log line of the request; it never holds a key, a query value or an answer.
#[derive(Clone, Debug)]
pub struct Trail {
    /// The template of the path, as in the router.
    pub route: &'static str,
    /// Which key asked, once known.
    pub key: Option<KeyId>,
    /// The submission that it made, or that an earlier one made of which it is a repeat.
    pub submission: Option<SubmissionId>,
    /// Why the service failed, when it did.
    pub cause: Option<Cause>,
    /// Whether the request is routine (a health probe) and is logged as detail only.
    pub routine: bool,
}

impl Trail {
    /// The trail of a request to a route.
    pub fn of(route: &'static str) -> Self {
        Self { route, key: None, submission: None, cause: None, routine: false }
    }

    /// The response with this trail: JSON for an answer, the error's body for a problem.
    pub fn close(self, answer: Result<impl Into<Body>, Problem>) -> Response {
        match answer {
            Ok(json) => {
                let mut response = Response::new(json.into());
                let json = HeaderValue::from_static("application/json");
                response.headers_mut().insert(header::CONTENT_TYPE, json);
                self.on(response, None)
            }
            Err(problem) => self.refuse(problem),
        }
    }

    /// The error's body, with this trail.
    pub fn refuse(self, problem: Problem) -> Response {
        let cause = problem.cause().cloned();
        self.on(problem.into_response(), cause.as_ref())
    }

    /// A response of any shape with this trail, and why the service failed, when it did.
    pub fn on(self, mut response: Response, cause: Option<&Cause>) -> Response {
        response.extensions_mut().insert(Self { cause: cause.cloned(), ..self });
        response
    }
}

/// A resource as JSON.
pub(super) fn json<T: Serialize>(value: &T) -> Result<Bytes, Problem> {
    serde_json::to_vec(value)
        .map(Bytes::from)
        .map_err(|error| Problem::internal(text_cause(error.to_string())))
}
