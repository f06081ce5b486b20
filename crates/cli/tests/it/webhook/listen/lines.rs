//! The lines for people: what stands in them, how wide they are, and that nothing in them acts.

use std::process::Command;

use super::listener::{Listener, OTHER_SECRET, SECRET, event, request, signature, without_age};
use crate::support::formsvc;
use crate::terminal::Terminal;

/// What somebody may have typed into a form, as JSON has it.
const HOSTILE: &str =
    "\\u001b]0;owned\\u0007\\u001b[2J\\u001b[31mred\\r\\nforged line\\u202egpj.exe";

/// A listener in a terminal, and where it listens.
fn in_terminal(columns: u16, env: &[(&str, &str)], args: &[&str]) -> (Terminal, String) {
    in_terminal_with(columns, env, &[&["--no-store"], args].concat())
}

/// One that keeps what comes.
fn in_terminal_with(columns: u16, env: &[(&str, &str)], args: &[&str]) -> (Terminal, String) {
    let args = [&["webhook", "listen", "--port", "0"], args].concat();
    let mut command: Command = formsvc(&args);
    command.env("FORMSVC_SIGNING_SECRET", SECRET).env("TERM", "xterm-256color");
    command.envs(env.iter().copied());
    let mut terminal = Terminal::start(command, (columns, 30));
    terminal.wait_for("Ctrl-C stops it");
    let text: String = terminal.screen().split_whitespace().collect::<Vec<_>>().join(" ");
    let url = text.split("http://").nth(1).unwrap().split('/').next().unwrap();
    (terminal, url.to_owned())
}

fn send(address: &str, request: &[u8]) {
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    std::io::Write::write_all(&mut stream, request).unwrap();
    super::listener::read(&mut stream);
}

#[test]
fn a_line_tells_what_came_and_how_it_was_answered() {
    let listener = Listener::start(&[]);
    let body = event("sub_1");
    let twice = [listener.deliver(&body), listener.deliver(&body)];
    assert!(twice.iter().all(|answer| answer.status() == 200));
    listener.post(&signature(OTHER_SECRET, 0, &body), &body);
    let said = listener.terminate();
    let lines: Vec<_> = said.stdout.lines().collect();
    let size = format!("{} B", body.len());
    let (time, rest) = lines[0].split_at(8);
    assert!(time.bytes().filter(u8::is_ascii_digit).count() == 6, "{time}");
    let first = format!(" POST / submission.created sub_1 {size} ✓ valid → 200 ");
    let rest = without_age(rest);
    assert!(rest.starts_with(&first) && rest.ends_with("ms"), "{rest}");
    assert!(without_age(lines[1]).contains(" ✓ valid duplicate +"), "{}", lines[1]);
    assert!(lines[2].contains(" ✗ signature mismatch → 401 "), "{}", lines[2]);
    assert!(lines[3].starts_with("         hint: "), "{}", lines[3]);
    assert_eq!(lines.len(), 4, "{lines:?}");
}

#[test]
fn with_quiet_nothing_is_said_and_json_is_still_told() {
    let run = |args: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let ready = folder.path().join("ready.json");
        let mut command = formsvc(&["--quiet", "webhook", "listen", "--port=0", "--once"]);
        command.arg("--no-store").args(args).arg("--ready-file").arg(&ready);
        command.env("FORMSVC_SIGNING_SECRET", SECRET);
        let command = command.stdout(std::process::Stdio::piped());
        let child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
        crate::support::within("a ready file", || ready.exists());
        let told: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(&ready).unwrap()).unwrap();
        let url = told["url"].as_str().unwrap().to_owned();
        let body = event("sub_1");
        let address = url.trim_start_matches("http://").trim_end_matches('/');
        send(address, &request("/", &signature(SECRET, 0, &body), &body));
        crate::support::Said::from(child.wait_with_output().unwrap())
    };
    let said = run(&[]);
    assert_eq!((said.code, &*said.stdout, &*said.stderr), (Some(0), "", ""));
    let said = run(&["--output", "ndjson"]);
    assert_eq!((said.stdout.lines().count(), &*said.stderr), (3, ""), "{}", said.stdout);
}

#[test]
fn lines_fit_their_window_and_ids_of_the_service_are_whole() {
    let id = "sub_0123456789abcdef0123456789abcdef";
    let long = format!("sub_{}", "0123456789abcdef".repeat(6));
    for (id, shown) in [(id, id), (&long, "sub_…")] {
        let body = event(id);
        let (mut terminal, address) = in_terminal(80, &[], &["--respond", "503,200"]);
        for _ in 0..2 {
            send(&address, &request("/a/path/that/is/long", &signature(SECRET, 0, &body), &body));
        }
        terminal.wait_for("→ 200 (injected)");
        let screen = terminal.lines();
        let begin = screen.iter().position(|line| line.contains("POST")).unwrap();
        let told = &screen[begin..];
        assert!(told.iter().all(|line| line.chars().count() <= 80), "{told:#?}");
        let ids = told.iter().filter(|line| line.contains(shown) && line.contains("abcdef"));
        assert_eq!(ids.count(), 2, "{told:#?}");
        let ends = told.iter().filter(|line| line.contains("valid") && line.ends_with("ms"));
        assert_eq!(ends.count(), 2, "a line is broken: {told:#?}");
        terminal.send(crate::terminal::CTRL_C);
        assert_eq!(terminal.finish(), Some(0));
        terminal.assert_restored();
    }
}

