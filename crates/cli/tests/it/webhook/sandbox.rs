//! `formsvc webhook listen --sandbox`.

use formsvc_protocol::signature::{SigningSecret, verify};

use super::listen::listener::{Listener, SECRET, now};
use super::recorder::{Got, Recorder};
use crate::support::{formsvc, request, run};
use crate::terminal::{CTRL_C, Terminal};

fn is_signed_by(secret: &str, got: &Got) -> bool {
    let secret = SigningSecret::new(secret).unwrap();
    let header = got.header("x-service-signature").unwrap();
    verify(header, &got.body, &[secret], now(), std::time::Duration::from_secs(300)).is_ok()
}

/// Returns the rest of the line that begins with the text.
fn after(stderr: &str, begin: &str) -> String {
    let found = stderr.lines().find_map(|line| line.strip_prefix(begin));
    found.unwrap_or_else(|| panic!("no {begin:?}: {stderr}")).to_owned()
}

#[test]
fn submission_to_the_sandbox_is_delivered_and_forwarded() {
    for given in ["", SECRET] {
        let receiver = Recorder::of(&[200]);
        let args = ["--sandbox", "contact", "--forward-to", &receiver.url("/hook"), "--count=1"];
        let mut listener = Listener::with(&args, |command| {
            command.arg("--no-store").env("FORMSVC_SIGNING_SECRET", given)
        });
        listener.wait_for(if given.is_empty() { "export FORMSVC_SIG" } else { "public form: " });
        let form = after(listener.stderr(), "public form: ");
        let (base_url, path) = form.split_at(form.find("/f/").unwrap());
        let headers = "content-type: application/json\r\n";
        let answers = r#"{"Name":"Ada","E-mail":"ada@example.org"}"#;
        let sent = request(base_url, &format!("POST {path}"), headers, answers);
        assert!(sent.starts_with("HTTP/1.1 201"), "{sent}");
        let got = receiver.got();
        let said = listener.finish();
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        assert!(said.stdout.contains("✓ valid"), "{}", said.stdout);
        if given.is_empty() {
            let secret = after(&said.stderr, "export FORMSVC_SIGNING_SECRET=");
            assert!(is_signed_by(&secret, &got));
            assert_eq!(said.stderr.matches(&secret).count(), 1, "{}", said.stderr);
        } else {
            assert!(is_signed_by(given, &got) && !said.stderr.contains("whsec_"), "{said:?}");
        }
        assert!(!said.stderr.contains("press Enter"), "{}", said.stderr);
    }
}

#[test]
fn generated_secrets_are_long_and_differ() {
    let [first, second] = [(); 2].map(|()| {
        let args = ["--demo", "webhook", "listen", "--no-store", "--max-time=1ms"];
        after(&run(&args).stderr, "export FORMSVC_SIGNING_SECRET=whsec_")
    });
    assert_eq!((first.len(), second.len()), (43, 43), "43 digits of base 62 are 256 bits");
    assert_ne!(first, second);
}

#[test]
fn submit_every_makes_submissions_without_a_terminal() {
    let said = run(&[
        "webhook",
        "listen",
        "--sandbox=contact",
        "--port=0",
        "--no-store",
        "--count=1",
        "--submit-every=50ms",
    ]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.contains("✓ valid"), "{}", said.stdout);
}

#[test]
fn enter_makes_a_submission_on_a_terminal() {
    let command =
        formsvc(&["webhook", "listen", "--sandbox", "contact", "--port", "0", "--no-store"]);
    let mut terminal = Terminal::start(command, (120, 30));
    terminal.wait_for("press Enter to make a submission");
    for count in 1..=2 {
        terminal.send("\r");
        let lines = |terminal: &Terminal| terminal.screen().matches("✓ valid").count();
        terminal.wait_until("a delivery", |terminal| lines(terminal) == count);
    }
    terminal.send(CTRL_C);
    assert_eq!(terminal.finish(), Some(0));
    terminal.assert_restored();
}

#[test]
fn sandbox_is_refused_with_other_sources_or_an_unknown_form() {
    for (args, why) in [
        (&["--sandbox", "nosuch"][..], "the sandbox has no form `nosuch`"),
        (&["--sandbox", "a/b"], "a public id"),
        (&["--sandbox", "contact", "--poll", "contact"], "cannot be used"),
        (&["--sandbox", "contact", "--demo"], "cannot be used"),
    ] {
        let said = run(&[&["webhook", "listen", "--port", "0", "--no-store"], args].concat());
        assert_eq!(said.code, Some(2), "{args:?}: {}", said.stderr);
        assert!(said.stderr.contains(why), "{args:?}: {}", said.stderr);
    }
}
