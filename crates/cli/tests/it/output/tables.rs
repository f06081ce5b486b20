//! Tables in windows of all sizes.

use std::process::Stdio;

use unicode_width::UnicodeWidthStr;

use super::{titled, window};
use crate::support::{formsvc, succeed};
use crate::terminal::Terminal;

const NASTY: &[&str] = &[
    "plain",
    "a title that goes on for so long that it fits into no window that anybody would open, ever, on any screen there is, and then some more of it until it is over two hundred characters long, which it is by now",
    "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字",
    "👨‍👩‍👧‍👦 family 👍🏽 ❤️ 🇩🇪 emoji 👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦",
    "e\u{301}\u{302}\u{303}e\u{301}\u{302}\u{303}e\u{301} combining",
    "tab\there\tand\nline\r\nbreaks\u{b}\u{c}",
    "",
    "\u{202e}txt.exe\u{2066}",
];

#[test]
fn row_is_one_line_in_every_window() {
    let service = titled(NASTY);
    for width in [20, 40, 80, 200] {
        let mut command = service.formsvc(&["forms", "list"]);
        command.env("TERM", "xterm");
        // Only the data is on the screen.
        let mut terminal =
            Terminal::beside(command, (width, 40), |command| command.stderr(Stdio::null()));
        assert_eq!(terminal.finish(), Some(0));
        let lines = terminal.lines();
        assert_eq!(lines.len(), NASTY.len() + 1, "{width}:\n{}", terminal.screen());
        for (at, line) in lines.iter().skip(1).enumerate() {
            // The id is the first column, and is truncated only in a narrower terminal.
            let id = format!("frm_{at:032}");
            let first = line.split(' ').next().unwrap_or_default();
            assert!(first == id || width < 36 && first.ends_with('…'), "{width}: {line}");
            assert!(line.width() <= usize::from(width), "{width}: {line}");
        }
    }
}

#[test]
fn dropped_columns_are_reported_on_standard_error() {
    let service = titled(&["x"]);
    let mut terminal = window(service.formsvc(&["forms", "list"]), (40, 24));
    assert_eq!(terminal.finish(), Some(0));
    assert!(
        terminal.screen().contains("columns: --output csv prints all"),
        "{}",
        terminal.screen()
    );
    let mut terminal = window(service.formsvc(&["forms", "list", "-q"]), (40, 24));
    assert_eq!((terminal.finish(), terminal.lines().len()), (Some(0), 2));
    let said =
        service.formsvc(&["forms", "list", "--output", "table"]).env("COLUMNS", "40").output();
    let said = crate::support::Said::from(said.unwrap());
    assert!(said.stdout.lines().all(|line| line.chars().count() <= 40), "{}", said.stdout);
    assert!(!said.stdout.contains("columns:") && said.stderr.contains("columns: --output csv"));
}

#[test]
fn dropped_columns_are_named_as_json_accepts_them() {
    let list = ["--demo", "webhook", "events", "list"];
    let mut terminal = window(formsvc(&list), (80, 24));
    assert_eq!(terminal.finish(), Some(0));
    let screen = terminal.screen();
    let (_, fields) = screen.split_once("columns: --json ").expect(&screen);
    assert!(fields.starts_with("capture,"), "{screen}");
    let typed = [&list[..], &["--json", fields.trim()]].concat();
    assert!(succeed(&typed).contains("\"capture\":"));
}

#[test]
fn times_are_relative_on_a_terminal_and_rfc_3339_elsewhere() {
    let service = titled(&["x"]);
    let mut terminal = window(service.formsvc(&["forms", "list"]), (120, 24));
    assert_eq!(terminal.finish(), Some(0));
    assert!(terminal.screen().contains(" ago  "), "{}", terminal.screen());
    let mut view = window(service.formsvc(&["forms", "view", "form0"]), (120, 24));
    assert_eq!(view.finish(), Some(0));
    assert!(view.screen().contains(" 2026-01-01T00:00:00.000Z ("), "{}", view.screen());
    for output in ["table", "tsv", "csv", "json"] {
        let said = service.run(&["forms", "list", "--output", output]);
        let exact = said.stdout.contains("2026-01-01T00:00:00.000Z");
        assert!(exact && !said.stdout.contains("ago"), "{output}: {}", said.stdout);
    }
}