#[test]
fn what_is_said_is_folded_to_the_window_and_names_each_capture() {
    let state = tempfile::tempdir().unwrap();
    let dead = crate::support::closed_address();
    let target = format!("http://{dead}/hook/of/somebody/with/a/path");
    let env = [("FORMSVC_STATE_DIR", state.path().to_str().unwrap())];
    let (mut terminal, address) = in_terminal_with(80, &env, &["--forward-to", &target]);
    let body = event("sub_0123456789abcdef0123456789abcdef");
    let right = signature(SECRET, 0, &body);
    for header in [&right, &right, &signature(OTHER_SECRET, 0, &body)] {
        send(&address, &request("/hooks", header, &body));
    }
    terminal.wait_for("finds the cause");
    terminal.send(crate::terminal::CTRL_C);
    terminal.wait_for("2 forwards without a response");
    let rows = terminal.lines();
    let deliveries: Vec<_> = rows.iter().filter(|row| row.contains(" #")).collect();
    assert_eq!(deliveries.len(), 3, "{rows:#?}");
    for (at, row) in deliveries.iter().enumerate() {
        let begin = format!(" #{} POST /hooks submission.created", at + 1);
        assert!(row[8..].starts_with(&begin), "{row}");
    }
    let hint = "         hint: `formsvc webhook verify --capture 3 --explain` finds the cause";
    assert!(rows.iter().any(|row| row == hint), "{rows:#?}");
    // What a terminal breaks is broken within a word somewhere.
    let words: Vec<_> = rows.iter().flat_map(|row| row.split_whitespace()).collect();
    let said = words.join(" ");
    for told in [
        "verifies with the secret FORMSVC_SIGNING_SECRET",
        &format!("forwards to {target} stores captures in {}/webhook", env[0].1),
        &format!("{target}: nothing listens on {dead}: is your server running?"),
    ] {
        assert!(said.contains(told), "no {told:?}: {rows:#?}");
    }
    assert_eq!(terminal.finish(), Some(0));
}

#[test]
fn nothing_a_stranger_sends_acts_on_a_terminal() {
    let body = event(HOSTILE).replace("submission.created", HOSTILE).replace("frm_1", HOSTILE);
    for args in [&[][..], &["--output", "ndjson"], &["--jq", ".event"]] {
        for env in [&[][..], &[("NO_COLOR", "1")]] {
            let (mut terminal, address) = in_terminal(80, env, args);
            let target = "/%1b[2J\u{9b}2J";
            send(&address, &request("/", &signature(SECRET, 0, &body), &body));
            send(&address, &request(target, "", &body));
            terminal.wait_for("gpj.exe");
            terminal.send(crate::terminal::CTRL_C);
            assert_eq!(terminal.finish(), Some(0));
            let raw = String::from_utf8_lossy(terminal.raw()).into_owned();
            let painted = raw.contains('\u{1b}');
            assert_eq!(painted, env.is_empty() && args.is_empty(), "{args:?} {env:?}: {raw:?}");
            let text = anstream::adapter::strip_str(&raw).to_string();
            // Of the colours nothing but colours is left out.
            assert!(!raw.contains("\u{1b}]") && !raw.contains("\u{1b}[2J"), "{raw:?}");
            let acts = |c: char| c.is_control() && !matches!(c, '\n' | '\r') || c == '\u{202e}';
            assert!(!text.contains(acts), "{args:?}: {text:?}");
            let forged = text.lines().any(|line| line.starts_with("forged"));
            // What jq makes of a text has the text's own lines.
            assert!(!forged || args.contains(&"--jq"), "{args:?}: {text}");
        }
    }
}

#[test]
fn off_a_terminal_there_is_no_paint_unless_it_is_asked_for() {
    for (flags, env, painted) in [
        (&[][..], &[][..], false),
        (&["--color", "always"], &[], true),
        (&["--color", "always", "--output", "ndjson"], &[], false),
        (&[], &[("CLICOLOR_FORCE", "1")], true),
        (&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
    ] {
        let listener =
            Listener::with(flags, |command| command.arg("--no-store").envs(env.iter().copied()));
        listener.post("", &event(HOSTILE));
        let said = listener.terminate();
        let escapes = said.stdout.contains('\u{1b}');
        assert_eq!(escapes, painted, "{flags:?} {env:?}: {}", said.stdout);
        assert!(!said.stdout.contains("\u{1b}[2J") && !said.stdout.contains('\u{7}'));
    }
}
