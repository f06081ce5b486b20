//! Fakes that fail the test when they receive an unexpected request, or when an answer is left over.

pub(crate) mod bodies;
pub(crate) mod fake;
pub(crate) mod form;
pub(crate) mod log;
pub(crate) mod net;
pub(crate) mod served;

use std::time::Duration;

use formsvc_client::{ClientBuilder, RetryPolicy};

pub(crate) const KEY: &str = "fsk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";

/// A builder with a base URL and a key, and with the shortest pauses.
pub(crate) fn builder() -> ClientBuilder {
    log::log();
    let builder = ClientBuilder::default().base_url("https://forms.example/base");
    builder.api_key(KEY).random(|| 0.0)
}

/// Retries after a millisecond, for tests over a real socket.
pub(crate) fn quick() -> RetryPolicy {
    let ms = Duration::from_millis(1);
    RetryPolicy::standard().base_delay(ms)
}
