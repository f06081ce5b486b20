//! Output for terminals and for programs.

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

/// A service with forms of these titles. Their public ids are `form0`, `form1` and so on.
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

/// Starts the command in a terminal that supports colors.
fn window(mut command: Command, size: (u16, u16)) -> Terminal {
    command.env("TERM", "xterm-256color").env("PATH", "/usr/bin:/bin");
    Terminal::start(command, size)
}

/// Returns the text without color sequences. Other escape sequences stay.
fn without_colors(bytes: &[u8]) -> String {
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

/// A shell runs the commands unchanged.
#[test]
fn every_command_of_help_output_works() {
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

/// A flag without effect must be an error, because a user would expect an effect.
#[test]
fn output_flag_of_a_command_without_data_is_exit_2() {
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

#[test]
fn account_flag_of_a_local_command_is_exit_2() {
    let home = tempfile::tempdir().unwrap();
    for (command, flags) in [
        ("sandbox", "--demo --profile=p --base-url=http://localhost:1 --api-key-file=f"),
        ("auth use work", "--demo --base-url=http://localhost:1 --api-key-stdin --timeout=5s"),
        ("auth token", "--demo --time-style=absolute --max-rate=off"),
        ("auth list", "--demo --cacert=f --allow-http"),
        ("contract list", "--demo --profile=p --max-wait=1s"),
        ("submissions exports list", "--base-url=http://localhost:1"),
        ("submissions sync status", "--profile=p"),
        ("webhook events list", "--api-key-stdin --timeout=5s"),
        ("webhook sign", "--demo --base-url=http://localhost:1 --timeout=5s --max-rate=off"),
        ("completion bash", "--demo --output=json"),
        ("--demo submissions export penguins", "--time-style=absolute"),
    ] {
        for flag in flags.split(' ') {
            let args: Vec<&str> = command.split(' ').chain([flag]).collect();
            let said: Said = formsvc(&args).env("HOME", home.path()).output().unwrap().into();
            let what = format!("this command does not take `{}`", flag.split('=').next().unwrap());
            assert_eq!((said.code, &*said.stdout), (Some(2), ""), "{args:?}: {}", said.stderr);
            assert!(said.stderr.contains(&what), "{args:?}: {}", said.stderr);
        }
    }
}
