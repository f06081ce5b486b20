//! Requests of the caller's own paths.

use formsvc_client::{ErrorCode, ErrorKind, RetryPolicy};

use crate::support::bodies::error;
use crate::support::fake::{Answer, Fake, ok, throttled};
use crate::support::{KEY, builder};

#[tokio::test]
async fn raw_body_is_returned_byte_for_byte() {
    let body = "\u{feff} not JSON \u{1b}[31m\r\n";
    let fake = Fake::script([ok(body)]);
    let client = builder().transport(fake.wire()).build().unwrap();
    let answer = client.get_raw("/api/v1/é?a=1", &[("b", "2&3")]).await.unwrap();
    assert_eq!(&answer[..], body.as_bytes());
    assert_eq!(answer.request_id(), Some("req_1"));
    assert_eq!(fake.sent(), ["/base/api/v1/%C3%A9?a=1&b=2%263"]);
}

#[tokio::test(start_paused = true)]
async fn raw_call_waits_and_retries() {
    let fake = Fake::script([throttled("7"), ok("done")]);
    let client = builder().transport(fake.wire()).build().unwrap();
    let answer = client.get_raw("/x", &[]).await.unwrap();
    assert_eq!((answer.attempts(), answer.meta().elapsed().as_secs()), (2, 7));
}

#[tokio::test]
async fn raw_error_has_body_and_headers() {
    let body = error("form_not_found", &format!("no such form for {KEY}"));
    let headers = vec![("x-request-id", "req_2".to_owned()), ("x-echo", KEY.to_owned())];
    let fake = Fake::script([Answer::Status(404, headers, body.clone())]);
    let client = builder().retry(RetryPolicy::none()).transport(fake.wire()).build().unwrap();
    let failure = client.get_raw("/x", &[]).await.unwrap_err();
    assert_eq!((failure.kind(), failure.operation()), (ErrorKind::Api, "raw"));
    assert_eq!(failure.code(), Some(&ErrorCode::FormNotFound));
    let shown = String::from_utf8(failure.body().unwrap().to_vec()).unwrap();
    assert_eq!(shown, body.replace(KEY, "[api key]"), "{shown}");
    let headers = failure.headers().unwrap();
    assert_eq!(headers["x-request-id"], "req_2");
    assert!(!format!("{headers:?} {shown}").contains(KEY));
}

#[tokio::test]
async fn path_outside_the_base_url_sends_no_request() {
    let fake = Fake::script([]);
    let client = builder().transport(fake.wire()).build().unwrap();
    for path in ["https://evil.example/", "//evil.example/", "/../x", "/%2e%2e/x", "x", "/a\nb"] {
        let refused = client.get_raw(path, &[]).await.unwrap_err();
        assert_eq!((refused.kind(), refused.attempts()), (ErrorKind::Config, 0), "{path}");
    }
    assert!(fake.sent().is_empty());
}
