//! Responses of the listener to senders, by signature, request and flags.

use super::listener::{
    Listener, OTHER_SECRET, SECRET, event, of_type, records, signature, without_age,
};
use crate::support::run;
use crate::webhook::recorder::Recorder;

#[test]
fn valid_delivery_is_accepted_and_others_have_a_reason() {
    let listener = Listener::start(&["--output", "ndjson"]);
    let body = event("sub_1");
    let text = "no event";
    let sent: [(String, &str, u16, &str); 7] = [
        (signature(SECRET, 0, &body), &body, 200, "valid"),
        (String::new(), &body, 401, "missing_signature"),
        ("t=1,v1=beef".to_owned(), &body, 401, "malformed_signature"),
        (signature(OTHER_SECRET, 0, &body), &body, 401, "signature_mismatch"),
        (signature(SECRET, -320, &body), &body, 401, "signature_too_old"),
        (signature(SECRET, 320, &body), &body, 401, "signature_in_future"),
        (signature(SECRET, 0, text), text, 400, "bad_event"),
    ];
    for (header, body, status, verdict) in &sent {
        let answer = listener.post(header, body);
        assert_eq!(answer.status(), *status, "{verdict}");
        if *status != 200 {
            assert_eq!(answer.code(), *verdict);
        }
    }
    let said = listener.terminate();
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let records = records(&said.stdout);
    let told = of_type(&records, "delivery");
    let verdicts: Vec<_> = told.iter().map(|record| record["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, sent.map(|(_, _, _, verdict)| verdict));
    let ages: Vec<_> = told.iter().map(|record| record["age_s"].as_i64()).collect();
    assert!(matches!(ages[4], Some(320..=350)) && matches!(ages[5], Some(-320..=-290)), "{ages:?}");
    assert_eq!(ages[1], None);
}

#[test]
fn other_method_or_path_is_refused() {
    let listener = Listener::start(&["--path", "/hooks/forms", "--output", "ndjson"]);
    let request = |line: &str| {
        let head = format!("{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        super::listener::Answer(listener.exchange(head.as_bytes()))
    };
    let health = request("GET /healthz");
    assert_eq!((health.status(), health.body()), (200, r#"{"status":"ok"}"#));
    for (line, status, code) in [
        ("GET /hooks/forms", 405, "method_not_allowed"),
        ("PUT /hooks/forms?x", 405, "method_not_allowed"),
        ("POST /", 404, "not_found"),
        ("POST /hooks/forms/", 404, "not_found"),
    ] {
        let answer = request(line);
        assert_eq!((answer.status(), answer.code().as_str()), (status, code), "{line}");
        assert_eq!(answer.0.contains("allow: POST\r\n"), status == 405, "{line}");
    }
    let body = event("sub_1");
    let delivery =
        super::listener::request("/hooks/forms?a=b", &signature(SECRET, 0, &body), &body);
    assert!(listener.exchange(&delivery).starts_with("HTTP/1.1 200"));
    let said = listener.terminate();
    let records = records(&said.stdout);
    let refused = of_type(&records, "refused");
    let codes: Vec<_> = refused.iter().map(|record| record["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["method_not_allowed", "method_not_allowed", "not_found", "not_found"]);
    let told = of_type(&records, "delivery");
    assert_eq!((told.len(), told[0]["request_target"].as_str()), (1, Some("/hooks/forms?a=b")));
    assert!(said.stderr.contains("1 delivery: 1 valid; 4 other requests refused"));
}

#[test]
fn previous_secret_verifies_and_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, secret: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, secret).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (new, old) = (file("new", SECRET), file("old", OTHER_SECRET));
    let flags = ["--secret-file", &new, "--secret-file", &old, "--no-store"];
    let listener = Listener::with(&flags, |command| command);
    let body = event("sub_1");
    for secret in [SECRET, OTHER_SECRET] {
        assert_eq!(listener.post(&signature(secret, 0, &body), &body).status(), 200);
    }
    let said = listener.terminate();
    let lines: Vec<_> = said.stdout.lines().collect();
    assert!(without_age(lines[0]).contains("✓ valid →"), "{lines:?}");
    assert!(lines[1].contains("✓ valid by a previous secret"), "{lines:?}");
}

#[test]
fn missing_secret_marks_deliveries_unchecked() {
    let mut listener = Listener::with(&["--no-store"], |command| command);
    listener.wait_for("warning: the listener has no signing secret");
    assert_eq!(listener.post("", &event("sub_1")).status(), 200);
    assert!(listener.terminate().stdout.contains("? unchecked"));
}

#[test]
fn on_invalid_rejects_accepts_or_forwards() {
    for (what, status, passed_on) in
        [("reject", 401, false), ("accept", 200, false), ("forward", 207, true)]
    {
        let target = Recorder::of(&[207]);
        let url = target.url("/");
        let listener = Listener::start(&["--on-invalid", what, "--forward-to", &url]);
        assert_eq!(listener.post("", &event("sub_1")).status(), status, "{what}");
        // A listener that forwards has sent the request before it ends.
        assert_eq!(listener.terminate().code, Some(0));
        assert_eq!(target.is_silent(), !passed_on, "{what}");
    }
}

#[test]
fn rejected_deliveries_do_not_count_as_attempts() {
    let listener = Listener::start(&["--respond", "503,200", "--output", "ndjson"]);
    let body = event("victim");
    let sent = [
        (String::new(), 401),
        (signature(OTHER_SECRET, 0, &body), 401),
        (signature(SECRET, 0, &body), 503),
        (String::new(), 401),
        // A third party can repeat an old delivery.
        (signature(SECRET, -320, &body), 401),
        (signature(SECRET, 0, &body), 200),
        (signature(OTHER_SECRET, 0, &body), 401),
    ];
    for (header, status) in &sent {
        assert_eq!(listener.post(header, &body).status(), *status, "{header}");
    }
    let said = listener.terminate();
    let records = records(&said.stdout);
    let told: Vec<_> = of_type(&records, "delivery")
        .iter()
        .map(|record| (record["attempt"].as_u64().unwrap(), record["gap_ms"].is_null()))
        .collect();
    let (first, later) = ((1, true), |attempt| (attempt, false));
    assert_eq!(told, [first, first, first, first, first, later(2), first]);
    assert_eq!(of_type(&records, "summary")[0]["retries"], 1);
}

#[test]
fn responses_follow_the_attempts_of_each_submission() {
    let flags = ["--drop", "1", "--respond", "503,200", "--output", "ndjson"];
    let listener = Listener::start(&flags);
    // The attempts of two interleaved submissions are counted separately.
    let answers = ["a", "b", "a", "b", "a", "b", "a"].map(|id| listener.deliver(&event(id)).0);
    let statuses = answers.map(|answer| answer.get(9..12).unwrap_or("").to_owned());
    assert_eq!(statuses, ["", "", "503", "503", "200", "200", "200"]);
    let said = listener.terminate();
    let records = records(&said.stdout);
    let told: Vec<_> = of_type(&records, "delivery")
        .iter()
        .map(|record| (record["attempt"].as_u64().unwrap(), record["duplicate"].as_bool().unwrap()))
        .collect();
    let (fresh, again) = (false, true);
    let expected =
        [(1, fresh), (1, fresh), (2, fresh), (2, fresh), (3, fresh), (3, fresh), (4, again)];
    assert_eq!(told, expected);
    let summary = of_type(&records, "summary")[0];
    assert_eq!(summary["retries"], 4);
    assert_eq!(summary["duplicates"], 1);
    assert_eq!(summary["dropped"], 2);
}

#[test]
fn invalid_flag_is_exit_2_with_its_rule() {
    for (flags, told) in [
        (&["--respond", "99"][..], "expected statuses from 200 to 599"),
        (&["--path", "hooks"], "expected a path that begins with `/`"),
        (&["--port", "65536"], "from 0 to 65535"),
        (&["--bind", "localhost"], "--bind"),
        (&["--expect", "stats=1"], "unknown field `stats`"),
        (&["--expect", "event<3"], "`event` does not support `<`"),
        (&["--expect", "status<ok"], "`status` is compared with `ok` by = and != only"),
        (&["--expect", "verdict=good"], "not `good`"),
        (&["--expect", "event"], "has no operator"),
        (&["--expect", "event='x"], "the closing ' is missing"),
        (&["--count", "0"], "from 1 up"),
        (&["--output", "csv"], "this command prints lines or JSON"),
        (&["--json", "event"], "--output ndjson"),
    ] {
        let port = if flags[0] == "--port" { "-q" } else { "--port=0" };
        let said = run(&[&["webhook", "listen", port, "--no-store"], flags].concat());
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{flags:?}: {}", said.stderr);
        assert!(said.stderr.contains(told), "{flags:?}: {}", said.stderr);
    }
}
