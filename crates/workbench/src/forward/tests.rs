use bytes::Bytes;
use formsvc_contract::send::HttpSenderOptions;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use jiff::Timestamp;

use super::*;
use crate::delivery::{Attempt, DeliverySummary, EventNames, Source};
use crate::verdict::{Verdict, VerdictCode};

/// Returns a delivery of the form `frm_1` with this request target.
fn delivery(request_target: &str) -> Delivery {
    Delivery {
        summary: DeliverySummary {
            number: None,
            received_at: Timestamp::UNIX_EPOCH,
            source: Source::Poll,
            method: Method::POST,
            request_target: request_target.to_owned(),
            body_size: 2,
            verdict: Verdict { code: VerdictCode::Valid, secret: None, age_secs: None },
            names: EventNames {
                event: Some("submission.created".to_owned()),
                submission_id: Some("sub_1".to_owned()),
                form_id: Some("frm_1".to_owned()),
            },
            attempt: Attempt::FIRST,
            response: None,
        },
        headers: HeaderMap::new(),
        body: Bytes::from_static(b"{}"),
        forwards: Vec::new(),
        relayed_forward: None,
    }
}

fn forwarder(timeout: Duration, targets: &[&str]) -> Forwarder {
    let options = HttpSenderOptions { timeout, ..HttpSenderOptions::default() };
    let routes = targets.iter().map(|text| Route::all(target::parse(text).unwrap())).collect();
    Forwarder::new(HttpSender::new(options).unwrap(), routes, 512)
}

#[expect(clippy::unnecessary_wraps, reason = "tables of results mix it with `error`")]
fn ok_response(status: u16) -> Result<TargetResponse, ForwardError> {
    let body = status.to_string().into();
    Ok(TargetResponse { status, headers: HeaderMap::new(), body, is_truncated: false })
}

fn error(kind: ForwardErrorKind) -> Result<TargetResponse, ForwardError> {
    Err(ForwardError { kind, message: "refused".to_owned() })
}

fn forward(result: Result<TargetResponse, ForwardError>) -> Forward {
    Forward { url: "http://localhost:1/".into(), result, took: Duration::ZERO }
}

const TEN: Duration = Duration::from_secs(10);

#[test]
fn route_matches_deliveries_that_meet_its_condition() {
    for (route, request_target, expected) in [
        ("form_id=frm_1=4242/hook", "/", true),
        ("form_id=frm_2=4242", "/", false),
        ("form_id=frm_*=4242", "/", true),
        ("event=submission.created=4242/a?b=c", "/", true),
        ("event=submission=4242", "/", false),
        ("event!=submission=4242", "/", true),
        ("event=='submission.created'=4242", "/", true),
        ("body_size>=2=4242", "/", true),
        ("path=/hook=4242", "/hook?x=1", true),
        ("path=/hook=4242", "/hook/", false),
        ("path=/hook* && form_id = frm_1 =4242", "/hook/a", true),
        ("path=/hook*&&form_id=frm_2=4242", "/hook/a", false),
        ("path=/a*=4242", "/a/.b/c..d/...", true),
        // The target may resolve the path to `/b`, which the route does not match.
        ("path=/a*=4242", "/a/../b", false),
    ] {
        let parsed = Route::parse(route).unwrap();
        assert_eq!(parsed.matches(&delivery(request_target)), expected, "{route}");
    }
    let mut nameless = delivery("/");
    nameless.summary.names = EventNames::default();
    assert!(!Route::parse("form_id=*=4242").unwrap().matches(&nameless));
    assert!(Route::all(target::parse("4242").unwrap()).matches(&nameless));
}

#[test]
fn route_url_is_the_rest_of_the_text() {
    for (text, expression, url) in [
        ("event=a=https://shop.test/hook?a=b&&c=d", "event=a", "https://shop.test/hook?a=b&&c=d"),
        ("path=/a* && form_id=x =4242", "path=/a* && form_id=x", "http://localhost:4242/"),
        ("event='a=b'=4242", "event='a=b'", "http://localhost:4242/"),
    ] {
        let route = Route::parse(text).unwrap();
        assert_eq!((route.expression(), route.target().as_str()), (expression, url));
    }
}

