//! The axum extractor, and responses for axum handlers.

use axum_core::body::Body;
use axum_core::extract::{FromRef, FromRequest, Request};
use axum_core::response::{IntoResponse, Response};

use crate::read_body::verify_stream;
use crate::{
    Rejection, SubmissionCreated, UnknownEvent, Verified, Verifier, VerifyError, WebhookEvent,
};

/// Extracts any verified event. The state of the router is a [`Verifier`], or provides one with
/// [`FromRef`].
///
/// The body is read only if the headers are acceptable, up to
/// [`max_body`](crate::VerifierBuilder::max_body) bytes (axum's `DefaultBodyLimit` does not apply) and
/// for at most [`read_timeout`](crate::VerifierBuilder::read_timeout). A refused request is answered as
/// [`Rejection`] describes; take `Result<Verified<_>, Rejection>` to answer it differently.
impl<S: Send + Sync> FromRequest<S> for Verified<WebhookEvent>
where
    Verifier: FromRef<S>,
{
    type Rejection = Rejection;

    async fn from_request(request: Request, state: &S) -> Result<Self, Rejection> {
        let (head, body) = request.into_parts();
        verify_stream(&Verifier::from_ref(state), &head.headers, body).await
    }
}

/// Extracts a verified submission. Other events do not reach the handler and are answered with 200, so
/// that the service does not repeat them.
///
/// ```
/// use axum::{Router, http::StatusCode, routing::post};
/// use formsvc_receiver::{SubmissionCreated, Verified, Verifier};
///
/// async fn hook(submission: Verified<SubmissionCreated>) -> StatusCode {
///     println!("{} to {}", submission.submission_id, submission.form_id);
///     StatusCode::NO_CONTENT
/// }
///
/// let verifier = Verifier::new("whsec_of_an_example")?;
/// let router: Router = Router::new().route("/hook", post(hook)).with_state(verifier);
/// # Ok::<(), formsvc_receiver::ConfigError>(())
/// ```
impl<S: Send + Sync> FromRequest<S> for Verified<SubmissionCreated>
where
    Verifier: FromRef<S>,
{
    type Rejection = Rejection;

    async fn from_request(request: Request, state: &S) -> Result<Self, Rejection> {
        let event = Verified::<WebhookEvent>::from_request(request, state).await?;
        let ignored =
            |event: Verified<UnknownEvent>| Rejection::IgnoredEvent { kind: event.kind().into() };
        event.into_submission().map_err(ignored)
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        self.to_response().map(Body::from)
    }
}

impl IntoResponse for VerifyError {
    fn into_response(self) -> Response {
        self.to_response().map(Body::from)
    }
}

#[cfg(feature = "inbox")]
impl<T, E> IntoResponse for crate::ProcessOutcome<T, E> {
    fn into_response(self) -> Response {
        self.to_response().map(Body::from)
    }
}

#[cfg(feature = "inbox")]
impl IntoResponse for crate::inbox::InboxError {
    fn into_response(self) -> Response {
        self.to_response().map(Body::from)
    }
}
