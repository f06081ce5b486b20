//! Ctrl-C, once and twice: typed in a terminal, and sent by another program.
//!
//! Once, a command ends where it waits, and leaves nothing half done. One that is inside a read or a
//! write that does not end is given a while; twice, it ends at once.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Canned, entries, formsvc, one_form, page, signal, wait_until_inside, within};
use crate::terminal::{CTRL_C, Terminal};

/// How long a command has to end by itself (`GRACE` in `run.rs`): without a second signal, a run that
/// cannot end takes no less.
const GRACE: Duration = Duration::from_secs(2);

/// Who interrupts.
#[derive(Clone, Copy, Debug)]
enum By {
    /// Ctrl-C in the terminal.
    Typing,
    /// `kill`, with a signal by name.
    Kill(&'static str),
}

const ALL: [By; 3] = [By::Typing, By::Kill("INT"), By::Kill("TERM")];

impl By {
    fn interrupt(self, terminal: &mut Terminal) {
        match self {
            By::Typing => terminal.send(CTRL_C),
            By::Kill(name) => signal(terminal.child(), name),
        }
    }

    fn code(self) -> i32 {
        if matches!(self, By::Kill("TERM")) { 143 } else { 130 }
    }
}

const ROW: &str = r#"{"id":"sub_1","data":{"A":1},"created_at":"2026-01-01T00:00:01.000Z"}"#;

#[test]
fn once_it_ends_an_export_and_leaves_no_file_and_the_one_before_as_it_was() {
    for by in ALL {
        for before in [None, Some("what was there\n")] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("survey.csv");
            if let Some(before) = before {
                std::fs::write(&path, before).unwrap();
            }
            // There is more, and it does not come.
            let service =
                Canned::start(vec![one_form(), page(ROW, Some("2026-01-01T00:00:01.000Z")), None]);
            let out = path.to_str().unwrap();
            let args = ["submissions", "export", "survey", "-o", out];
            let mut terminal = Terminal::start(service.formsvc(&args), (80, 24));
            (0..3).for_each(|_| drop(service.request()));
            assert!(entries(folder.path()).len() > usize::from(before.is_some()), "none began");
            by.interrupt(&mut terminal);
            assert_eq!(terminal.finish(), Some(by.code()), "{by:?}:\n{}", terminal.screen());
            terminal.assert_restored();
            let left = entries(folder.path());
            assert_eq!(left.len(), usize::from(before.is_some()), "{by:?}: {left:?}");
            assert_eq!(std::fs::read_to_string(&path).ok().as_deref(), before, "{by:?}");
        }
    }
}

#[test]
fn once_it_ends_a_tail_that_waits_and_one_that_asks() {
    for by in ALL {
        for silent in [false, true] {
            let mut answers = vec![one_form(), page(ROW, None)];
            answers.extend(silent.then_some(None));
            let service = Canned::start(answers);
            let interval = if silent { "10ms" } else { "1h" };
            let args = ["submissions", "tail", "survey", "--interval", interval];
            let command = service.formsvc(&[&args[..], &["--max-rate", "off"]].concat());
            let mut terminal = Terminal::start(command, (100, 24));
            terminal.wait_for("A: 1");
            (0..2 + usize::from(silent)).for_each(|_| drop(service.request()));
            by.interrupt(&mut terminal);
            assert_eq!(terminal.finish(), Some(by.code()), "{by:?}:\n{}", terminal.screen());
            terminal.assert_restored();
            assert!(terminal.screen().contains("--after sub_1"), "{}", terminal.screen());
        }
    }
}

#[test]
fn once_it_ends_a_prompt_and_gives_the_terminal_back() {
    for by in ALL {
        let folder = tempfile::tempdir().unwrap();
        let mut login = formsvc(&["auth", "login", "--base-url", "http://127.0.0.1:9"]);
        login.env("HOME", folder.path());
        let mut terminal = Terminal::start(login, (80, 24));
        terminal.wait_for("API key");
        terminal.wait_until_hidden();
        by.interrupt(&mut terminal);
        assert_eq!(terminal.finish(), Some(by.code()), "{by:?}:\n{}", terminal.screen());
        terminal.assert_restored();
        assert!(entries(folder.path()).is_empty(), "{:?}", entries(folder.path()));
    }
}

/// Waits until the first signal has been taken: the main thread waits no longer for ever, but until
/// the grace is over. Two signals that are sent at once may count as one.
fn wait_until_graced(terminal: &mut Terminal) {
    let id = terminal.child().id();
    let inside = format!("/proc/{id}/task/{id}/syscall");
    within("the wait for the grace", || {
        let call = std::fs::read_to_string(&inside).unwrap_or_default();
        let words: Vec<&str> = call.split(' ').collect();
        // `epoll_wait` in the words of Linux (x86-64); its fourth argument is the time in ms.
        let time = words.get(4).and_then(|time| time.strip_prefix("0x"));
        let time = time.and_then(|time| u64::from_str_radix(time, 16).ok());
        words[0] == "232" && time.is_some_and(|time| time > 0 && time <= 2_001)
    });
}

/// An export to somebody who reads nothing of it, once it is inside a write that does not end.
fn stuck() -> Terminal {
    let command = formsvc(&["--demo", "submissions", "export", "randhie", "--quiet"]);
    let mut terminal =
        Terminal::beside(command, (80, 24), |command| command.stdout(Stdio::piped()));
    wait_until_inside(terminal.child(), "1 0x1 ");
    terminal
}

/// Interrupts it twice, and gives the time from before the first to its end.
fn twice(by: By) -> Duration {
    let mut terminal = stuck();
    let since = Instant::now();
    by.interrupt(&mut terminal);
    wait_until_graced(&mut terminal);
    // What comes at once is the same signal.
    let first = Instant::now();
    within("another signal's time", || first.elapsed() > Duration::from_millis(60));
    by.interrupt(&mut terminal);
    assert_eq!(terminal.finish(), Some(by.code()), "{by:?}:\n{}", terminal.screen());
    let took = since.elapsed();
    terminal.assert_restored();
    took
}

#[test]
fn twice_it_ends_at_once_what_cannot_end_by_itself() {
    for by in ALL {
        // One that waits for the grace takes it each time; a machine that is busy is not busy for so
        // long each time.
        let mut took = (0..10).map(|_| twice(by));
        assert!(took.any(|took| took < GRACE), "{by:?}");
    }
}

#[test]
fn once_it_ends_what_cannot_end_by_itself_after_the_grace() {
    for by in ALL {
        let mut terminal = stuck();
        let since = Instant::now();
        by.interrupt(&mut terminal);
        assert_eq!(terminal.finish(), Some(by.code()), "{by:?}:\n{}", terminal.screen());
        assert!(since.elapsed() >= GRACE, "{by:?}: it was given no time");
        terminal.assert_restored();
    }
}

#[test]
fn once_it_ends_a_read_of_what_nobody_types() {
    for by in ALL {
        let command = formsvc(&["me", "--base-url", "http://127.0.0.1:9", "--api-key-stdin"]);
        let mut terminal =
            Terminal::beside(command, (80, 24), |command| command.stdin(Stdio::piped()));
        wait_until_inside(terminal.child(), "0 0x0 ");
        by.interrupt(&mut terminal);
        assert_eq!(terminal.finish(), Some(by.code()), "{by:?}:\n{}", terminal.screen());
        terminal.assert_restored();
    }
}
