//! Signatures and secrets are masked without `--reveal`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::listen::listener::{Listener, event, of_type, records};
use super::recorder::{Recorder, answer};
use crate::support::{Said, formsvc};

/// A text that every secret of these tests contains.
const SECRET: &str = "TARGETTOKEN";

/// A target that responds 500 with the headers of the request, as debugging pages do.
fn echo_target() -> Recorder {
    Recorder::start(Arc::new(|_, got| {
        let shown = ["authorization", "cookie", "x-service-signature"].map(|name| {
            let value = got.header(name).map(String::from_utf8_lossy);
            format!("{name}: {}\n", value.unwrap_or_default())
        });
        Some(answer(500, "", &shown.concat()))
    }))
}

/// Flags with secrets for a target.
const FLAGS: [&str; 4] =
    ["-H", "Authorization: Bearer TARGETTOKEN", "-H", "Cookie: session=TARGETTOKEN"];

/// Returns true if the text contains more than the beginning of a signature.
fn has_signature(text: &str) -> bool {
    let is_whole = |(at, _): (usize, &str)| {
        text[at + 3..].bytes().take_while(u8::is_ascii_hexdigit).count() > 8
    };
    text.match_indices("v1=").any(is_whole)
}

#[test]
fn listener_masks_secrets_of_its_target_unless_reveal() {
    let target = echo_target();
    let url = target.url("/hook?token=TARGETTOKEN");
    let told = |more: &[&str]| {
        let flags = [&["--forward-to", &url][..], &FLAGS, more].concat();
        let listener = Listener::start(&flags);
        assert_eq!(listener.deliver(&event("sub_1")).status(), 500);
        let got = target.got();
        assert_eq!(got.line, "POST /hook?token=TARGETTOKEN HTTP/1.1");
        assert_eq!(got.text("authorization"), "Bearer TARGETTOKEN");
        let said = listener.terminate();
        said.stdout + &said.stderr
    };
    for output in [&[][..], &["--output", "ndjson"]] {
        let told = told(output);
        assert!(told.contains("/hook?…") && told.contains("500"), "{told}");
        assert!(!told.contains(SECRET) && !has_signature(&told), "{told}");
    }
    let text = told(&["--reveal"]);
    assert!(text.contains("/hook?token=TARGETTOKEN responded 500"), "{text}");
    assert!(text.contains("Bearer TARGETTOKEN") && has_signature(&text), "{text}");
    let revealed = told(&["--reveal", "--output", "ndjson"]);
    let (lines, _) = revealed.split_at(revealed.rfind('}').unwrap() + 2);
    let records = records(lines);
    assert_eq!(of_type(&records, "delivery")[0]["forwards"][0]["url"], url);
    assert_eq!(of_type(&records, "ready")[0]["targets"], json!([url]));
}

#[test]
fn trigger_masks_secrets_in_an_echoed_response() {
    let receiver = echo_target();
    let trigger = |more: &[&str]| -> Said {
        let mut command = formsvc(&["webhook", "trigger", &receiver.url("/"), "--output", "json"]);
        command.args(FLAGS).args(more).env("FORMSVC_SIGNING_SECRET", "whsec_of_these_tests_alone");
        command.output().unwrap().into()
    };
    let said = trigger(&[]);
    assert_eq!(said.code, Some(11), "{}", said.stderr);
    let shown: Value = serde_json::from_str(&said.stdout).unwrap();
    let body = shown["body"].as_str().unwrap();
    assert!(body.starts_with("authorization: Bearer …\ncookie: …\n"), "{body}");
    assert!(body.contains("v1="), "{body}");
    for text in [&said.stdout, &said.stderr] {
        assert!(!has_signature(text) && !text.contains(SECRET), "{text}");
    }
    let said = trigger(&["--reveal"]);
    assert!(has_signature(&said.stdout) && said.stdout.contains(SECRET), "{}", said.stdout);
}
