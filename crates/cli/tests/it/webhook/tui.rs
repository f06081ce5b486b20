//! The terminal interface of a listener and of what it kept, in a real terminal.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::thread;

use base64::Engine as _;

use super::listen::listener::{
    Answer, OTHER_SECRET, SECRET, event, read, records, request, signature,
};
use super::recorder::{Recorder, answer};
use super::support::Files;
use crate::processes;
use crate::support::{Said, signal, within};
use crate::terminal::{CTRL_C, Terminal};

/// Clears the screen, sets a title, goes back in the line, turns the direction, in escapes of JSON.
const HOSTILE: &str = "\\u001b]0;owned\\u0007\\u001b[2J\\u009b2J\\r\\n\\u202egpj.exe\\u200b";
/// The same, as bytes.
const HOSTILE_BYTES: &str =
    "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}2J\r\n\u{202e}gpj.exe\u{200b}\u{1b}]52;c;b3duZWQ=\u{7}";

/// A listener that is looked at in a terminal, and where it listens.
struct Watched {
    terminal: Terminal,
    address: SocketAddr,
    files: Files,
}

fn command(files: &Files, args: &[&str]) -> Command {
    let mut command = files.formsvc(args);
    command.env("FORMSVC_SIGNING_SECRET", SECRET).env("TERM", "xterm-256color");
    command.env("HOME", files.path()).env("FORMSVC_STATE_DIR", files.path().join("state"));
    command
}

impl Watched {
    fn start(size: (u16, u16), args: &[&str]) -> Self {
        Self::with(size, args, |command| command)
    }

    fn with(
        size: (u16, u16),
        args: &[&str],
        change: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Self {
        let files = Files::new();
        let ready = files.path().join("ready.json");
        let mut command = command(&files, &["webhook", "listen", "--tui", "--port", "0"]);
        command.arg("--ready-file").arg(&ready).args(args);
        change(&mut command);
        let mut terminal = Terminal::start(command, size);
        terminal.wait_for("Nothing has come yet");
        let ready: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&ready).unwrap()).unwrap();
        let url = ready["url"].as_str().unwrap();
        let address = url.strip_prefix("http://").unwrap().trim_end_matches('/').parse().unwrap();
        Self { terminal, address, files }
    }

    /// Of `sub_one` and `sub_two`, as a filter for the first shows them.
    fn wait_for_the_first_alone(&mut self) {
        self.terminal.wait_until("the first one alone", |terminal| {
            let screen = terminal.screen();
            screen.contains("submission: sub_one") && !screen.contains("sub_two")
        });
    }

    fn deliver(&self, submission: &str) {
        assert_eq!(deliver(self.address, SECRET, &event(submission)), 200);
    }

    /// What was kept, as JSON.
    fn kept(&self) -> Vec<serde_json::Value> {
        let args = ["webhook", "events", "list", "--limit", "5000", "--output", "ndjson"];
        let said: Said = command(&self.files, &args).output().unwrap().into();
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        records(&said.stdout)
    }

    /// Ends it with a key, and gives what stands on the screen then.
    #[track_caller]
    fn quit(mut self, key: &str) -> String {
        self.terminal.send(key);
        assert_eq!(self.terminal.finish(), Some(0));
        self.terminal.assert_restored();
        self.terminal.screen()
    }
}

fn deliver(address: SocketAddr, secret: &str, body: &str) -> u16 {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(&request("/", &signature(secret, 0, body), body)).unwrap();
    Answer(read(&mut stream)).status()
}

#[test]
fn a_delivery_is_shown_with_what_is_in_it_and_the_terminal_is_given_back() {
    let mut watched = Watched::start((100, 30), &["--no-store"]);
    assert!(watched.terminal.emulated().alternate_screen());
    watched.deliver("sub_of_a_test");
    let terminal = &mut watched.terminal;
    terminal.wait_for("✓ signed");
    terminal.wait_for("1 came");
    terminal.wait_for("submission: sub_of_a_test");
    terminal.send("\t");
    terminal.wait_for("by the listener, after");
    terminal.send("\t");
    terminal.wait_for("ignature is right");
    let screen = watched.quit("q");
    assert!(screen.contains("ready: listening on http://127.0.0.1:"), "{screen}");
    assert!(screen.contains("1 delivery: 1 valid"), "{screen}");
}

