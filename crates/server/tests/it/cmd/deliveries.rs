//! `formsvc-server deliveries`.

use std::time::Instant;

use serde_json::Value;

use super::receiver::Receiver;
use super::{PATIENCE, Run, Serving, Site};

const FAULT: &[u8] =
    b"HTTP/1.1 500 Oops\r\ncontent-length: 9\r\nconnection: close\r\n\r\nbusy\x1b[2J\n";
const NO_TEXT: &[u8] =
    b"HTTP/1.1 500 Oops\r\ncontent-length: 2\r\nconnection: close\r\n\r\n\xff\x00";
const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok";

/// A site whose form has an endpoint, and a server that retries within milliseconds.
fn delivering(receiver: &Receiver) -> (Site, Serving) {
    let site = Site::with_free_form();
    let added = site.run(&["webhook", "add", "contact", &receiver.url(), "--profile", "dev"]);
    added.succeeded();
    let retries = ["--retry-base", "5ms", "--retry-factor", "1"];
    let serving = site.serve(&[&["--profile", "dev"], &retries[..]].concat());
    (site, serving)
}

fn list(site: &Site, more: &[&str]) -> Run {
    site.run(&[&["deliveries", "list", "contact"], more].concat()).succeeded()
}

/// The first delivery in a state, once there is one.
fn until(site: &Site, state: &str) -> Value {
    let began = Instant::now();
    loop {
        if let Some(delivery) = list(site, &["--state", state]).lines().into_iter().next() {
            return delivery;
        }
        assert!(began.elapsed() < PATIENCE, "{}", list(site, &[]).stdout);
    }
}

