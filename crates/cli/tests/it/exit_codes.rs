//! Every exit code, by a real cause; every error code of the service, by a real request.

use std::process::Stdio;

use crate::support::{
    Canned, SECRET, Sandbox, answer, formsvc, one_form, page, run, signal, wait_until_inside,
};

fn refused(status: &str, code: &str) -> Option<String> {
    answer(status, "", &format!(r#"{{"error":{{"code":"{code}","message":"no"}}}}"#))
}

#[test]
fn the_six_error_codes_of_a_real_service_map_to_exit_codes() {
    let sandbox = Sandbox::start(&["--rate-limit", "6"]);
    let with_key = |key: &str, args: &[&str]| {
        let output = sandbox.formsvc(args).env("FORMSVC_API_KEY", key).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = with_key("fsk_unknown", &["me"]);
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("invalid_key"), "{said}");
    // bad_request: the service judges cursors, which are opaque to the client.
    let said = sandbox.run(&["submissions", "list", "penguins", "--before", "yesterday"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(
        said.stderr.contains("bad_request") && said.stderr.contains("yesterday"),
        "{}",
        said.stderr
    );
    // rate_limited: six requests a minute, of which two are spent.
    let impatient = ["--max-rate", "off", "--max-wait", "1s", "submissions", "export", "randhie"];
    let said = sandbox.run(&impatient);
    assert_eq!(said.code, Some(7), "{}", said.stderr);
    // missing_authorization, key_revoked and form_not_found cannot be provoked through this
    // command alone: a service that answers with them is enough for the mapping.
    for (status, code, exit) in [
        ("401 Unauthorized", "missing_authorization", 4),
        ("401 Unauthorized", "key_revoked", 4),
        ("404 Not Found", "form_not_found", 3),
        ("400 Bad Request", "bad_request", 2),
        ("403 Forbidden", "a_later_code", 5),
    ] {
        let service = Canned::start(vec![refused(status, code)]);
        let said = service.run(&["me"]);
        assert_eq!(said.code, Some(exit), "{}", said.stderr);
        assert!(said.stderr.contains(code) && said.stderr.contains("req_test"), "{}", said.stderr);
    }
}

#[test]
fn no_key_is_exit_4() {
    let said = run(&["me", "--base-url", "http://127.0.0.1:9"]);
    assert_eq!(said.code, Some(4));
    assert!(said.stderr.contains("hint: set FORMSVC_API_KEY"), "{}", said.stderr);
}

#[test]
fn nonsense_from_the_service_is_exit_5_with_status_request_id_and_place() {
    let row = r#"{"id":"sub_1","data":{},"created_at":"2026-01-01T00:00:00.000Z"}"#;
    let newer = r#"{"id":"sub_2","data":{},"created_at":"2026-01-02T00:00:00.000Z"}"#;
    let html = "<html><body>Bad gateway</body></html>";
    for (name, page, tells) in [
        ("html", answer("200 OK", "", html), "Bad gateway"),
        ("no data", answer("200 OK", "", r#"{"pagination":{"has_more":false}}"#), "data"),
        ("wrong type", page(&row.replace("{}", "[]"), None), "data[0].data"),
        ("bad time", page(&row.replace("2026-01-01T", "2026-01-41T"), None), "data[0].created_at"),
        ("out of order", page(&format!("{row},{newer}"), None), "newer"),
        ("stuck", page(row, Some("")), "cursor"),
    ] {
        let service = Canned::start(vec![one_form(), page]);
        let said = service.run(&["submissions", "export", "survey", "--format", "ndjson"]);
        assert_eq!(said.code, Some(5), "{name}: {}", said.stderr);
        assert!(said.stderr.contains(tells), "{name}: {}", said.stderr);
    }
}

#[test]
fn an_unreachable_or_silent_service_is_exit_6() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let base_url = format!("http://127.0.0.1:{port}");
    let gone = formsvc(&["me", "--base-url", &base_url]).env("FORMSVC_API_KEY", "fsk_x").output();
    assert_eq!(gone.unwrap().status.code(), Some(6));
    let silent = Canned::start(vec![None]);
    let said = silent.run(&["me", "--timeout", "50ms"]);
    assert_eq!(said.code, Some(6), "{}", said.stderr);
    assert!(said.stderr.contains("--timeout"), "{}", said.stderr);
}

#[test]
fn a_wait_longer_than_allowed_is_exit_7() {
    let limited = answer("429 Too Many Requests", "retry-after: 3600\r\n", "{}");
    let said = Canned::start(vec![limited]).run(&["me", "--max-wait", "5s"]);
    assert_eq!(said.code, Some(7), "{}", said.stderr);
    assert!(said.stderr.contains("--max-wait"), "{}", said.stderr);
}

#[test]
fn signals_end_a_command_with_130_and_143() {
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let silent = Canned::start(vec![None]);
        let mut command = silent.formsvc(&["me"]);
        let child = command.stderr(Stdio::piped()).spawn().unwrap();
        silent.request();
        signal(&child, name);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_ends_a_command_that_reads_a_key_nobody_types() {
    let mut command = formsvc(&["me", "--base-url", "http://127.0.0.1:9", "--api-key-stdin", "-v"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    // Held open: waiting for the child would close it.
    let _typing = child.stdin.take();
    wait_until_inside(&child, "0 0x0 ");
    signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn the_key_is_in_no_output_however_much_is_said() {
    let service = Canned::start(vec![refused("500 Internal Server Error", SECRET), None]);
    let said = service.run(&["me", "-vv", "--timeout", "50ms", "--max-wait", "1s"]);
    assert_ne!(said.code, Some(0));
    assert!(said.stderr.len() > 200, "nothing was logged: {}", said.stderr);
    // Not even in the words of the service, which says it in its error code here.
    assert_eq!(said.stderr.matches(SECRET).count(), 0, "{}", said.stderr);
    assert!(service.request().contains(SECRET), "the key was not even sent");
}
