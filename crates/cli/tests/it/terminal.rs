//! The binary in a real terminal.
//!
//! A [`Terminal`] is a pseudo-terminal of the kernel that runs a program. The program sees the same
//! as in a user's terminal window: three streams that are terminals, a size, an echo, and Ctrl-C as
//! a signal. A terminal emulator interprets the output, so that a test can check the text on the
//! screen. The raw bytes are stored too.
//!
//! ```ignore
//! let mut terminal = Terminal::start(formsvc(&["auth", "login"]), (80, 24));
//! terminal.wait_for("API key:");
//! terminal.send("fsk_…\n");
//! assert_eq!(terminal.finish(), Some(0));
//! assert!(terminal.screen().contains("signed in"));
//! ```
//!
//! Commands come from `support::formsvc`, with an empty environment. A test that needs `TERM`,
//! `PAGER` or `HOME` sets it. [`Terminal::beside`] redirects a stream, as in `formsvc … > file`.
//! Tests wait for output or for the end of the program, without sleeping. A wait longer than
//! [`PATIENCE`] fails the test, which then prints the screen.
//! within [`PATIENCE`] fails the test, which then shows the screen.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Instant;

use pty_process::Size;
use pty_process::blocking::{Command as InTerminal, Pty};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::processes;
use crate::support::{PATIENCE, within};

/// Keys that a user presses.
pub(crate) const CTRL_C: &str = "\u{3}";
/// The key for the end of input, at the beginning of a line.
pub(crate) const CTRL_D: &str = "\u{4}";

/// A program in a terminal; killed when dropped.
pub(crate) struct Terminal {
    child: Child,
    pty: Arc<Pty>,
    /// The terminal settings at the start of the program.
    settings: Termios,
    output: Receiver<Vec<u8>>,
    emulator: vt100::Parser,
    raw: Vec<u8>,
}

impl Terminal {
    /// Starts the program in a window with this number of columns and rows.
    pub(crate) fn start(command: Command, size: (u16, u16)) -> Self {
        Self::beside(command, size, |command| command)
    }

