//! What standard output shows, to people and to programs.

mod colors;
mod json;
mod messages;
mod pager;
mod progress;
mod tables;
mod untrusted;

use std::process::Command;

use crate::processes;
use crate::support::{Canned, Said, answer, formsvc};
use crate::terminal::Terminal;

/// A service whose forms have these titles; the first is `form0`, and so on.
fn titled(titles: &[&str]) -> Canned {
    let forms: Vec<serde_json::Value> = titles
        .iter()
        .enumerate()
        .map(|(at, title)| {
            serde_json::json!({
                "id": format!("frm_{at:032}"),
                "public_id": format!("form{at}"),
                "title": title,
                "status": (["published", "draft", "closed"][at % 3]),
                "created_at": "2026-01-01T00:00:00.000Z",
                "updated_at": "2026-01-01T00:00:00.000Z",
                "url": format!("/f/form{at}"),
            })
        })
        .collect();
    Canned::start(vec![answer("200 OK", "", &serde_json::json!({ "data": forms }).to_string())])
}

/// The command in a window, with a terminal that knows colours.
fn window(mut command: Command, size: (u16, u16)) -> Terminal {
    command.env("TERM", "xterm-256color").env("PATH", "/usr/bin:/bin");
    Terminal::start(command, size)
}

/// The text without what paints it: all other escapes stay.
fn unpainted(bytes: &[u8]) -> String {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap().to_owned();
    for part in parts {
        match part.split_once('m') {
            Some((codes, rest)) if codes.chars().all(|c| c.is_ascii_digit() || c == ';') => {
                plain.push_str(rest);
            }
            _ => {
                plain.push_str("\u{1b}[");
                plain.push_str(part);
            }
        }
    }
    plain
}

/// Commands that help shows are tried as they stand there, by a shell.
#[test]
fn every_command_in_help_output_does_what_it_is_there_for() {
    let help = crate::support::succeed(&["help", "output"]);
    let commands: Vec<&str> =
        help.lines().filter(|line| line.contains("formsvc --demo")).map(str::trim).collect();
    assert!(commands.len() > 8, "{help}");
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_formsvc")).parent().unwrap();
    for command in commands {
        let mut shell = processes::command("/bin/sh");
        shell.env_clear().env("PATH", folder).args(["-c", command]);
        let said = Said::from(shell.output().unwrap());
        assert_eq!(said.code, Some(0), "{command}: {}", said.stderr);
        assert!(!said.stdout.is_empty(), "{command}");
    }
}

/// A flag that silently does nothing would be taken for one that did.
#[test]
fn a_flag_of_data_is_refused_by_a_command_that_shows_none() {
    let commands = [
        "--demo submissions export penguins",
        "--demo auth token",
        "auth use work",
        "auth logout",
        "config get timeout",
        "config set timeout 5s",
        "config unset timeout",
        "config path",
        "sandbox",
    ];
    let flags = [&["--output", "json"][..], &["--json"], &["--jq", "."], &["--template", "x"]];
    let home = tempfile::tempdir().unwrap();
    for command in commands {
        for flag in flags {
            let args: Vec<&str> = command.split(' ').chain(flag.iter().copied()).collect();
            let said: Said = formsvc(&args).env("HOME", home.path()).output().unwrap().into();
            let told = format!("this command does not take `{}`", flag[0]);
            assert_eq!((said.code, &*said.stdout), (Some(2), ""), "{args:?}: {}", said.stderr);
            assert!(said.stderr.contains(&told), "{args:?}: {}", said.stderr);
        }
    }
}
