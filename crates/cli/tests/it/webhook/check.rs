//! `formsvc webhook check`: output, exit codes, and that it sends nothing after an early error. The
//! tests of the library cover which receivers pass, with receivers in many languages.

use std::net::TcpListener;

use crate::support::{Said, formsvc, run, succeed};

use super::support::SECRET;

fn check(args: &[&str]) -> Said {
    let mut command = formsvc(&["webhook", "check"]);
    command.args(args).env("FORMSVC_SIGNING_SECRET", SECRET);
    command.output().unwrap().into()
}

#[test]
fn demo_receiver_passes_every_check() {
    let listed = succeed(&["webhook", "check", "--list", "--jq", "[.[].check]"]);
    let ok = "[.[] | select(.outcome == \"passed\").check]";
    let made = succeed(&["--demo", "webhook", "check", "--jq", ok]);
    assert_eq!(made, listed);
}

#[test]
fn closed_port_is_exit_6_without_results() {
    let port = crate::support::closed_address().port();
    let said = check(&[&format!("127.0.0.1:{port}")]);
    assert_eq!((said.code, &*said.stdout), (Some(6), ""), "{}", said.stderr);
    assert!(said.stderr.contains(&format!("127.0.0.1:{port}")), "{}", said.stderr);
}

#[cfg(unix)]
#[test]
fn receiver_without_an_http_1_answer_is_exit_6() {
    use crate::webhook::recorder::Recorder;

    for (bytes, message) in [
        (&b"\0\0\0\x04\0\0\0\0\0"[..], "if it speaks only HTTP/2, it cannot receive deliveries"),
        (b"", "if the server uses TLS, its URL is https://"),
    ] {
        let recorder = Recorder::start(std::sync::Arc::new(move |_, _| Some(bytes.to_vec())));
        let said = check(&[&recorder.url("/")]);
        assert_eq!((said.code, &*said.stdout), (Some(6), ""), "{}", said.stderr);
        assert!(said.stderr.contains(message), "{}", said.stderr);
        assert!(!said.stderr.contains("secret"), "{}", said.stderr);
        assert_eq!(said.stderr.matches("https://").count(), 1, "{}", said.stderr);
    }
}

#[test]
fn missing_secret_or_url_has_a_hint() {
    for (said, told) in [
        (run(&["webhook", "check", "http://127.0.0.1:9/"]), "signing needs a signing secret"),
        (check(&[]), "no URL of a receiver"),
        (check(&["--list", "--only", "fresh-acepted"]), "fresh-accepted"),
        (run(&["--demo", "webhook", "check", "http://127.0.0.1:9/"]), "takes no URL"),
    ] {
        assert_eq!((said.code, &*said.stdout), (Some(2), ""), "{}", said.stderr);
        assert!(said.stderr.contains(told), "{told}: {}", said.stderr);
    }
}

#[test]
fn list_has_the_selected_checks_in_their_order() {
    let list = |more: &[&str]| {
        succeed(&[&["webhook", "check", "--list", "--jq", ".[].check"], more].concat())
    };
    assert_eq!(list(&["--only", "stale,bad-mac"]), "bad-mac\nstale\n");
    assert_eq!(list(&["--only", "future", "--only", "stale"]), "stale\nfuture\n");
    let told = "[.[] | select(.sends == \"\" or .wants == \"\" or .why == \"\" or .fix == \"\")]";
    assert_eq!(succeed(&["webhook", "check", "--list", "--jq", told]).trim(), "[]");
}

#[cfg(unix)]
mod failing_receivers {
    //! A receiver that accepts every request, or sends hostile responses.

    use std::sync::Arc;

    use super::*;
    use crate::terminal::Terminal;
    use crate::webhook::recorder::{Recorder, answer};

    /// Starts a receiver that verifies nothing.
    fn accept_everything() -> (Recorder, String) {
        let recorder = Recorder::of(&[200]);
        let url = format!("http://{}/", recorder.address);
        (recorder, url)
    }

