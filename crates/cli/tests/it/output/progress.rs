//! What is said while something takes long.

use crate::support::{Canned, answer};
use crate::terminal::{CTRL_C, Terminal};

/// A service that wants a minute of peace.
fn limited() -> Canned {
    Canned::start(vec![answer("429 Too Many Requests", "retry-after: 60\r\n", "{}")])
}

#[test]
fn a_wait_says_why_and_leaves_nothing_behind() {
    let service = limited();
    let mut command = service.formsvc(&["me"]);
    command.env("TERM", "xterm");
    let mut terminal = Terminal::start(command, (80, 24));
    terminal.wait_for("s for another try (status 429)");
    terminal.send(CTRL_C);
    assert_eq!(terminal.finish(), Some(130));
    assert!(!terminal.screen().contains("waiting"), "{}", terminal.screen());
    assert!(terminal.screen().contains("error: interrupted"), "{}", terminal.screen());
    terminal.assert_restored();
}

#[test]
fn nothing_moves_where_the_terminal_can_only_print() {
    let service = limited();
    for (term, quiet) in [("dumb", false), ("xterm", true)] {
        let mut command = service.formsvc(if quiet { &["me", "-q"] } else { &["me"] });
        command.env("TERM", term).env("NO_COLOR", "1");
        let mut terminal = Terminal::start(command, (80, 24));
        service.request();
        if !quiet {
            terminal.wait_for("s for another try (status 429)");
        }
        terminal.send(CTRL_C);
        assert_eq!(terminal.finish(), Some(130));
        let raw = String::from_utf8_lossy(terminal.raw()).into_owned();
        let alone = raw.replace("\r\n", "\n");
        assert!(!alone.contains('\r') && !raw.contains('\u{1b}'), "{term} {quiet}: {raw:?}");
        assert_eq!(raw.contains("waiting"), !quiet, "{term} {quiet}: {raw:?}");
    }
}
