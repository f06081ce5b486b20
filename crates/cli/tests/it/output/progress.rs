//! The progress line of slow commands.

use crate::processes;
use crate::support::{Canned, answer, one_form, page};
use crate::terminal::{CTRL_C, Terminal};

/// A service that requests a wait of one minute.
fn limited() -> Canned {
    Canned::start(vec![answer("429 Too Many Requests", "retry-after: 60\r\n", "{}")])
}

#[test]
fn wait_shows_its_reason_and_is_erased() {
    let service = limited();
    let mut command = service.formsvc(&["me"]);
    command.env("TERM", "xterm");
    let mut terminal = Terminal::start(command, (80, 24));
    terminal.wait_for("s for the service's rate limit (status 429)");
    terminal.send(CTRL_C);
    assert_eq!(terminal.finish(), Some(130));
    assert!(!terminal.screen().contains("waiting"), "{}", terminal.screen());
    assert!(terminal.screen().contains("error: interrupted"), "{}", terminal.screen());
    terminal.assert_restored();
}

#[test]
fn dumb_terminal_or_quiet_has_no_moving_progress_line() {
    let service = limited();
    for (term, quiet) in [("dumb", false), ("xterm", true)] {
        let mut command = service.formsvc(if quiet { &["me", "-q"] } else { &["me"] });
        command.env("TERM", term).env("NO_COLOR", "1");
        let mut terminal = Terminal::start(command, (80, 24));
        service.request();
        if !quiet {
            terminal.wait_for("s for the service's rate limit (status 429)");
        }
        terminal.send(CTRL_C);
        assert_eq!(terminal.finish(), Some(130));
        let raw = String::from_utf8_lossy(terminal.raw()).into_owned();
        let alone = raw.replace("\r\n", "\n");
        assert!(!alone.contains('\r') && !raw.contains('\u{1b}'), "{term} {quiet}: {raw:?}");
        assert_eq!(raw.contains("waiting"), !quiet, "{term} {quiet}: {raw:?}");
    }
}

#[test]
fn progress_line_does_not_mix_with_pipe_reader_output() {
    // The row is longer than any output buffer.
    let long = "a".repeat(1 << 20);
    let row = |n| {
        let data = format!(r#""data":{{"a":"{long}"}},"created_at":"2026-01-01T00:00:00.00{n}Z""#);
        format!(r#"{{"id":"sub_{n}",{data}}}"#)
    };
    let busy = |s| answer("429 Too Many Requests", &format!("retry-after: {s}\r\n"), "{}");
    let first = page(&row(2), Some("2026-01-01T00:00:00.002Z"));
    // The second page repeats the last row of the first one.
    let second = page(&[row(2), row(1)].join(","), None);
    let pages = vec![busy(1), one_form(), first, busy(1), second];
    let service = Canned::start(pages);
    let export = service.formsvc(&["submissions", "export", "survey", "--format", "ndjson"]);
    let mut piped = processes::command("sh");
    piped.args(["-c", r#""$0" "$@" | { head -c 20; echo; cat > /dev/null; }"#]);
    piped.arg(export.get_program()).args(export.get_args());
    piped.env_clear().env("TERM", "xterm").env("PATH", "/usr/bin:/bin");
    for (name, value) in export.get_envs() {
        piped.env(name, value.unwrap_or_default());
    }
    let mut terminal = Terminal::start(piped, (80, 24));
    // The line is drawn before there is data, and removed when data comes.
    terminal.wait_for("for the service's rate limit (status 429)");
    let start = r#"{"id":"sub_2","data""#;
    terminal.wait_for(start);
    assert_eq!(terminal.finish(), Some(0));
    let screen = terminal.screen();
    let lines: Vec<&str> = screen.lines().map(str::trim_end).collect();
    assert_eq!(lines[0], start, "{screen}");
    assert!(lines[1].starts_with("2 submissions in "), "{screen}");
}
