//! Whatever is sent: never a fault of ours, always the error shape, always a request id.

use axum::body::Body;
use formsvc_protocol::ErrorCode;
use formsvc_server::rate_limit::RateLimit;
use http::{HeaderName, HeaderValue, Method, Request, Uri};
use proptest::prelude::*;

use super::service::{Answer, Service, answer};

fn path() -> impl Strategy<Value = String> {
    let segment = prop_oneof![
        Just("api".to_owned()),
        Just("v1".to_owned()),
        Just("me".to_owned()),
        Just("forms".to_owned()),
        Just("submissions".to_owned()),
        "[a-zA-Z0-9._~!$&'()*+,;=:@-]{0,12}",
        "(%[0-9a-fA-F]{0,2}){1,4}",
        "\\PC{0,3}",
    ];
    let free =
        prop::collection::vec(segment, 0..7).prop_map(|parts| format!("/{}", parts.join("/")));
    let rows = "([!-~]|%[0-9A-F]{2}|é){0,20}";
    prop_oneof![
        free,
        rows.prop_map(|id| format!("/api/v1/forms/{id}/submissions")),
        Just("/api/v1/forms/FORM/submissions".to_owned()),
    ]
}

fn query() -> impl Strategy<Value = String> {
    let name = prop_oneof!["limit", "cursor", "[a-z%&=]{0,5}"];
    let value = prop_oneof![
        "[0-9]{1,4}",
        "[ -~]{0,3}",
        "[!$-~]{0,30}",
        "(%[0-9a-fA-F]{0,2}){0,8}",
        "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{0,10})?(Z|%2B[0-9]{2}:[0-9]{2})",
    ];
    let pair = (name, value).prop_map(|(name, value)| format!("{name}={value}"));
    prop::collection::vec(pair, 0..4).prop_map(|pairs| pairs.join("&"))
}

fn headers() -> impl Strategy<Value = Vec<(String, Vec<u8>)>> {
    let name = prop_oneof![
        "authorization",
        "content-length",
        "transfer-encoding",
        "expect",
        "host",
        "x-request-id",
        "[a-z-]{1,12}",
    ];
    let byte = prop_oneof![0x20_u8..0x7f, 0x80_u8..=0xff, Just(b'\t')];
    prop::collection::vec((name, prop::collection::vec(byte, 0..40)), 0..5)
}

fn method() -> impl Strategy<Value = Method> {
    prop_oneof![
        8 => Just(Method::GET),
        1 => Just(Method::HEAD),
        1 => Just(Method::POST),
        1 => Just(Method::OPTIONS),
        1 => Just(Method::CONNECT),
        1 => "[A-Z]{1,9}".prop_map(|name| Method::from_bytes(name.as_bytes()).unwrap()),
    ]
}

/// The answer, or `None` for what no HTTP library would let through.
async fn send(
    service: &Service,
    method: Method,
    target: &str,
    headers: &[(String, Vec<u8>)],
    with_key: bool,
) -> Option<Answer> {
    let uri: Uri = target.parse().ok()?;
    let mut request = Request::builder().method(method).uri(uri).header("host", "service.test");
    if with_key {
        request = request.header("authorization", service.bearer());
    }
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        request = request.header(name, HeaderValue::from_bytes(value).ok()?);
    }
    Some(answer(&service.edge, request.body(Body::empty()).unwrap()).await)
}

#[test]
fn nothing_that_is_sent_makes_the_service_fail_or_lose_its_shape() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (service, form) = runtime.block_on(async {
        let service = Service::with_limit(RateLimit::Off).await;
        let form = service.form_with_rows(3).await;
        (service, form)
    });
    let sent = std::cell::Cell::new(0);
    let input = (method(), path(), query(), headers(), any::<bool>());
    proptest!(ProptestConfig::with_cases(2000), |((method, path, query, headers, with_key) in input)| {
        let target = format!("{}?{query}", path.replace("FORM", form.id.as_str()));
        let head = method == Method::HEAD;
        let answer = runtime.block_on(send(&service, method, &target, &headers, with_key));
        let Some(answer) = answer else { return Ok(()) };
        sent.set(sent.get() + 1);
        prop_assert!(answer.status.as_u16() < 500, "{target}: {}", answer.body);
        prop_assert!(answer.header("x-request-id").len() == 36);
        prop_assert_eq!(answer.header("content-type"), "application/json");
        if !answer.status.is_success() && !head {
            let (status, code) = answer.error();
            let row = ErrorCode::from(code.as_str()).info();
            prop_assert_eq!(row.map(|row| row.status), Some(status));
        }
    });
    assert!(sent.get() > 1000, "only {} requests could be sent", sent.get());
}