#[test]
fn it_is_filtered_and_every_size_is_drawn() {
    let mut watched = Watched::start((120, 40), &["--no-store"]);
    watched.deliver("sub_one");
    watched.deliver("sub_two");
    watched.terminal.wait_for("2 came");
    watched.terminal.wait_for("submission: sub_two");
    watched.terminal.send("/sub_one\r");
    watched.wait_for_the_first_alone();
    for size in [(40, 10), (300, 100), (39, 9), (80, 24)] {
        watched.terminal.resize(size);
        let drawn = if size == (39, 9) { "needs 40x10" } else { "/sub_one" };
        watched.terminal.wait_until(drawn, |terminal| {
            let lines = terminal.lines();
            let whole = lines.iter().all(|line| line.chars().count() <= usize::from(size.0));
            whole && terminal.screen().contains(drawn)
        });
    }
    watched.terminal.wait_for("submission: sub_one");
    watched.quit(CTRL_C);
}

#[test]
fn a_replay_shows_what_was_answered_and_nothing_of_the_answer_acts() {
    let target = Recorder::start(std::sync::Arc::new(|at, _| {
        let body = format!("answer {at} {HOSTILE_BYTES}");
        Some(answer(if at == 0 { 200 } else { 418 }, "X-Said: caf\u{e9}\r\n", &body))
    }));
    let to = target.address.to_string();
    let mut watched = Watched::start((120, 40), &["--no-store", "--forward-to", &to]);
    let body = event("sub_1").replace("Ada", HOSTILE);
    assert_eq!(deliver(watched.address, SECRET, &body), 200);
    watched.terminal.wait_for("1 came");
    watched.terminal.wait_for("submission: sub_1");
    watched.terminal.send("r");
    watched.terminal.wait_for(&format!("#1 replayed to http://{to}/: 418 in "));
    watched.terminal.wait_for("with its body to the byte, signed now");
    watched.terminal.wait_for("answer 1 ]0;owned[2J2J");
    let first = target.got();
    let second = target.got();
    assert_eq!(first.body, second.body);
    assert_eq!(first.body, body.as_bytes());
    watched.terminal.send("\t\t");
    watched.terminal.wait_for("Headers");
    let raw = String::from_utf8_lossy(watched.terminal.raw()).into_owned();
    for acts in ["\u{1b}]", "\u{9b}", "\u{202e}", "\u{200b}", "\u{7}"] {
        assert!(!raw.contains(acts), "{acts:?}");
    }
    // Wholly of ours: where the cursor goes, how text looks, and the other screen.
    let ours = raw.split('\u{1b}').skip(1).all(|rest| {
        let end = rest.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(0);
        rest.starts_with('[') && "HmhlJ".contains(&rest[end..=end])
    });
    assert!(ours, "{raw:?}");
    watched.quit("q");
}

#[test]
fn what_is_refused_is_signed_after_a_question_and_an_edited_body_goes_signed_afresh() {
    let target = Recorder::of(&[204]);
    let to = target.address.to_string();
    let files = Files::new();
    let editor = files.write("editor.sh", b"#!/bin/sh\nsed -i s/Ada/Zoe/ \"$1\"\n");
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o700)).unwrap();
    let mut watched = Watched::with((120, 40), &["--no-store"], |command| {
        command.env("EDITOR", &editor).env("PATH", "/usr/bin:/bin")
    });
    assert_eq!(deliver(watched.address, OTHER_SECRET, &event("sub_forged")), 401);
    watched.terminal.wait_for("submission: sub_forged");
    watched.terminal.send("R");
    watched.terminal.wait_for("send #1 to: ");
    watched.terminal.send(&format!("\u{15}{to}\r"));
    watched.terminal.wait_for("✗ mismatch: no signature of the header was made");
    watched.terminal.send("n");
    watched.terminal.wait_for("nothing was sent");
    watched.deliver("sub_genuine");
    watched.terminal.send("g");
    watched.terminal.wait_for("submission: sub_genuine");
    watched.terminal.send("e");
    // The listener itself gets it, which forwards nothing: it verifies what was edited.
    watched.terminal.wait_for("#2 replayed to http://127.0.0.1:");
    watched.terminal.wait_for("with the edited body, signed now");
    watched.terminal.wait_for("3 came");
    watched.terminal.send("g\t\t\r");
    watched.terminal.wait_for("\"Name\": \"Zoe\"");
    let screen = watched.quit("q");
    assert!(screen.contains("3 deliveries: 2 valid, 1 signature mismatch"), "{screen}");
}

