//! What a collector of traces sees.

use formsvc_client::{Client, Cursor};

use crate::support::bodies::{USER, error, last};
use crate::support::builder;
use crate::support::fake::{Answer, Fake, ok, status};
use crate::support::spans::{Seen, spans_with};

/// A client under a name that no other test uses, so that its spans can be told apart.
fn client(host: &str, answers: impl IntoIterator<Item = Answer>) -> Client {
    let url = format!("https://{host}:8443/base");
    builder().base_url(url).transport(Fake::script(answers).wire()).build().unwrap()
}

/// The call's span and those of its attempts.
fn spans(host: &str) -> (Seen, Vec<Seen>) {
    let mut all = spans_with("server.address", host);
    let call = all.remove(0);
    assert_eq!((call.name, call.parent), ("formsvc.call", None));
    assert!(all.iter().all(|one| one.name == "formsvc.attempt" && one.parent == Some(call.number)));
    (call, all)
}

fn field<'s>(span: &'s Seen, name: &str) -> Option<&'s str> {
    span.fields.get(name).map(String::as_str)
}

#[tokio::test(start_paused = true)]
async fn a_call_is_a_span_and_each_attempt_a_child_of_it() {
    let host = "spans.forms.example";
    client(host, [status(503), ok(""), ok(USER)]).me().await.unwrap();
    let (call, attempts) = spans(host);
    assert_eq!(attempts.len(), 3);
    for span in attempts.iter().chain([&call]) {
        assert_eq!(field(span, "http.request.method"), Some("GET"));
        assert_eq!(field(span, "server.port"), Some("8443"));
        assert_eq!(field(span, "url.template"), Some("/api/v1/me"));
    }
    let kinds = |span| (field(span, "otel.name"), field(span, "otel.kind"));
    assert_eq!(kinds(&call), (Some("me"), Some("internal")));
    assert_eq!(kinds(&attempts[0]), (Some("GET /api/v1/me"), Some("client")));
    let ending = |span| {
        (
            field(span, "http.response.status_code"),
            field(span, "error.type"),
            field(span, "otel.status_code"),
            field(span, "http.request.resend_count"),
        )
    };
    let failed = Some("ERROR");
    assert_eq!(ending(&attempts[0]), (Some("503"), Some("503"), failed, None));
    assert_eq!(ending(&attempts[1]), (Some("200"), Some("decode"), failed, Some("1")));
    assert_eq!(ending(&attempts[2]), (Some("200"), None, None, Some("2")));
    assert_eq!(ending(&call), (Some("200"), None, None, Some("2")));
}

#[tokio::test]
async fn a_failed_call_says_how_in_its_own_span_too() {
    let host = "failed.forms.example";
    let refused = Answer::Status(404, Vec::new(), error("form_not_found", "none"));
    let client = client(host, [refused]);
    client.form("frm_9".parse().unwrap()).submissions().page().await.unwrap_err();
    let (call, attempts) = spans(host);
    for span in [&call, &attempts[0]] {
        assert_eq!(field(span, "http.response.status_code"), Some("404"));
        assert_eq!(field(span, "error.type"), Some("404"));
        assert_eq!(field(span, "otel.status_code"), Some("ERROR"));
    }
}

#[tokio::test]
async fn no_id_cursor_answer_or_key_is_in_a_span() {
    let host = "quiet.forms.example";
    let client = client(host, [ok(last([1234]))]);
    let list = client.form("frm_s3cret".parse().unwrap()).submissions();
    list.before(Cursor::new("c0rsor")).items().try_next().await.unwrap().unwrap();
    let (call, attempts) = spans(host);
    let shown = format!("{call:?} {attempts:?}");
    assert!(shown.contains("/api/v1/forms/{form_id}/submissions"), "{shown}");
    for secret in ["frm_s3cret", "c0rsor", "1234", "limit", "fsk_", "req_1"] {
        assert!(!shown.contains(secret), "`{secret}` in {shown}");
    }
}