    /// Starts the program with `change` applied to its command, which can redirect streams.
    pub(crate) fn beside(
        command: Command,
        (columns, rows): (u16, u16),
        change: impl FnOnce(InTerminal) -> InTerminal,
    ) -> Self {
        let (pty, inner) = pty_process::blocking::open().unwrap();
        // The size is set before the start, so that the program sees no other size first.
        pty.resize(Size::new(rows, columns)).unwrap();
        // NOFLSH: without it, the kernel discards unread output on Ctrl-C. Tests would then
        // sometimes miss the beginning of the program's response.
        let mut settings = tcgetattr(&pty).unwrap();
        settings.local_modes |= LocalModes::NOFLSH;
        tcsetattr(&pty, OptionalActions::Now, &settings).unwrap();
        let child = change(InTerminal::from(command)).spawn(inner).unwrap();
        let (pty, (sent, output)) = (Arc::new(pty), channel());
        let reader = Arc::clone(&pty);
        // The thread ends with the program, when the read fails because no process has the terminal
        // open.
        thread::spawn(move || {
            let mut buf = [0; 4096];
            while let Ok(read @ 1..) = (&*reader).read(&mut buf) {
                if sent.send(buf[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        let [rows, columns] = [rows, columns].map(|size| NonZeroU16::new(size).unwrap());
        let emulator = vt100::Parser::new(rows, columns, 1000);
        Self { child, pty, settings, output, emulator, raw: Vec::new() }
    }

    /// Waits until the screen contains the text.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) {
        self.wait_until(text, |terminal| terminal.screen().contains(text));
    }

    /// Waits until a condition is true. `what` describes it in a failure message.
    #[track_caller]
    pub(crate) fn wait_until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !holds(self) {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.take(&bytes),
                Err(why) => panic!("{why} before {what:?}; the screen:\n{}", self.screen()),
            }
        }
    }

    /// Returns the text of the screen, without spaces at the ends of lines.
    pub(crate) fn screen(&self) -> String {
        self.emulator.screen().contents()
    }

    /// Returns the lines of the screen.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.screen().lines().map(str::to_owned).collect()
    }

    /// Returns the emulator's screen, which also has colors, the cursor and the alternate screen.
    pub(crate) fn emulated(&self) -> &vt100::Screen {
        self.emulator.screen()
    }

    /// Returns all output, byte for byte.
    pub(crate) fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// Types the keys.
    pub(crate) fn send(&self, keys: &str) {
        (&*self.pty).write_all(keys.as_bytes()).unwrap();
    }

    /// Resizes the window, which notifies the program.
    pub(crate) fn resize(&mut self, (columns, rows): (u16, u16)) {
        self.pty.resize(Size::new(rows, columns)).unwrap();
        let [rows, columns] = [rows, columns].map(|size| NonZeroU16::new(size).unwrap());
        self.emulator.screen_mut().set_size(rows, columns);
    }

    /// Returns the process, for signals and redirected streams.
    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Waits for the end of the program and of all programs that it started in the terminal.
    /// Returns the exit code, or `None` if a signal ended the program.
    #[track_caller]
    pub(crate) fn finish(&mut self) -> Option<i32> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.take(&bytes),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    panic!("no end; the screen:\n{}", self.screen())
                }
            }
        }
        self.child.wait().unwrap().code()
    }

    /// Returns true if the terminal shows typed text.
    pub(crate) fn echoes(&self) -> bool {
        use rustix::termios::LocalModes;
        tcgetattr(&self.pty).unwrap().local_modes.contains(LocalModes::ECHO)
    }

    /// Waits until the terminal hides typed text. A prompt appears shortly before.
    #[track_caller]
    pub(crate) fn wait_until_hidden(&self) {
        within("hidden typing", || !self.echoes());
    }

    /// Asserts that the program restored the terminal settings and the cursor.
    #[track_caller]
    pub(crate) fn assert_restored(&self) {
        let now = tcgetattr(&self.pty).unwrap();
        assert_eq!(format!("{now:?}"), format!("{:?}", self.settings));
        assert!(!self.emulated().hide_cursor(), "the cursor is hidden:\n{}", self.screen());
        assert!(!self.emulated().alternate_screen(), "the screen is not given back");
    }

    fn take(&mut self, bytes: &[u8]) {
        self.emulator.process(bytes);
        self.raw.extend_from_slice(bytes);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn terminal_has_echo_size_and_exit_code() {
    let mut shell = processes::command("/bin/sh");
    shell.env_clear().args(["-c", "stty size; read line; stty size; exit 7"]);
    let mut terminal = Terminal::start(shell, (57, 11));
    terminal.wait_for("11 57");
    terminal.resize((99, 22));
    terminal.send("typed\n");
    assert_eq!(terminal.finish(), Some(7));
    assert_eq!(terminal.lines(), ["11 57", "typed", "22 99"]);
    assert!(terminal.echoes());
    terminal.assert_restored();
}

#[test]
fn ctrl_c_is_a_signal_and_ctrl_d_ends_the_input() {
    for (key, code) in [(CTRL_C, None), (CTRL_D, Some(0))] {
        let mut cat = processes::command("/bin/cat");
        cat.env_clear();
        let mut terminal = Terminal::start(cat, (80, 24));
        terminal.send("x\n");
        // The terminal echoed the line and the program printed it, so the program is running.
        terminal.wait_until("the output of the program", |terminal| terminal.lines() == ["x", "x"]);
        terminal.send(key);
        assert_eq!(terminal.finish(), code);
        assert!(terminal.raw().starts_with(b"x\r\nx\r\n"));
    }
}

#[test]
fn stream_can_be_redirected() {
    let mut shell = processes::command("/bin/sh");
    shell.env_clear().args(["-c", "echo data; echo told >&2"]);
    let mut terminal =
        Terminal::beside(shell, (80, 24), |shell| shell.stdout(std::process::Stdio::piped()));
    assert_eq!(terminal.finish(), Some(0));
    let mut data = String::new();
    terminal.child().stdout.take().unwrap().read_to_string(&mut data).unwrap();
    assert_eq!((data.as_str(), terminal.screen().as_str()), ("data\n", "told"));
}

#[test]
#[should_panic(expected = "before \"more\"; the screen:\ndone")]
fn missing_text_fails_with_the_screen() {
    let mut echo = processes::command("/bin/echo");
    echo.env_clear().arg("done");
    Terminal::start(echo, (80, 24)).wait_for("more");
}