#[test]
fn invalid_route_error_names_the_rule() {
    for (text, rule) in [
        ("", "a route is EXPR=URL"),
        ("4242", "a route is EXPR=URL"),
        ("form=frm_1=4242", "unknown field `form`"),
        ("form_id=frm_1", "`form_id=frm_1` has no URL"),
        ("form_id==4242", "has no URL"),
        ("form_id=frm_1=/hook", "a path needs a port before it"),
        ("form_id=a && 4242", "a route is EXPR=URL"),
        ("form_id=a=ftp://x", "not http or https"),
        ("status=200=4242", "`status` is known only after forwarding"),
    ] {
        let error = Route::parse(text).unwrap_err();
        assert!(error.contains(rule), "{text}: {error}");
    }
}

#[test]
fn first_failed_forward_decides_the_response() {
    use ForwardErrorKind::{NotHttp, Timeout, Unreachable};
    for (results, expected) in [
        (vec![], None),
        (vec![ok_response(201), ok_response(200)], Some((0, 201))),
        (vec![ok_response(200), ok_response(500), ok_response(404)], Some((1, 500))),
        (vec![ok_response(200), ok_response(302)], Some((1, 302))),
        (vec![error(Unreachable), ok_response(502)], Some((0, 502))),
        (vec![ok_response(200), error(Timeout)], Some((1, 504))),
        (vec![error(NotHttp)], Some((0, 502))),
        (vec![ok_response(101)], Some((0, 502))),
        (vec![ok_response(599)], Some((0, 599))),
        (vec![ok_response(600), ok_response(999)], Some((0, 502))),
        (vec![ok_response(99)], Some((0, 502))),
    ] {
        let forwards: Vec<_> = results.into_iter().map(forward).collect();
        let decided = relay::deciding(&forwards);
        let status = decided.map(|index| (index, relay(&forwards[index]).status().as_u16()));
        assert_eq!(status, expected, "{forwards:?}");
    }
}

#[test]
fn failed_forward_is_relayed_as_an_error_body() {
    use ForwardErrorKind::{NotHttp, Overloaded, Timeout, Unreachable};
    for (result, code) in [
        (ok_response(999), "target_status"),
        (error(Timeout), "target_timeout"),
        (error(NotHttp), "target_no_http"),
        (error(Unreachable), "target_unreachable"),
        (error(Overloaded), "target_overloaded"),
    ] {
        let response = relay(&forward(result));
        let body: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
        assert_eq!(body["error"]["code"], code);
        assert_eq!(response.headers()["content-type"], "application/json");
        assert!(!response.body().windows(7).any(|bytes| bytes == b"refused"));
    }
}

#[test]
fn relayed_response_has_end_to_end_headers_only() {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("connection", "close, X-Hop"),
        ("x-hop", "1"),
        ("transfer-encoding", "chunked"),
        ("content-length", "7"),
        ("retry-after", "5"),
        ("etag", "a"),
        ("set-cookie", "a=1"),
        ("set-cookie", "b=2"),
    ] {
        headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    for (is_truncated, expected) in [
        (false, &["retry-after: 5", "etag: a", "set-cookie: a=1", "set-cookie: b=2"][..]),
        (true, &["retry-after: 5", "set-cookie: a=1", "set-cookie: b=2"]),
    ] {
        let body = Bytes::from_static(b"\xff");
        let response = TargetResponse { status: 202, headers: headers.clone(), body, is_truncated };
        let relayed = relay(&forward(Ok(response)));
        let lines: Vec<_> = relayed
            .headers()
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        let mut sorted = (lines, expected.to_vec());
        sorted.0.sort_unstable();
        sorted.1.sort_unstable();
        assert_eq!(sorted.0, sorted.1);
        assert_eq!((relayed.status().as_u16(), &relayed.body()[..]), (202, &b"\xff"[..]));
    }
}

