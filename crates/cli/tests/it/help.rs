//! Help, through the binary: that it teaches, by examples that work, and fits where it is read.

use std::process::Command;

use clap::Command as Tree;

use crate::support::{formsvc, run, succeed};

/// Examples that need more than a temporary home: a service to log in to, something that was saved
/// before, or somebody who stops them. They are parsed, not run.
const PARSED_ONLY: &[&str] = &[
    "formsvc auth ",
    "formsvc sandbox ",
    "formsvc submissions ",
    "formsvc api ",
    "formsvc doctor",
];

/// Every command, by its words after the program's name.
pub(crate) fn commands() -> Vec<(Vec<String>, Tree)> {
    fn add(command: &Tree, words: &[String], all: &mut Vec<(Vec<String>, Tree)>) {
        all.push((words.to_vec(), command.clone()));
        for command in command.get_subcommands() {
            add(command, &[words, &[command.get_name().to_owned()]].concat(), all);
        }
    }
    let mut all = Vec::new();
    add(&formsvc_cli::command(), &[], &mut all);
    all
}

/// Those that do something themselves.
pub(crate) fn leaves() -> Vec<Vec<String>> {
    let leaves = commands().into_iter().filter(|(_, command)| !command.has_subcommands());
    leaves.map(|(words, _)| words).collect()
}

fn with<'a>(words: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    words.iter().map(String::as_str).chain(more.iter().copied()).collect()
}

/// The examples in the help of a command.
fn examples(help: &str) -> Vec<String> {
    let after = help.split("\nExamples:\n").nth(1).unwrap_or_default();
    let lines = after.lines().take_while(|line| line.starts_with("  "));
    lines.map(|line| line.trim().to_owned()).collect()
}

/// The binary's folder first, a home of its own, and nothing else of whoever runs the tests.
fn in_shell(line: &str, home: &std::path::Path) -> Command {
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_formsvc"));
    let path = format!("{}:/usr/bin:/bin", binary.parent().unwrap().display());
    let mut command = Command::new("sh");
    command.env_clear().args(["-c", line]).current_dir(home).env("HOME", home).env("PATH", path);
    command
}

#[cfg(unix)]
#[test]
fn every_command_teaches_by_two_examples_that_work() {
    let mut few = Vec::new();
    for words in leaves() {
        let help = succeed(&with(&words, &["--help"]));
        let examples = examples(&help);
        if examples.len() < 2 {
            few.push(format!("{}: {}", words.join(" "), examples.len()));
        }
        let folder = tempfile::tempdir().unwrap();
        let prepared = "formsvc config set output json && \
                        formsvc config set base_url https://forms.example --profile work && \
                        formsvc config set max_rate 60 --profile work";
        assert!(in_shell(prepared, folder.path()).status().unwrap().success());
        for example in examples {
            assert!(example.contains("formsvc "), "`{example}` is of another program");
            if PARSED_ONLY.iter().any(|of| example.contains(of)) {
                let line = &example[example.find("formsvc ").unwrap()..];
                let line = line.split([';', '|', '>', ')']).next().unwrap();
                let parsed = formsvc_cli::command().try_get_matches_from(line.split_whitespace());
                assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
                continue;
            }
            let done = in_shell(&example, folder.path()).output().unwrap();
            assert!(done.status.success(), "{example}: {done:?}");
        }
    }
    assert!(few.is_empty(), "fewer than two examples: {few:?}");
}

#[test]
fn help_of_a_command_is_its_long_help() {
    for (words, command) in commands() {
        if command.get_name() == "help" {
            continue;
        }
        let asked = [&["help"][..], &with(&words, &[])].concat();
        assert_eq!(succeed(&asked), succeed(&with(&words, &["--help"])), "{words:?}");
    }
}

#[test]
fn every_page_fits_eighty_columns() {
    for (words, _) in commands() {
        for flag in ["-h", "--help"] {
            let page = succeed(&with(&words, &[flag]));
            let wide = page.lines().find(|line| line.chars().count() > 80);
            assert_eq!(wide, None, "{words:?} {flag}");
            assert!(!page.contains('\u{1b}'), "{words:?} {flag} has escapes in a pipe");
        }
    }
}

#[test]
fn short_help_says_that_there_is_more_and_leaves_rare_flags_out() {
    let (short, long) = (succeed(&["me", "-h"]), succeed(&["me", "--help"]));
    assert!(short.contains("see more with '--help'"), "{short}");
    for (flag, often) in [("--demo", true), ("--output", true), ("--max-rate", false)] {
        assert_eq!((short.contains(flag), long.contains(flag)), (often, true), "{flag}");
    }
}

#[test]
fn no_command_shows_help_and_a_bare_group_is_a_slip() {
    let bare = run(&[]);
    assert_eq!((bare.code, bare.stderr.as_str()), (Some(0), ""));
    assert!(bare.stdout.contains("Usage: formsvc"), "{}", bare.stdout);
    for args in [&["forms"][..], &["--demo", "forms"], &["--demo"]] {
        let group = run(args);
        assert_eq!((group.code, group.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(group.stderr.contains("Usage: formsvc"), "{args:?}: {}", group.stderr);
    }
}

#[test]
fn topics_are_explained_and_unknown_ones_are_told_the_nearest() {
    for (topic, tells) in [
        ("environment", "FORMSVC_API_KEY_FILE"),
        ("output", "standard output"),
        ("exit-codes", "130"),
        ("errors", "request_id"),
    ] {
        assert!(succeed(&["help", topic]).contains(tells), "{topic}");
        let narrow = formsvc(&["help", topic]).env("COLUMNS", "40").output().unwrap();
        let narrow = String::from_utf8(narrow.stdout).unwrap();
        let wide = narrow
            .lines()
            .filter(|line| !line.contains("formsvc --demo"))
            .find(|line| line.chars().count() > 40);
        assert_eq!(wide, None, "{topic}");
    }
    let slip = run(&["help", "enviroment"]);
    assert_eq!(slip.code, Some(2));
    assert!(slip.stderr.contains("did you mean `environment`?"), "{}", slip.stderr);
}

#[test]
fn manual_pages_are_written_for_every_command_and_render() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("deep/man1");
    succeed(&["man", "--dir", dir.to_str().unwrap()]);
    let pages = crate::support::entries(&dir);
    assert_eq!(pages.len(), commands().len(), "{pages:?}");
    let first = std::fs::read_to_string(dir.join("formsvc.1")).unwrap();
    assert_eq!(first, succeed(&["man"]));
    // Without groff the pages are only written.
    for page in pages {
        let mut groff = Command::new("groff");
        groff.args(["-man", "-ww", "-z", "-Tutf8"]).arg(dir.join(&page));
        if let Ok(done) = groff.output() {
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            assert!(done.status.success() && said.is_empty(), "{page}: {said}");
        }
    }
}
