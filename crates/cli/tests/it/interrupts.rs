//! One or two interruptions by Ctrl-C in the terminal, or by signals of another process.
//!
//! After the first signal, a command stops at its next wait and leaves no partial file. A command
//! inside a blocking read or write gets a grace period. The second signal ends it at once.

use std::cell::RefCell;
use std::io::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Canned, entries, formsvc, one_form, page, signal, wait_until_inside, within};
use crate::terminal::{CTRL_C, Terminal};

/// The grace period of a command after the first signal (`GRACE` in `run.rs`). A blocked command
/// that receives no second signal runs at least this long.
const GRACE: Duration = Duration::from_secs(2);

/// The source of an interruption.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// Ctrl-C in the terminal.
    Typing,
    /// `kill` with this signal name.
    Kill(&'static str),
}

const SOURCES: [Source; 3] = [Source::Typing, Source::Kill("INT"), Source::Kill("TERM")];

impl Source {
    fn interrupt(self, terminal: &mut Terminal) {
        match self {
            Source::Typing => terminal.send(CTRL_C),
            Source::Kill(name) => signal(terminal.child(), name),
        }
    }

    fn code(self) -> i32 {
        if matches!(self, Source::Kill("TERM")) { 143 } else { 130 }
    }
}

const ROW: &str = r#"{"id":"sub_1","data":{"A":1},"created_at":"2026-01-01T00:00:01.000Z"}"#;

#[test]
fn first_signal_ends_an_export_and_keeps_the_old_file() {
    for source in SOURCES {
        for before in [None, Some("what was there\n")] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("survey.csv");
            if let Some(before) = before {
                std::fs::write(&path, before).unwrap();
            }
            // The service reports another page and never sends it.
            let service =
                Canned::start(vec![one_form(), page(ROW, Some("2026-01-01T00:00:01.000Z")), None]);
            let out = path.to_str().unwrap();
            let args = ["submissions", "export", "survey", "-o", out];
            let mut terminal = Terminal::start(service.formsvc(&args), (80, 24));
            (0..3).for_each(|_| drop(service.request()));
            assert!(entries(folder.path()).len() > usize::from(before.is_some()), "none began");
            source.interrupt(&mut terminal);
            assert_eq!(
                terminal.finish(),
                Some(source.code()),
                "{source:?}:\n{}",
                terminal.screen()
            );
            terminal.assert_restored();
            let left = entries(folder.path());
            assert_eq!(left.len(), usize::from(before.is_some()), "{source:?}: {left:?}");
            assert_eq!(std::fs::read_to_string(&path).ok().as_deref(), before, "{source:?}");
        }
    }
}

#[test]
fn first_signal_ends_a_tail() {
    for source in SOURCES {
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
            source.interrupt(&mut terminal);
            assert_eq!(
                terminal.finish(),
                Some(source.code()),
                "{source:?}:\n{}",
                terminal.screen()
            );
            terminal.assert_restored();
            assert!(terminal.screen().contains("--after sub_1"), "{}", terminal.screen());
        }
    }
}

#[test]
fn first_signal_ends_a_prompt_and_restores_the_terminal() {
    for source in SOURCES {
        let folder = tempfile::tempdir().unwrap();
        let mut login = formsvc(&["auth", "login", "--base-url", "http://127.0.0.1:9"]);
        login.env("HOME", folder.path());
        let mut terminal = Terminal::start(login, (80, 24));
        terminal.wait_for("API key");
        terminal.wait_until_hidden();
        source.interrupt(&mut terminal);
        assert_eq!(terminal.finish(), Some(source.code()), "{source:?}:\n{}", terminal.screen());
        terminal.assert_restored();
        assert!(entries(folder.path()).is_empty(), "{:?}", entries(folder.path()));
    }
}

