//! Captures, replays and triggers in a terminal of 80 columns.

use super::kept::{Home, Listener};
use super::recorder::Recorder;
use crate::terminal::{CTRL_C, Terminal};

/// An id as long as those of the service.
const ID: &str = "sub_0123456789abcdef0123456789abcdef";

fn body(id: &str) -> String {
    format!(
        r#"{{"event":"submission.created","submission_id":"{id}","form_id":"frm_1","form_title":"Test","data":{{}},"created_at":"2026-01-01T00:00:00.000Z"}}"#
    )
}

/// Returns the screen lines of a command in a terminal of 80 columns.
#[track_caller]
fn lines(home: &Home, args: &[&str], code: i32) -> Vec<String> {
    lines_in(80, home, args, code)
}

#[track_caller]
fn lines_in(columns: u16, home: &Home, args: &[&str], code: i32) -> Vec<String> {
    let mut command = home.formsvc(args);
    command.env("TERM", "xterm-256color").env("FORMSVC_SIGNING_SECRET_FILE", "secret.txt");
    let mut terminal = Terminal::start(command, (columns, 40));
    assert_eq!(terminal.finish(), Some(code), "{}", terminal.screen());
    terminal.lines()
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[test]
fn list_has_the_status_beside_long_ids_and_verdicts() {
    let home = Home::new();
    let mut listener = Listener::start(&home, &[]);
    assert_eq!(listener.deliver(body(ID).as_bytes()), 200);
    let second = ("x-service-signature", &b"t=1,v1=00"[..]);
    assert_eq!(listener.send("/hook", &[second], body(ID).as_bytes()), 200);
    assert_eq!(listener.end(), Some(0));
    let lines = lines(&home, &["webhook", "events", "list"], 0);
    assert_eq!(words(&lines[0])[..4], ["CAPTURE", "AT", "VERDICT", "STATUS"], "{lines:?}");
    assert!(lines[1].contains("200") && lines[2].contains("200"), "{lines:?}");
}

#[test]
fn long_url_of_a_replay_is_printed_whole() {
    let home = Home::new();
    let mut listener = Listener::start(&home, &[]);
    assert_eq!(listener.deliver(body(ID).as_bytes()), 200);
    assert_eq!(listener.end(), Some(0));
    let target = Recorder::of(&[200]);
    let to = target.url("/a/path/that/is/rather/long/for/a/line");
    let replayed = lines(&home, &["webhook", "replay", "1", "--to", &to], 0);
    assert!(replayed[0].starts_with(&format!("#1 {ID}")), "{replayed:?}");
    assert!(replayed[1].contains(&to), "{replayed:?}");
    assert!(replayed.concat().contains("→ 200"), "{replayed:?}");
    let attempts = ["webhook", "trigger", &to, "--simulate-sender", "--count", "2"];
    let attempts = lines(&home, &attempts, 0);
    assert!(attempts[0].starts_with("#1 sub_") && attempts[0].contains("→ 200 "), "{attempts:?}");
    assert!(attempts.contains(&"         answer 2".to_owned()), "{attempts:?}");
    let piped = home.succeed(&["webhook", "replay", "1", "--to", &to, "--keep-signature"]);
    let piped: serde_json::Value = serde_json::from_str(&piped).unwrap();
    assert_eq!((&piped["submission_id"], &piped["status"]), (&ID.into(), &200.into()));
}

/// Starts a receiver that responds with this text.
fn text_receiver(text: &'static str) -> Recorder {
    Recorder::start(std::sync::Arc::new(move |_, _| Some(super::recorder::answer(200, "", text))))
}

#[test]
fn submission_id_is_never_cut() {
    let home = Home::new();
    let target = Recorder::of(&[200]);
    let mut listener = Listener::start(&home, &["--forward-to", &target.url("/a/long/path")]);
    for _ in 0..2 {
        assert_eq!(listener.deliver(body(ID).as_bytes()), 200);
    }
    assert_eq!(listener.end(), Some(0));
    std::fs::write(home.path().join("body.json"), body(ID)).unwrap();
    let to = target.url("/a/long/path");
    let trigger = ["webhook", "trigger", &to, "--count", "2", "--file", "body.json"];
    for args in [
        &["webhook", "replay", "1", "2"][..],
        &["webhook", "events", "tail", "--count", "2"],
        &trigger,
    ] {
        let lines = lines_in(120, &home, args, 0);
        let whole = lines.iter().filter(|line| words(line).contains(&ID)).count();
        assert_eq!(whole, 2, "{args:?}: {lines:#?}");
    }
}

#[test]
fn response_uses_the_whole_width() {
    let home = Home::new();
    let said = "a receiver that has so much to say of what it was sent that it takes a hundred cells, all but a few";
    let to = text_receiver(said).url("/");
    let trigger = ["webhook", "trigger", &to, "--count", "2", "--secret-file", "secret.txt"];
    let lines = lines_in(200, &home, &trigger, 0);
    assert_eq!(lines.iter().filter(|line| line.contains(said)).count(), 2, "{lines:#?}");
    assert!(lines.last().unwrap().starts_with("2 attempts: 200 ×2; p50 "), "{lines:#?}");
}

#[test]
fn details_are_wrapped_between_words() {
    let home = Home::new();
    let said = "sentences of a receiver are broken between their words, neither within one nor \
                somewhere else, and nothing of them is lost";
    let to = text_receiver(said).url("/");
    let one = lines(&home, &["webhook", "trigger", &to, "--secret-file", "secret.txt"], 0);
    let mut listener = Listener::start(&home, &[]);
    let second = ("x-service-signature", &b"t=1,v1=00"[..]);
    assert_eq!(listener.send("/hook", &[second], body(ID).as_bytes()), 200);
    assert_eq!(listener.end(), Some(0));
    let shown = lines(&home, &["webhook", "events", "show"], 0);
    let found = "X-Service-Signature does not have the form t=<digits>,v1=<64 hex digits>, or occurs twice.";
    for (lines, told) in [(one, said), (shown, found)] {
        let begins = lines.iter().position(|line| line.contains(words(told)[0])).unwrap();
        let shown: Vec<_> = lines[begins..].iter().flat_map(|line| words(line)).collect();
        assert!(shown.join(" ").contains(told), "{lines:#?}");
        assert!(lines[begins + 1].starts_with("     "), "the wrapped text is aligned: {lines:#?}");
    }
}

#[test]
fn verdict_has_a_color() {
    let home = Home::new();
    let mut listener = Listener::start(&home, &[]);
    assert_eq!(listener.deliver(body(ID).as_bytes()), 200);
    assert_eq!(listener.deliver(b"no event"), 200);
    let second = ("x-service-signature", &b"t=1,v1=00"[..]);
    assert_eq!(listener.send("/hook", &[second], body(ID).as_bytes()), 200);
    assert_eq!(listener.end(), Some(0));
    let args = ["webhook", "events", "tail", "--count", "3", "--color", "always"];
    let shown = home.succeed(&[&args[..], &["--output", "table"]].concat());
    for (look, verdict) in
        [(32, "✓ valid 0s"), (31, "✗ bad event 0s"), (31, "✗ malformed signature")]
    {
        let painted = format!("\u{1b}[{look}m{verdict}\u{1b}[0m");
        assert!(shown.contains(&painted), "{verdict}: {shown:?}");
    }
}

#[test]
fn non_event_body_shows_the_reason() {
    let home = Home::new();
    let mut listener = Listener::start(&home, &[]);
    assert_eq!(listener.deliver(b"no event"), 200);
    assert_eq!(listener.end(), Some(0));
    let shown = lines_in(160, &home, &["webhook", "events", "show"], 0).join("\n");
    let why = "not a valid event: ";
    assert!(shown.contains(why), "{shown}");
}

#[test]
fn response_of_a_single_delivery_is_printed_once() {
    let home = Home::new();
    let target = Recorder::start(std::sync::Arc::new(|_, _| {
        Some(super::recorder::answer(500, "", "said-by-the-receiver"))
    }));
    let to = target.url("/");
    let sent = home.run(&["webhook", "trigger", &to, "--secret-file", "secret.txt"]);
    assert_eq!(sent.code, Some(11), "{}", sent.stderr);
    let both = format!("{}{}", sent.stdout, sent.stderr);
    assert_eq!(both.matches("said-by-the-receiver").count(), 1, "{both}");
}

#[test]
fn summary_begins_on_its_own_line_after_ctrl_c() {
    let home = Home::new();
    let mut command = home.formsvc(&["webhook", "listen", "--port", "0", "--no-store"]);
    command.env("TERM", "xterm-256color").env("FORMSVC_SIGNING_SECRET_FILE", "secret.txt");
    let mut terminal = Terminal::start(command, (80, 24));
    terminal.wait_for("ready: listening");
    terminal.wait_until("the complete startup messages", |terminal| {
        // The cursor is then at the beginning of a line, where the terminal echoes `^C`.
        terminal.screen().contains("keeps deliveries in memory")
            && terminal.emulated().cursor_position().1 == 0
    });
    terminal.send(CTRL_C);
    assert_eq!(terminal.finish(), Some(0));
    let lines = terminal.lines();
    assert!(lines.iter().any(|line| line == "^C"), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("no delivery arrived")), "{lines:?}");
}
