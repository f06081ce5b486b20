//! A panic while the terminal is taken, in a real one: it is told on a terminal that is as it was.
//!
//! What panics is a process of its own: this program of tests, told to run one test.

use std::io::Read;
use std::process::Command;
use std::thread;

use pty_process::Size;
use pty_process::blocking;
use rustix::termios::tcgetattr;

use crate::abort::Abort;
use crate::early::Early;
use crate::exit::Exit;
use crate::panics;
use crate::webhook::tui::terminal::{State, Terminal};

/// What the panics say, which may be anybody's data.
const SECRET: &str = "fsk_SECRETSECRETSECRET";
/// Says that the process is one of those, and what panics.
const ASKED: &str = "PANIC_WITH_A_TERMINAL";

/// Does nothing unless it runs in a process that was started for it.
#[test]
#[expect(clippy::exit, reason = "a code of ours ends the process, and no verdict on a test")]
fn ends_as_a_run_does() {
    let Ok(on) = std::env::var(ASKED) else { return };
    panics::tell(Early::of(&[], &|_| None));
    let exit = panics::caught(|| {
        let terminal = Terminal::take(&Abort::default()).unwrap();
        terminal.write("shown").unwrap();
        assert!(on != "itself", "{SECRET}");
        // As what runs elsewhere does: the interface goes on.
        let _ = thread::spawn(|| panic!("{SECRET}")).join();
        assert_eq!(terminal.state(), State::Away);
        terminal.enter().unwrap();
        terminal.write("shown again").unwrap();
        Exit::Done
    });
    std::process::exit(exit.code().into());
}

#[test]
fn a_panic_is_told_on_a_terminal_that_was_given_back() {
    for (on, code) in [("itself", 1), ("another", 0)] {
        let (mut pty, inner) = blocking::open().unwrap();
        pty.resize(Size::new(24, 80)).unwrap();
        let before = tcgetattr(&pty).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        let name = "webhook::tui::tests::panics::ends_as_a_run_does";
        command.args(["--exact", name, "--test-threads=1", "--nocapture"]).env(ASKED, on);
        let mut child = blocking::Command::from(command).spawn(inner).unwrap();
        let (mut raw, mut bytes) = (Vec::new(), [0; 4096]);
        // Its end is an error here: nobody is in the terminal any more.
        while let Ok(read @ 1..) = pty.read(&mut bytes) {
            raw.extend_from_slice(&bytes[..read]);
        }
        assert_eq!(child.wait().unwrap().code(), Some(code), "{on}");
        let raw = String::from_utf8(raw).unwrap();
        let at = |text: &str| raw.find(text).unwrap_or_else(|| panic!("no {text:?} in {raw:?}"));
        assert!(at("\u{1b}[?1049h") < at("shown") && at("shown") < at("\u{1b}[?1049l"), "{raw:?}");
        assert!(at("\u{1b}[?1049l") < at("this is a bug in formsvc"), "{raw:?}");
        assert_eq!(raw.contains("shown again"), on == "another");
        assert!(raw.rfind("\u{1b}[?1049l") > raw.rfind("\u{1b}[?1049h"), "{raw:?}");
        assert!(!raw.contains(SECRET), "{raw:?}");
        assert_eq!(format!("{:?}", tcgetattr(&pty).unwrap()), format!("{before:?}"), "{on}");
    }
}
