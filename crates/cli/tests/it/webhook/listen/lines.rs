//! The lines on a terminal: content, width and sanitized text.

use std::process::Command;

use super::listener::{Listener, OTHER_SECRET, SECRET, event, request, signature, without_age};
use crate::support::formsvc;
use crate::terminal::Terminal;

/// Control characters that a form could contain, as JSON escapes.
const HOSTILE: &str =
    "\\u001b]0;owned\\u0007\\u001b[2J\\u001b[31mred\\r\\nforged line\\u202egpj.exe";

/// Starts a listener without a store in a terminal. Returns the terminal and the address of the
/// listener.
fn in_terminal(columns: u16, env: &[(&str, &str)], args: &[&str]) -> (Terminal, String) {
    in_terminal_with(columns, env, &[&["--no-store"], args].concat())
}

/// Starts a listener in a terminal. Returns the terminal and the address of the listener.
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
fn line_has_the_delivery_its_verdict_and_the_response() {
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
    let first = format!(" POST / sub_1 {size} ✓ valid → 200 ");
    let rest = without_age(rest);
    assert!(rest.starts_with(&first) && rest.ends_with("ms"), "{rest}");
    assert!(without_age(lines[1]).contains(" ✓ valid duplicate +"), "{}", lines[1]);
    assert!(lines[2].contains(" ✗ signature mismatch → 401 "), "{}", lines[2]);
    assert!(lines[3].starts_with("         hint: "), "{}", lines[3]);
    assert_eq!(lines.len(), 4, "{lines:?}");
}

#[test]
fn quiet_prints_nothing_except_ndjson() {
    let run = |args: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let ready = folder.path().join("ready.json");
        let mut command = formsvc(&["--quiet", "webhook", "listen", "--port=0", "--count=1"]);
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
fn lines_fit_80_columns_with_complete_service_ids() {
    let id = "sub_0123456789abcdef0123456789abcdef";
    let long = format!("sub_{}", "0123456789abcdef".repeat(6));
    for (id, shown) in [(id, id), (&long, "sub_0123")] {
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
        assert!(told.iter().any(|line| line.ends_with("ms")), "{told:#?}");
        terminal.send(crate::terminal::CTRL_C);
        assert_eq!(terminal.finish(), Some(0));
        terminal.assert_restored();
    }
}

#[test]
fn messages_are_wrapped_and_lines_have_capture_numbers() {
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
    terminal.wait_for("responses: 401 ×1, 502 ×2");
    let rows = terminal.lines();
    let deliveries: Vec<_> = rows.iter().filter(|row| row.contains(" #")).collect();
    assert_eq!(deliveries.len(), 3, "{rows:#?}");
    for (at, row) in deliveries.iter().enumerate() {
        let begin = format!(" #{} POST /hooks sub_0123", at + 1);
        assert!(row[8..].starts_with(&begin), "{row}");
    }
    let hint = "         hint: `formsvc webhook verify --capture 3 --explain` finds the cause";
    assert!(rows.iter().any(|row| row == hint), "{rows:#?}");
    // The test compares words, because the terminal may wrap lines anywhere between them.
    let words: Vec<_> = rows.iter().flat_map(|row| row.split_whitespace()).collect();
    let said = words.join(" ");
    for told in [
        "verifies with the secret `FORMSVC_SIGNING_SECRET`",
        &format!("forwards to {target} stores captures in {}/webhook", env[0].1),
        &format!("{target}: nothing listens on {dead}: is your server running?"),
    ] {
        assert!(said.contains(told), "no {told:?}: {rows:#?}");
    }
    assert_eq!(terminal.finish(), Some(0));
}

#[test]
fn hostile_delivery_is_sanitized_on_a_terminal() {
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
            let has_colors = raw.contains('\u{1b}');
            assert_eq!(has_colors, env.is_empty() && args.is_empty(), "{args:?} {env:?}: {raw:?}");
            let text = anstream::adapter::strip_str(&raw).to_string();
            // Only color sequences were removed, so other sequences would still be visible.
            assert!(!raw.contains("\u{1b}]") && !raw.contains("\u{1b}[2J"), "{raw:?}");
            let is_unsafe =
                |c: char| c.is_control() && !matches!(c, '\n' | '\r') || c == '\u{202e}';
            assert!(!text.contains(is_unsafe), "{args:?}: {text:?}");
            let forged = text.lines().any(|line| line.starts_with("forged"));
            // Results of `--jq` may contain line feeds of the delivery.
            assert!(!forged || args.contains(&"--jq"), "{args:?}: {text}");
        }
    }
}

#[test]
fn colors_in_a_pipe_need_a_flag_or_variable() {
    for (flags, env, has_colors) in [
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
        assert_eq!(escapes, has_colors, "{flags:?} {env:?}: {}", said.stdout);
        assert!(!said.stdout.contains("\u{1b}[2J") && !said.stdout.contains('\u{7}'));
    }
}
