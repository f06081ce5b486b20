//! Clients with other options, and default headers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use formsvc_client::transport::{AttemptContext, BoxFuture, Transport, TransportError};
use formsvc_client::{ErrorKind, RateLimit, RequestOptions, RetryPolicy};
use http::header::{AUTHORIZATION, HOST, USER_AGENT};
use http::{Request, Response};
use tokio::time::Instant;

use crate::support::bodies::{USER, last, page};
use crate::support::fake::{Answer, Fake, ok, status};
use crate::support::{KEY, builder};

fn one_per_minute() -> RateLimit {
    RateLimit::per_minute(1)
}

#[tokio::test(start_paused = true)]
async fn options_change_only_the_given_settings() {
    let fake = Fake::script([Answer::Silence, status(503), ok(USER)]);
    let client = builder().transport(fake.wire()).build().unwrap();
    let options =
        RequestOptions::new().attempt_timeout(Duration::from_secs(2)).retry(RetryPolicy::none());
    let start = Instant::now();
    let error = client.with_options(options).unwrap().me().await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Timeout, 1));
    assert_eq!(start.elapsed().as_secs(), 2);
    // The client itself still tries again.
    assert_eq!(client.me().await.unwrap().attempts(), 2);
}

#[tokio::test(start_paused = true)]
async fn overall_timeout_can_be_set_per_call() {
    let fake = Fake::rule(|_| Answer::Silence);
    let client = builder().transport(fake.wire()).build().unwrap();
    let short = RequestOptions::new().overall_timeout(Some(Duration::from_secs(3)));
    let start = Instant::now();
    client.with_options(short).unwrap().me().await.unwrap_err();
    assert_eq!(start.elapsed().as_secs(), 3);
}

#[tokio::test]
async fn default_header_is_sent_with_every_request_of_a_list() {
    let answers = Mutex::new(vec![ok(last([2])), ok(page([0, 1], "a"))]);
    let fake = Fake::rule(move |request| {
        let headers = request.headers();
        assert!(headers["x-a"] == "2" && headers["x-b"] == "3", "{headers:?}");
        assert_eq!(headers[AUTHORIZATION], format!("Bearer {KEY}"));
        answers.lock().unwrap().pop().unwrap()
    });
    // The last value of a name is sent.
    let settings = builder().default_header("x-a", "1").default_header("x-a", "2");
    let client = settings.default_header("x-b", "3").transport(fake.wire()).build().unwrap();
    let items = client.form("frm_1").submissions().items().try_collect_max(9).await;
    assert_eq!(items.unwrap().len(), 3);
}

#[tokio::test]
async fn header_of_a_call_replaces_the_default_header() {
    let expected = Mutex::new(vec!["default", "own"]);
    let fake = Fake::rule(move |request| {
        assert_eq!(request.headers()["x-a"], expected.lock().unwrap().pop().unwrap());
        ok(USER)
    });
    let client = builder().default_header("x-a", "default").transport(fake.wire()).build().unwrap();
    let own = client.with_options(RequestOptions::new().header("x-a", "own")).unwrap();
    own.me().await.unwrap();
    client.me().await.unwrap();
}

/// Adds its number to the header `x-through`.
struct Numbered(u16, Arc<dyn Transport>);

impl Transport for Numbered {
    fn send<'a>(
        &'a self,
        mut request: Request<Bytes>,
        context: &'a AttemptContext,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        request.headers_mut().append("x-through", self.0.into());
        self.1.send(request, context)
    }
}

#[tokio::test]
async fn wrapped_transport_receives_the_request_first() {
    let fake = Fake::rule(|request| {
        let through: Vec<_> = request.headers().get_all("x-through").iter().collect();
        assert_eq!(through, ["2", "1"]);
        ok(USER)
    });
    let boxed: Box<dyn Transport> = Box::new(fake.wire());
    let builder = builder().transport(boxed).wrap_transport(|inner| Numbered(1, inner));
    let client = builder.wrap_transport(|inner| Arc::new(Numbered(2, inner))).build().unwrap();
    client.me().await.unwrap();
}

#[test]
fn invalid_options_are_config_errors() {
    for name in [AUTHORIZATION, HOST, USER_AGENT] {
        let error = builder().default_header(name.clone(), "x").build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.to_string().contains(&format!("`{name}` is set by the client")), "{error}");
    }
    let client = builder().transport(Fake::script([]).wire()).build().unwrap();
    for options in [
        RequestOptions::new().attempt_timeout(Duration::ZERO),
        RequestOptions::new().overall_timeout(Some(Duration::ZERO)),
        RequestOptions::new().retry(RetryPolicy::standard().max_attempts(0)),
    ] {
        let error = client.with_options(options).unwrap_err();
        assert!(error.to_string().contains("is zero"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn client_with_options_shares_limiter_and_budget() {
    let fake = Fake::rule(|_| status(503));
    let policy = RetryPolicy::standard().budget(Some(3));
    let client = builder().retry(policy).transport(fake.wire()).build().unwrap();
    let other = client.with_options(RequestOptions::new().retry(RetryPolicy::standard())).unwrap();
    assert_eq!(client.me().await.unwrap_err().attempts(), 4);
    assert_eq!(other.me().await.unwrap_err().attempts(), 1);

    let fake = Fake::rule(|_| ok(USER));
    let client = builder().rate_limit(one_per_minute()).transport(fake.wire()).build().unwrap();
    client.me().await.unwrap();
    client.with_options(RequestOptions::new()).unwrap().me().await.unwrap();
    assert!(fake.gaps()[0] >= Duration::from_secs(60));
}