#[test]
fn change_of_health_is_reported_once() {
    use ForwardErrorKind::{NotHttp, Timeout, Unreachable};
    let forwarder = forwarder(TEN, &["4242"]);
    let record = |result: &Result<TargetResponse, ForwardError>, tenths: u64| {
        let warnings = forwarder.targets[0].record(result, Duration::from_millis(tenths * 100));
        warnings.into_iter().map(|warning| (warning.code, warning.message)).collect::<Vec<_>>()
    };
    let up = |message: &str| vec![(WarningCode::TargetUp, message.to_owned())];
    let down = vec![(WarningCode::TargetDown, "refused".to_owned())];
    let slow = "http://localhost:4242/ took 8.5 s to respond; the service gives up after 10 s";
    let slow = vec![(WarningCode::TargetSlow, slow.to_owned())];
    let responds_again = up("http://localhost:4242/ responds again");
    let http_again = up("http://localhost:4242/ responds in HTTP again");
    for (result, tenths, expected) in [
        (ok_response(200), 80, vec![]),
        (ok_response(500), 85, slow.clone()),
        (ok_response(200), 99, vec![]),
        (ok_response(200), 1, vec![]),
        (ok_response(200), 85, slow.clone()),
        (error(Timeout), 100, down.clone()),
        (error(Unreachable), 1, vec![]),
        (ok_response(500), 85, [responds_again.clone(), slow].concat()),
        (error(Unreachable), 1, down.clone()),
        (ok_response(200), 1, responds_again),
        (error(NotHttp), 1, down),
        (ok_response(200), 1, http_again),
        (ok_response(200), 1, vec![]),
    ] {
        assert_eq!(record(&result, tenths), expected);
    }
}

#[test]
fn targets_have_warnings_before_the_first_delivery() {
    let own: SocketAddr = ([127, 0, 0, 1], 4242).into();
    let codes = |timeout, targets: &[&str], own| {
        let warnings = forwarder(timeout, targets).warnings(own);
        warnings.into_iter().map(|warning| warning.code).collect::<Vec<_>>()
    };
    assert!(codes(TEN, &["4243", "https://shop.test/hook"], own).is_empty());
    assert_eq!(codes(TEN * 2, &["4243"], own), [WarningCode::LongTimeout]);
    for itself in ["4242/hook", "127.0.0.1:4242", "[::1]:4242", "a.localhost:4242"] {
        assert_eq!(codes(TEN, &[itself], own), [WarningCode::Loop], "{itself}");
        assert_eq!(codes(TEN, &[itself], "[::]:4242".parse().unwrap()), [WarningCode::Loop]);
    }
    let lan = "10.0.0.7:4242".parse().unwrap();
    assert_eq!(codes(TEN, &["10.0.0.7:4242"], lan), [WarningCode::Loop]);
    assert!(codes(TEN, &["4242"], lan).is_empty());
    assert_eq!(codes(TEN, &["http://app:3000"], own), [WarningCode::PlainHttp]);
    let warnings = forwarder(TEN, &["http://u:pw@app:3000/a?key=1"]).warnings(own);
    assert_eq!(warnings[0].message, "deliveries go to http://app:3000/a?… without TLS");
}

#[test]
fn target_for_restores_the_credentials() {
    let forwarder = forwarder(TEN, &["http://a:b@localhost:1", "http://c@localhost:2/own?x=1"]);
    for (url, expected) in [
        ("http://localhost:1/hook?y=2", Some("http://a:b@localhost:1/hook?y=2")),
        ("http://localhost:1/", Some("http://a:b@localhost:1/")),
        ("http://localhost:2/own?x=1", Some("http://c@localhost:2/own?x=1")),
        ("http://localhost:2/own", None),
        ("http://localhost:3/hook", None),
        ("https://localhost:1/hook", None),
        ("http://evil.test/hook", None),
        ("not a URL", None),
    ] {
        assert_eq!(forwarder.target_for(url).map(String::from).as_deref(), expected, "{url}");
    }
}

#[test]
fn header_has_a_name_a_colon_and_a_value() {
    let parse = |text| {
        parse_added_header(text).map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()))
    };
    assert_eq!(parse("X-A: b: c").unwrap(), ("x-a".to_owned(), b"b: c".to_vec()));
    assert_eq!(parse("X-A:").unwrap().1, b"");
    assert_eq!(parse("Authorization: Bearer é").unwrap().1, "Bearer é".as_bytes());
    for (text, rule) in [
        ("A=1", "`A=1` has no colon"),
        ("", "a header is a name"),
        (": x", "is not a header name"),
        ("a b: x", "`a b` is not a header name"),
        ("a: x\ny", "control characters"),
        ("Content-Length: 3", "set by the HTTP client"),
    ] {
        let error = parse_added_header(text).unwrap_err();
        assert!(error.contains(rule), "{text:?}: {error}");
    }
}