#[test]
fn a_command_is_shown_and_goes_to_the_clipboard_with_its_signature_masked() {
    let mut watched = Watched::start((120, 40), &["--no-store"]);
    watched.deliver("sub_1");
    watched.terminal.wait_for("submission: sub_1");
    watched.terminal.send("y");
    watched.terminal.wait_for("#1 as a command of curl");
    watched.terminal.wait_for("--data-raw");
    watched.terminal.wait_until("what is copied", |terminal| {
        terminal.raw().windows(7).any(|bytes| bytes == b"\x1b]52;c;")
    });
    let signature = signature(SECRET, 0, &event("sub_1"));
    let mac = signature.rsplit('=').next().unwrap();
    let raw = String::from_utf8_lossy(watched.terminal.raw()).into_owned();
    assert!(!raw.contains(mac));
    let copied = raw.split("\u{1b}]52;c;").nth(1).unwrap().split('\u{7}').next().unwrap();
    let copied = base64::engine::general_purpose::STANDARD.decode(copied).unwrap();
    let copied = String::from_utf8(copied).unwrap();
    assert!(copied.starts_with("curl --globoff --path-as-is http://127.0.0.1:"), "{copied}");
    assert!(copied.contains("v1=") && !copied.contains(mac), "{copied}");
    watched.terminal.send("\u{1b}");
    watched
        .terminal
        .wait_until("the list again", |terminal| !terminal.screen().contains("--data-raw"));
    watched.quit("q");
}

#[test]
fn what_is_pasted_presses_no_key_and_stands_where_somebody_types() {
    let mut watched = Watched::start((120, 40), &["--no-store"]);
    watched.deliver("sub_one");
    watched.deliver("sub_two");
    watched.terminal.wait_for("submission: sub_two");
    // Each of these would end it or send something.
    watched.terminal.send("\u{1b}[200~q\rr\n\u{3}y\u{1b}[201~");
    watched.terminal.send("/\u{1b}[200~sub_one\r\n\u{1b}[201~");
    watched.wait_for_the_first_alone();
    assert!(watched.terminal.screen().contains("/sub_one"), "{}", watched.terminal.screen());
    watched.terminal.send("\r");
    watched.terminal.wait_for("2 came");
    watched.quit("q");
}

#[test]
fn a_terminal_that_nobody_reads_holds_up_no_delivery_and_is_set_as_it_was_by_force() {
    let files = Files::new();
    let ready = files.path().join("ready.json");
    let mut command = command(&files, &["webhook", "listen", "--tui", "--port", "0", "--no-store"]);
    command.arg("--ready-file").arg(&ready);
    // What is said last would wait for a reader as well.
    let mut terminal =
        Terminal::beside(command, (200, 60), |command| command.stderr(Stdio::null()));
    terminal.wait_for("Nothing has come yet");
    let ready: serde_json::Value = serde_json::from_slice(&std::fs::read(&ready).unwrap()).unwrap();
    let url = ready["url"].as_str().unwrap();
    let address = url.strip_prefix("http://").unwrap().trim_end_matches('/').parse().unwrap();
    let code = terminal.unread(|terminal| {
        let deliver = |number| {
            assert_eq!(deliver(address, SECRET, &event(&format!("sub_{number}"))), 200);
        };
        let full = (0..10_000).find(|number| {
            deliver(*number);
            terminal.is_full()
        });
        let full = full.expect("the terminal takes no more");
        (full + 1..full + 20).for_each(deliver);
        assert!(!terminal.is_set_as_before());
        signal(terminal.child(), "TERM");
        within("nobody listens", || TcpStream::connect(address).is_err());
        signal(terminal.child(), "TERM");
        terminal.child().wait().unwrap().code()
    });
    assert_eq!(code, Some(143));
    assert!(terminal.is_set_as_before(), "what is typed is a line of the shell again");
}