/// Waits until the process has handled the first signal: its main thread then waits with the grace
/// period as the timeout. Two signals that arrive together may count as one.
fn wait_until_grace_period(terminal: &mut Terminal) {
    let id = terminal.child().id();
    let inside = format!("/proc/{id}/task/{id}/syscall");
    within("the grace period", || {
        let call = std::fs::read_to_string(&inside).unwrap_or_default();
        let words: Vec<&str> = call.split(' ').collect();
        // `epoll_wait` in Linux notation (x86-64); its fourth argument is the timeout in ms.
        let time = words.get(4).and_then(|time| time.strip_prefix("0x"));
        let time = time.and_then(|time| u64::from_str_radix(time, 16).ok());
        words[0] == "232" && time.is_some_and(|time| time > 0 && time <= 2_001)
    });
}

/// Starts an export into a pipe without a reader, and waits until it blocks in a write.
fn blocked_export() -> Terminal {
    let command = formsvc(&["--demo", "submissions", "export", "randhie", "--quiet"]);
    let mut terminal =
        Terminal::beside(command, (80, 24), |command| command.stdout(Stdio::piped()));
    wait_until_inside(terminal.child(), "1 0x1 ");
    terminal
}

/// Interrupts an export two times. Returns the time from before the first signal to the end.
fn interrupt_twice(source: Source) -> Duration {
    let mut terminal = blocked_export();
    let since = Instant::now();
    source.interrupt(&mut terminal);
    wait_until_grace_period(&mut terminal);
    // A second signal shortly after the first one counts as the same signal.
    let first = Instant::now();
    within("the time between two signals", || first.elapsed() > Duration::from_millis(220));
    source.interrupt(&mut terminal);
    assert_eq!(terminal.finish(), Some(source.code()), "{source:?}:\n{}", terminal.screen());
    let took = since.elapsed();
    terminal.assert_restored();
    took
}

#[test]
fn second_signal_ends_a_blocked_command_at_once() {
    for source in SOURCES {
        // Without the second signal, every run lasts for the whole grace period. With it, a busy
        // machine can delay some runs, but not all.
        let mut took = (0..10).map(|_| interrupt_twice(source));
        assert!(took.any(|took| took < GRACE), "{source:?}");
    }
}

#[test]
fn first_signal_ends_a_blocked_write_after_the_grace_period() {
    for source in SOURCES {
        let mut terminal = blocked_export();
        let since = Instant::now();
        source.interrupt(&mut terminal);
        assert_eq!(terminal.finish(), Some(source.code()), "{source:?}:\n{}", terminal.screen());
        assert!(since.elapsed() >= GRACE, "{source:?}: no grace period");
        terminal.assert_restored();
    }
}

#[test]
fn signal_ends_a_command_if_stderr_is_full() {
    let (_reader, mut writer) = std::io::pipe().unwrap();
    // The capacity of a pipe on Linux.
    writer.write_all(&vec![b'x'; 64 << 10]).unwrap();
    let service = Canned::start(vec![None]);
    let mut command = service.formsvc(&["submissions", "export", "survey"]);
    let child = command.stdout(Stdio::null()).stderr(writer).spawn().unwrap();
    drop(service.request());
    signal(&child, "INT");
    let child = RefCell::new(child);
    within("the end of the process", || child.borrow_mut().try_wait().unwrap().is_some());
    assert_eq!(child.into_inner().wait().unwrap().code(), Some(130));
}

#[test]
fn first_signal_ends_a_blocked_read() {
    for source in SOURCES {
        let command = formsvc(&["me", "--base-url", "http://127.0.0.1:9", "--api-key-stdin"]);
        let mut terminal =
            Terminal::beside(command, (80, 24), |command| command.stdin(Stdio::piped()));
        wait_until_inside(terminal.child(), "0 0x0 ");
        source.interrupt(&mut terminal);
        assert_eq!(terminal.finish(), Some(source.code()), "{source:?}:\n{}", terminal.screen());
        terminal.assert_restored();
    }
}
