#![doc = include_str!("../README.md")]

#[cfg(feature = "tower")]
mod answer;
mod bad_json;
mod builder;
mod error;
mod event;
pub mod inbox;
mod process;
#[cfg(feature = "tower")]
mod rejection;
#[cfg(feature = "test-util")]
pub mod test_util;
#[cfg(feature = "tower")]
mod tower;
mod verified;
mod verifier;
#[cfg(feature = "axum")]
mod webhook;

pub use bad_json::{BadJson, JsonProblem};
pub use builder::{ConfigError, MAX_BODY_DEFAULT, SECRET_MIN, TOLERANCE_MAX, VerifierBuilder};
pub use error::VerifyError;
pub use event::{Event, SubmissionCreated, UnknownEvent};
/// The name of the signature header, in lower case: `x-service-signature` (SPEC §5).
pub use formsvc_protocol::signature::HEADER as SIGNATURE_HEADER;
pub use formsvc_protocol::{Answers, EventKind, FormId, SubmissionId, Timestamp, WebhookEvent};
#[cfg(feature = "rt")]
pub use process::process_once_detached;
pub use process::{IdempotencyKey, Outcome, Panic, process_next, process_once};
#[cfg(feature = "tower")]
pub use rejection::Rejection;
pub use secrecy::SecretString;
#[cfg(feature = "tower")]
pub use tower::{VerifyFuture, VerifyLayer, VerifyResponseBody, VerifyService};
pub use verified::{Signed, Verified};
pub use verifier::{Verifier, signature_header};
#[cfg(feature = "axum")]
pub use webhook::{Webhook, WebhookPayload};

/// What goes from task to task, and into requests, may do so.
const _: () = {
    const fn crosses_threads<T: Send + Sync + Clone + 'static>() {}
    const fn is_an_error<T: std::error::Error + Send + Sync + Clone + 'static>() {}
    crosses_threads::<Verifier>();
    crosses_threads::<Signed>();
    crosses_threads::<Event>();
    crosses_threads::<Verified<Event>>();
    crosses_threads::<Verified<SubmissionCreated>>();
    is_an_error::<VerifyError>();
    is_an_error::<BadJson>();
    is_an_error::<ConfigError>();
};

#[cfg(feature = "tower")]
const _: () = {
    const fn crosses_threads<T: Send + Sync + Clone + 'static>() {}
    const fn is_sent<T: Send + 'static>() {}
    /// A service like those of routers, which is sent and not shared.
    #[derive(Clone)]
    struct Inner(std::marker::PhantomData<std::cell::Cell<()>>);
    type Request = http::Request<http_body_util::Full<bytes::Bytes>>;
    impl tower_service::Service<Request> for Inner {
        type Response = http::Response<String>;
        type Error = std::convert::Infallible;
        type Future = std::future::Ready<Result<Self::Response, Self::Error>>;
        fn poll_ready(
            &mut self,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Result<(), Self::Error>> {
            std::task::Poll::Ready(Ok(()))
        }
        fn call(&mut self, _: Request) -> Self::Future {
            std::future::ready(Ok(http::Response::default()))
        }
    }
    crosses_threads::<VerifyLayer>();
    crosses_threads::<Rejection>();
    is_sent::<VerifyService<Inner>>();
    is_sent::<VerifyFuture<Inner, String>>();
};