#[test]
fn goals_end_it_as_without_the_interface() {
    let mut watched = Watched::start((80, 24), &["--no-store", "--expect", "event=other.event"]);
    watched.deliver("sub_1");
    watched.terminal.wait_for("1 came");
    watched.terminal.send("q");
    assert_eq!(watched.terminal.finish(), Some(11));
    watched.terminal.assert_restored();
    assert!(watched.terminal.screen().contains("event=other.event"));

    let mut watched = Watched::start((80, 24), &["--no-store", "--count", "2"]);
    watched.deliver("sub_1");
    watched.deliver("sub_2");
    assert_eq!(watched.terminal.finish(), Some(0));
    watched.terminal.assert_restored();
    assert!(watched.terminal.screen().contains("2 deliveries: 2 valid"));
}

#[test]
fn a_signal_gives_the_terminal_back() {
    for (name, args) in [("TERM", &["--no-store"][..]), ("INT", &["--no-store"])] {
        let mut watched = Watched::start((80, 24), args);
        signal(watched.terminal.child(), name);
        assert_eq!(watched.terminal.finish(), Some(0));
        watched.terminal.assert_restored();
        assert!(watched.terminal.screen().contains("no delivery came"), "{name}");
    }
    let files = Files::new();
    let mut stored = Terminal::start(
        {
            let mut c = command(&files, &["--demo", "webhook", "events", "tui"]);
            c.env_remove("FORMSVC_SIGNING_SECRET");
            c
        },
        (80, 24),
    );
    stored.wait_for("✗ stale");
    signal(stored.child(), "TERM");
    assert_eq!(stored.finish(), Some(143));
    stored.assert_restored();
}

#[test]
fn what_was_kept_is_shown_and_what_another_listener_keeps_comes_by_itself() {
    let mut watched = Watched::start((100, 30), &[]);
    watched.deliver("sub_before");
    watched.terminal.wait_for("1 came");
    let mut stored =
        Terminal::start(command(&watched.files, &["webhook", "events", "tui"]), (100, 30));
    stored.wait_for("submission: sub_before");
    watched.deliver("sub_after");
    stored.wait_for("submission: sub_after");
    stored.send("q");
    assert_eq!(stored.finish(), Some(0));
    stored.assert_restored();
    watched.quit("q");
}

#[test]
fn where_there_is_no_terminal_lines_come_and_that_is_said() {
    let files = Files::new();
    let listen = ["webhook", "listen", "--tui", "--port", "0", "--no-store", "--max-time", "10ms"];
    let said: Said = command(&files, &listen).stdin(Stdio::null()).output().unwrap().into();
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("--tui is left out: standard output is no terminal"));
    assert!(said.stdout.is_empty(), "{}", said.stdout);

    // Nobody gave a flag.
    let said: Said =
        command(&files, &["--demo", "webhook", "events", "tui"]).output().unwrap().into();
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let why = "no interface, but a list: standard output is no terminal\n";
    assert!(said.stderr.starts_with(why), "{}", said.stderr);

    let mut dumb = command(&files, &listen);
    dumb.env("TERM", "dumb");
    let small = command(&files, &listen);
    let quiet = command(&files, &[&listen[..], &["--output", "ndjson"]].concat());
    for (command, size, why) in [
        (dumb, (80, 24), "TERM says that the terminal can only print"),
        (small, (39, 24), "39 columns"),
        (quiet, (80, 24), "told to a program"),
    ] {
        let mut terminal = Terminal::start(command, size);
        assert_eq!(terminal.finish(), Some(0));
        let text: String = terminal.screen().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(why), "{text}");
        assert!(!terminal.raw().contains(&0x1b) || size.0 == 39, "{:?}", terminal.raw());
        assert!(!terminal.raw().windows(6).any(|bytes| bytes == b"\x1b[?104"), "{text}");
    }
    let mut terminal = Terminal::beside(command(&files, &listen), (80, 24), |command| {
        command.stdin(Stdio::null())
    });
    assert_eq!(terminal.finish(), Some(0));
    assert!(terminal.screen().contains("standard input is no terminal"), "{}", terminal.screen());
}