    #[test]
    fn failed_checks_exit_1_with_reason_and_fix() {
        let (_recorder, url) = accept_everything();
        let said = check(&[&url, "--only", "stale,edges"]);
        assert_eq!(said.code, Some(1), "{}", said.stderr);
        let lines: Vec<&str> = said.stdout.lines().collect();
        assert_eq!(lines.len(), 2, "{}", said.stdout);
        assert!(lines[0].starts_with("stale\tfailed\tSPEC §5\tanswered 200 (accepted)\trefuse if"));
        assert!(lines[1].starts_with("edges\tpassed\t"));
        assert!(said.stderr.contains("error: 1 of 2 checks failed: stale\n"), "{}", said.stderr);
        let said = check(&[&url, "--only", "stale,future,edges"]);
        assert!(said.stderr.contains("2 of 3 checks failed: stale, future\n"), "{}", said.stderr);
        assert!(said.stderr.contains("`--only stale,future`"), "{}", said.stderr);
        let said = check(&[&url, "--only", "stale", "--error-format", "json"]);
        assert!(said.stderr.contains("\"code\":\"check_failed\""), "{}", said.stderr);
        assert!(said.stderr.contains("1 of 1 check failed: stale"), "{}", said.stderr);
    }

    #[test]
    fn terminal_shows_each_check_as_a_block() {
        let (_recorder, url) = accept_everything();
        let mut command = formsvc(&["webhook", "check", "--only", "stale,edges,get", &url]);
        command.env("FORMSVC_SIGNING_SECRET", SECRET).env("TERM", "xterm-256color");
        let mut terminal = Terminal::start(command, (80, 40));
        assert_eq!(terminal.finish(), Some(1));
        let screen = terminal.screen();
        let at = |text: &str| screen.find(text).unwrap_or_else(|| panic!("{text}: {screen}"));
        assert!(at("failed   stale: answered 200 (accepted); expected: a") < at("passed   edges:"));
        assert!(at("hint: refuse if") < at("warning  get:"));
        at("1 passed, 1 warning, 1 failed, 0 skipped");
    }

    #[test]
    fn junit_report_is_written_beside_the_output() {
        let (_recorder, url) = accept_everything();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.xml");
        let file = path.to_str().unwrap();
        let said = check(&[&url, "--only", "stale,edges", "--junit", file]);
        assert_eq!(said.code, Some(1), "{}", said.stderr);
        let xml = std::fs::read_to_string(&path).unwrap();
        assert!(xml.contains("tests=\"2\" skipped=\"0\" failures=\"1\""), "{xml}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        // No request is sent if the report cannot be written.
        let (recorder, url) = accept_everything();
        let said = check(&[&url, "--junit", "/proc/none/report.xml"]);
        assert_eq!(said.code, Some(10), "{}", said.stderr);
        assert!(recorder.is_silent());
    }

    #[test]
    fn hostile_response_is_sanitized_and_the_secret_hidden() {
        let recorder = Recorder::start(Arc::new(|_, _| {
            let header = "Location: http://x/\u{202e}\r\n";
            Some(answer(302, header, &format!("\u{1b}]0;gotcha\u{7}{SECRET}")))
        }));
        let url = format!("http://{}/", recorder.address);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.xml");
        for output in ["tsv", "json", "table"] {
            let file = path.to_str().unwrap();
            let said = check(&[&url, "-v", "--output", output, "--junit", file]);
            assert_eq!(said.code, Some(1), "{}", said.stderr);
            let report = std::fs::read_to_string(&path).unwrap();
            for told in [&said.stdout, &said.stderr, &report] {
                assert!(!told.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{told:?}");
                assert!(!told.contains(SECRET), "{told}");
            }
        }
    }

    #[test]
    fn timeout_flag_limits_the_response_time() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", silent.local_addr().unwrap());
        let only = "[.[] | select(.outcome == \"failed\").check]";
        let said = check(&[&url, "--timeout", "100ms", "--jq", only]);
        assert_eq!(said.code, Some(1), "{}", said.stderr);
        assert_eq!(said.stdout.split_whitespace().collect::<String>(), "[\"answers-in-time\"]");
    }
}
