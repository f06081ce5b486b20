//! The extractor for axum.

use axum_core::body::Body;
use axum_core::extract::{FromRef, FromRequest, Request};
use axum_core::response::{IntoResponse, Response};

use crate::inbox::InboxError;
use crate::tower::{ReadBody, admit, check_event};
use crate::{Event, Outcome, Rejection, SubmissionCreated, Verified, Verifier};

/// An axum extractor: a delivery whose signature is right (SPEC §5).
///
/// The router's state holds the [`Verifier`], or gives one by [`FromRef`]. The body is asked for only
/// once the signature header is there, single, well-formed and of about now, and no announced length is
/// over the verifier's [`max_body`](crate::VerifierBuilder::max_body), which alone bounds it: axum's
/// `DefaultBodyLimit` does not count here. **Set [`read_timeout`](crate::VerifierBuilder::read_timeout)**:
/// without it a stranger's body may come as slowly as it likes, since axum has no limit either.
///
/// An `X-Service-Event` that names another kind than the body is refused: only the body is signed.
///
/// `Webhook<Event>` takes every event. `Webhook<SubmissionCreated>` takes submissions; events of other
/// kinds are answered with 200 and not given to the handler, so that the service does not send them
/// again ([`Rejection::Ignored`]). What is refused is answered as [`Rejection`] says; take
/// `Result<Webhook<_>, Rejection>` to log it or to answer otherwise.
///
/// A handler's answer decides for the service: 2xx is delivered, all else comes again (SPEC §6).
///
/// ```
/// use axum::{Router, http::StatusCode, routing::post};
/// use formsvc_receiver::{SubmissionCreated, Verifier, Webhook};
///
/// async fn hook(Webhook(submission): Webhook<SubmissionCreated>) -> StatusCode {
///     println!("{} to {}", submission.submission_id, submission.form_id);
///     StatusCode::NO_CONTENT
/// }
///
/// let verifier = Verifier::builder().secret("whsec_of_an_example".into()).build()?;
/// let router: Router = Router::new().route("/hook", post(hook)).with_state(verifier);
/// # Ok::<(), formsvc_receiver::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Webhook<T = Event>(pub Verified<T>);

/// What [`Webhook`] can hold: [`Event`] or [`SubmissionCreated`].
pub trait WebhookPayload: sealed::Payload {}

impl WebhookPayload for Event {}
impl WebhookPayload for SubmissionCreated {}

mod sealed {
    use super::{Event, Rejection, SubmissionCreated, Verified};
    use crate::UnknownEvent;

    pub trait Payload: Sized {
        fn of(event: Verified<Event>) -> Result<Verified<Self>, Rejection>;
    }

    impl Payload for Event {
        fn of(event: Verified<Event>) -> Result<Verified<Self>, Rejection> {
            Ok(event)
        }
    }

    impl Payload for SubmissionCreated {
        fn of(event: Verified<Event>) -> Result<Verified<Self>, Rejection> {
            let other =
                |event: Verified<UnknownEvent>| Rejection::Ignored { kind: event.kind().into() };
            event.into_submission().map_err(other)
        }
    }
}

impl<T, S> FromRequest<S> for Webhook<T>
where
    T: WebhookPayload,
    Verifier: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Rejection;

    async fn from_request(request: Request, state: &S) -> Result<Self, Rejection> {
        let verifier = Verifier::from_ref(state);
        let (head, body) = request.into_parts();
        let signature = admit(&verifier, &head.headers, &body)?;
        let body = ReadBody::new(body, &verifier).await?;
        let event = verifier.verify_event(signature.as_bytes(), body)?;
        check_event(&head.headers, event.event())?;
        T::of(event).map(Self)
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        self.to_response().map(Body::new)
    }
}

impl<T, E> IntoResponse for Outcome<T, E> {
    fn into_response(self) -> Response {
        self.to_response().map(Body::new)
    }
}

impl IntoResponse for InboxError {
    fn into_response(self) -> Response {
        self.to_response().map(Body::new)
    }
}