#[test]
fn without_colours_there_are_none() {
    let colored = |raw: &[u8]| {
        let raw = String::from_utf8_lossy(raw).into_owned();
        raw.split("\u{1b}[").any(|rest| {
            let codes = rest.split('m').next().unwrap_or_default();
            codes.split(';').any(|code| ["31", "32", "33"].contains(&code))
        })
    };
    for (args, env, expected) in [
        (&["--no-store"][..], None, true),
        (&["--no-store"], Some(("NO_COLOR", "1")), false),
        (&["--no-store", "--color", "never"], None, false),
        (&["--no-store", "--color", "always"], Some(("NO_COLOR", "1")), true),
    ] {
        let mut watched = Watched::with((80, 24), args, |command| command.envs(env));
        watched.deliver("sub_1");
        watched.deliver("sub_2");
        // The chosen one is turned around, and has no colours.
        watched.terminal.wait_for("submission: sub_2");
        assert_eq!(colored(watched.terminal.raw()), expected, "{args:?} {env:?}");
        watched.quit("q");
    }
}

#[test]
fn ctrl_z_gives_the_terminal_to_the_shell_until_it_goes_on() {
    let files = Files::new();
    let ready = files.path().join("ready.json");
    let mut shell = processes::command("/bin/sh");
    shell.arg("-i").current_dir(files.path()).env_clear().env("PATH", "/usr/bin:/bin");
    shell.env("TERM", "xterm-256color").env("PS1", "shell> ").env("HOME", files.path());
    shell.env("FORMSVC_SIGNING_SECRET", SECRET);
    let mut terminal = Terminal::start(shell, (100, 30));
    terminal.wait_for("shell>");
    let line = format!(
        "{} webhook listen --tui --port 0 --no-store --ready-file {}\n",
        env!("CARGO_BIN_EXE_formsvc"),
        ready.display(),
    );
    terminal.send(&line);
    terminal.wait_for("Nothing has come yet");
    for _ in 0..2 {
        terminal.send("\u{1a}");
        terminal.wait_until("the shell", |terminal| {
            !terminal.emulated().alternate_screen() && terminal.screen().contains("Stopped")
        });
        terminal.send("stty -a; echo th''ere\n");
        terminal.wait_for("there");
        let screen = terminal.screen();
        assert!(screen.contains(" icanon ") && screen.contains(" echo "), "{screen}");
        terminal.send("fg\n");
        terminal.wait_until("the interface again", |terminal| {
            terminal.emulated().alternate_screen()
                && terminal.screen().contains("Nothing has come yet")
        });
    }
    terminal.send("q");
    terminal.wait_for("no delivery came");
    terminal.send("exit\n");
    terminal.finish();
}

#[test]
fn a_flood_is_answered_and_kept_while_it_is_shown() {
    const SENDERS: usize = 8;
    const EACH: usize = 150;
    let mut watched = Watched::start((120, 40), &[]);
    let address = watched.address;
    let senders: Vec<_> = (0..SENDERS)
        .map(|sender| {
            thread::spawn(move || {
                (0..EACH).all(|at| {
                    deliver(address, SECRET, &event(&format!("sub_{sender}_{at}"))) == 200
                })
            })
        })
        .collect();
    // Somebody looks around meanwhile.
    watched.terminal.send("jjjGgk\t\t/sub_3\u{1b}");
    assert!(senders.into_iter().all(|sender| sender.join().unwrap()));
    assert_eq!(watched.kept().len(), SENDERS * EACH);
    watched.terminal.send("g");
    watched.terminal.wait_until("the newest", |terminal| {
        terminal.lines().iter().any(|line| line.starts_with("› 1200"))
    });
    let screen = watched.quit("q");
    assert!(screen.contains("1200 deliveries: 1200 valid"), "{screen}");
}