#[test]
fn a_failed_delivery_is_shown_and_made_again() {
    let receiver = Receiver::answering(&[FAULT, FAULT, NO_TEXT, FAULT, OK]);
    let (site, serving) = delivering(&receiver);
    serving.submit("contact", r#"{"n":1}"#);
    let failed = until(&site, "failed");
    assert_eq!((&failed["attempts"], &failed["next_attempt_at"]), (&4.into(), &Value::Null));
    assert!(failed["finished_at"].is_string() && failed["submission_id"].is_string());
    let id = failed["id"].as_str().unwrap();

    let shown = site.run(&["deliveries", "show", id]).succeeded().json();
    assert_eq!((&shown["id"], &shown["state"]), (&failed["id"], &"failed".into()));
    let history = shown["history"].as_array().unwrap();
    assert_eq!(history.len(), 4);
    for (at, attempt) in history.iter().enumerate() {
        assert_eq!((&attempt["status"], &attempt["resend"]), (&500.into(), &false.into()));
        assert_eq!(attempt["error"], "status_not_2xx");
        assert!(attempt["address"].as_str().unwrap().starts_with("127.0.0.1:"));
        assert_eq!(attempt["seconds_since_last"].is_null(), at == 0);
    }
    assert_eq!(history[0]["body_text"], "busy\u{1b}[2J\n");
    assert_eq!(history[2]["body_hex"], "ff00");

    let text = site.run(&["deliveries", "show", id, "--output", "text"]).succeeded().stdout;
    for told in [id, "state       failed", "\nattempt 4", "  answer    500, in ", " after the last"]
    {
        assert!(text.contains(told), "{told}: {text}");
    }
    assert!(!text.contains('\u{1b}') && text.contains(r"busy\u{1b}[2J"), "{text}");

    // Beside the server, which notices.
    let resent = site.run(&["deliveries", "resend", id]).succeeded();
    let told = format!(
        "will be attempted by the running server; `formsvc-server deliveries show {id}` tells how \
         it went\n"
    );
    assert_eq!(resent.stderr, told);
    let resent = resent.json();
    assert_eq!((&resent["id"], &resent["state"]), (&failed["id"], &"failed".into()));
    let (next, made) = (&resent["next_attempt_at"], &resent["created_at"]);
    assert!(next.as_str() > made.as_str(), "when it was asked for: {resent}");
    let delivered = until(&site, "delivered");
    assert_eq!((&delivered["id"], &delivered["attempts"]), (&failed["id"], &5.into()));
    let shown = site.run(&["deliveries", "show", id, "--output", "json"]).succeeded().json();
    assert_eq!(
        (&shown["history"][4]["resend"], &shown["history"][4]["status"]),
        (&true.into(), &200.into())
    );
    assert!(list(&site, &["--state", "failed"]).stdout.is_empty());
}

#[test]
fn a_resend_without_a_server_says_so() {
    let receiver = Receiver::ok();
    let (site, serving) = delivering(&receiver);
    serving.submit("contact", "{}");
    let delivered = until(&site, "delivered");
    serving.signal("TERM");
    serving.wait();
    let run = site.run(&["deliveries", "resend", delivered["id"].as_str().unwrap()]).succeeded();
    assert!(run.stderr.starts_with("no server runs now: it will be"), "{}", run.stderr);
}

#[test]
fn deliveries_are_listed_in_pages_newest_first() {
    let receiver = Receiver::ok();
    let (site, serving) = delivering(&receiver);
    for n in 0..5 {
        serving.submit("contact", &format!("{{\"n\":{n}}}"));
    }
    for _ in 0..5 {
        receiver.next();
    }
    let all = list(&site, &[]);
    assert_eq!(all.stderr, "");
    let all = all.lines();
    assert_eq!(all.len(), 5);
    let times: Vec<_> = all.iter().map(|one| one["created_at"].as_str().unwrap()).collect();
    assert!(times.is_sorted_by(|newer, older| newer > older), "{times:?}");
    let first = list(&site, &["--limit", "3"]);
    let ids =
        |deliveries: &[Value]| deliveries.iter().map(|one| one["id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&first.lines()), ids(&all[..3]));
    let after = all[2]["id"].as_str().unwrap();
    assert_eq!(first.stderr, format!("there may be more: `--after {after}`\n"));
    let rest = list(&site, &["--limit", "3", "--after", after]);
    assert_eq!((ids(&rest.lines()), &rest.stderr[..]), (ids(&all[3..]), ""));
    let endpoint = all[0]["endpoint_id"].as_str().unwrap();
    assert_eq!(list(&site, &["--endpoint", endpoint]).lines().len(), 5);
    assert_eq!(list(&site, &["--endpoint", endpoint, "--state", "canceled"]).stdout, "");
}

#[test]
fn what_a_deliveries_command_is_given_is_judged() {
    let site = Site::with_free_form();
    for (args, told) in [
        (["--state", "lost"], "`--state` cannot be `lost`: it must be pending, retrying, deliv"),
        (["--limit", "0"], "`--limit` cannot be `0`"),
        (["--limit", "10001"], "from 1 to 10000"),
        (["--after", "dlv_1"], "`--after` cannot be `dlv_1`"),
        (["--endpoint", "a b"], "`--endpoint` cannot be `a b`"),
        (["--endpoint", "whsec_x"], "an endpoint's id is wanted"),
    ] {
        site.run(&[&["deliveries", "list", "contact"], &args[..]].concat()).failed(2, told);
    }
    let list = ["deliveries", "list", "contact", "--endpoint", "whe_0"];
    site.run(&list).failed(3, "error: no endpoint `whe_0`");
    site.run(&["deliveries", "list", "missing"]).failed(3, "error: no form `missing`");
    let known = "dlv_00000100000000010000000000000001";
    for id in ["dlv_1", known] {
        let none = format!("error: no delivery `{id}`");
        site.run(&["deliveries", "show", id]).failed(3, &none);
        site.run(&["deliveries", "resend", id]).failed(3, &none);
    }
    let show = ["deliveries", "show", known, "--output", "xml"];
    site.run(&show).failed(2, "`--output` cannot be `xml`: it must be text or json");
}

#[test]
fn a_delivery_to_a_disabled_endpoint_is_not_made_again() {
    let receiver = Receiver::ok();
    let (site, serving) = delivering(&receiver);
    serving.submit("contact", "{}");
    let delivered = until(&site, "delivered");
    let (id, endpoint) =
        (delivered["id"].as_str().unwrap(), delivered["endpoint_id"].as_str().unwrap());
    site.run(&["webhook", "disable", endpoint]).succeeded();
    let refused = site.run(&["deliveries", "resend", id]).failed(2, "endpoint that is not enabled");
    let hint = format!("hint: `formsvc-server webhook enable {endpoint}` enables it");
    assert!(refused.stderr.contains(&hint), "{}", refused.stderr);
    site.run(&["webhook", "remove", endpoint]).succeeded();
    site.run(&["deliveries", "resend", id]).failed(2, "its endpoint was removed");
    assert_eq!(site.run(&["deliveries", "show", id]).succeeded().json()["state"], "delivered");
}

#[test]
fn what_a_visitor_quotes_leads_to_the_deliveries_and_back() {
    let receiver = Receiver::answering(&[OK, OK]);
    let (site, serving) = delivering(&receiver);
    let head = "POST /f/contact HTTP/1.1\r\ncontent-type: application/json\r\n";
    let quoted = |answer: String| {
        let line = answer.lines().find_map(|line| line.strip_prefix("x-request-id: "));
        line.unwrap().to_owned()
    };
    let ids = [1, 2].map(|n| quoted(serving.ask(head, &format!(r#"{{"n":{n}}}"#))));
    for id in &ids {
        let found = list(&site, &["--request-id", id]).lines();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0]["request_id"], id.as_str());
        let submission = found[0]["submission_id"].as_str().unwrap();
        assert_eq!(list(&site, &["--submission", submission]).lines().len(), 1);
        let delivery = found[0]["id"].as_str().unwrap();
        let text = site.run(&["deliveries", "show", delivery, "--output", "text"]).succeeded();
        assert!(text.stdout.contains(&format!("request     {id}\n")), "{}", text.stdout);
    }
    let other = format!("{}ffffff", &ids[0][..30]);
    assert_eq!(list(&site, &["--request-id", &other]).stdout, "");
    let refused = ["deliveries", "list", "contact", "--request-id", "sub_1"];
    site.run(&refused).failed(2, "`--request-id` cannot be `sub_1`: it must be `req_` and 32");
}
