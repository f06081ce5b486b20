//! Help pages through the binary: their examples work, and they fit the terminal.

#[cfg(unix)]
use std::io::{BufRead, BufReader};
#[cfg(unix)]
use std::path::Path;
use std::process::Command;
#[cfg(unix)]
use std::process::Stdio;

use clap::Command as Tree;

#[cfg(unix)]
use crate::processes;
#[cfg(unix)]
use crate::support::{Sandbox, request, signal};
use crate::support::{run, succeed};
#[cfg(unix)]
use crate::webhook::recorder::Recorder;

/// Examples that are only parsed, with the reason why a test cannot run them.
#[cfg(unix)]
const PARSED_ONLY: &[(&str, &str)] = &[
    (
        "formsvc webhook listen --poll contact --forward-to 4242/hook",
        "needs the signing secret of an endpoint",
    ),
    ("formsvc webhook secret add", "prompts, and stores the secret in the keyring"),
    ("formsvc webhook secret remove", "needs a stored secret"),
    ("formsvc webhook secret remove 2026-03", "needs a stored secret"),
    ("formsvc --demo webhook events open", "serves until it is stopped"),
    (
        "formsvc webhook events open --ui-port 4401 --secret-file secret.txt",
        "needs a stored capture",
    ),
    ("formsvc auth login", "prompts, and stores the key in the keyring"),
    (
        "formsvc auth login --profile work --base-url https://forms.example",
        "prompts for the key of a service that does not exist",
    ),
    (
        "formsvc submissions sync status --to sqlite:survey.db",
        "needs a database of an earlier sync",
    ),
    (
        "formsvc submissions sync status --to sqlite:survey.db --json form,complete",
        "needs a database of an earlier sync",
    ),
    (
        "formsvc submissions sync verify survey --to sqlite:survey.db",
        "needs a service with this form",
    ),
    (
        "formsvc submissions sync verify survey --to sqlite:survey.db --mark-deleted",
        "needs a service with this form",
    ),
    (
        "formsvc submissions sync verify survey --to sqlite:survey.db --purge-deleted",
        "needs a service with this form",
    ),
    ("formsvc webhook check 9000/hook --secret-file secret.txt", "needs a receiver that verifies"),
    ("formsvc webhook replay --last 1 --secret-file secret.txt", "needs a stored capture"),
    (
        "formsvc submissions view contact sub_0198e1f2 --from sqlite:contact.db",
        "needs a database of an earlier sync",
    ),
    (
        "formsvc submissions count survey --by week --from sqlite:survey.db",
        "needs a database of an earlier sync",
    ),
    ("formsvc webhook verify --capture 17 --explain", "needs a stored capture"),
    (
        "formsvc webhook replay 17 --to localhost:4242/hook --keep-signature",
        "needs a stored capture",
    ),
];

/// Examples that run until a signal, with arguments that end them sooner.
#[cfg(unix)]
const RUN_UNTIL: &[(&str, &str)] = &[
    ("formsvc submissions tail", " --max-time 200ms"),
    ("formsvc webhook events tail", " --max-time 200ms"),
    ("formsvc webhook listen --sandbox", " --max-time 200ms --port 0"),
];

/// Returns every command, with its words after the program name.
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

/// Returns the commands without subcommands.
pub(crate) fn leaves() -> Vec<Vec<String>> {
    let leaves = commands().into_iter().filter(|(_, command)| !command.has_subcommands());
    leaves.map(|(words, _)| words).collect()
}

fn with<'a>(words: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    words.iter().map(String::as_str).chain(more.iter().copied()).collect()
}

/// Returns the examples in the help of a command.
fn examples(help: &str) -> Vec<String> {
    let after = help.split("\nExamples:\n").nth(1).unwrap_or_default();
    let lines = after.lines().take_while(|line| line.starts_with("  "));
    lines.map(|line| line.trim().to_owned()).collect()
}

/// Returns a shell with the test programs first in `PATH`, a home folder, and no other variable.
#[cfg(unix)]
fn in_shell(line: &str, home: &Path) -> Command {
    let binary = Path::new(env!("CARGO_BIN_EXE_formsvc")).parent().unwrap();
    let path = format!("{}/bin:{}:/usr/bin:/bin", home.display(), binary.display());
    let mut command = processes::command("sh");
    command.env_clear().args(["-c", line]).current_dir(home).env("HOME", home);
    command.env("PATH", path).stdin(Stdio::null());
    command
}

/// A home folder that is logged in to a sandbox, with two profiles and the programs that examples
/// run.
#[cfg(unix)]
struct ExampleUser {
    sandbox: Sandbox,
    prepared: tempfile::TempDir,
    /// Words of examples and their replacements.
    replacements: Vec<(&'static str, String)>,
}

#[cfg(unix)]
impl ExampleUser {
    fn new() -> Self {
        let sandbox = Sandbox::start(&["--rate-limit", "off"]);
        // The empty form gets a submission.
        let answers = r#"{"Name":"Ada","E-mail":"ada@example.org"}"#;
        let headers = "content-type: application/json\r\n";
        let sent = request(&sandbox.base_url, "POST /f/contact", headers, answers);
        assert!(sent.starts_with("HTTP/1.1 201"), "{sent}");
        let first = |args: &[&str]| {
            let listed = sandbox.run(args);
            assert_eq!(listed.code, Some(0), "{args:?}: {}", listed.stderr);
            listed.stdout.lines().next().unwrap().to_owned()
        };
        let list = |form| first(&["submissions", "list", form, "--limit", "1", "--jq", ".[0].id"]);
        let replacements = vec![
            ("penguins sub_0198e1f2", format!("penguins {}", list("penguins"))),
            ("contact sub_0198e1f2", format!("contact {}", list("contact"))),
            ("frm_1", first(&["forms", "list", "--jq", ".[0].id"])),
            // The receiver's thread responds until the test process ends.
            (" 4242/hook", format!(" {}", Recorder::of(&[200]).url("/hook"))),
        ];
        let prepared = tempfile::tempdir().unwrap();
        let user = Self { sandbox, prepared, replacements };
        user.prepare(user.prepared.path());
        user
    }

    /// Returns a copy of the home folder, for one example.
    fn home(&self) -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        let all = format!("{}/.", self.prepared.path().display());
        let copied =
            processes::command("cp").arg("-Rp").arg(all).arg(home.path()).status().unwrap();
        assert!(copied.success());
        home
    }

    /// Creates the files and programs that examples use.
    fn prepare(&self, home: &Path) {
        use std::os::unix::fs::PermissionsExt;
        let programs = home.join("bin");
        std::fs::create_dir(&programs).unwrap();
        let key = &self.sandbox.api_key;
        for (program, does) in [
            ("pass", format!("test \"$*\" = 'show forms' && echo {key}")),
            ("python3", format!("test \"$*\" = report.py && test \"$FORMSVC_API_KEY\" = {key}")),
        ] {
            let program = programs.join(program);
            std::fs::write(&program, format!("#!/bin/sh\n{does}\n")).unwrap();
            std::fs::set_permissions(program, PermissionsExt::from_mode(0o755)).unwrap();
        }
        // A delivery, its signature, the secret, and the delivery as an HTTP request.
        let secret = home.join("secret.txt");
        std::fs::write(&secret, "whsec_1Ja0vTGXn2LQ6Zt9c4Kp8RbY3mDsWfHuEoAiPxNkVgB\n").unwrap();
        std::fs::set_permissions(secret, PermissionsExt::from_mode(0o600)).unwrap();
        let event = include_str!("../../../../fixtures/wire/webhook_event.json");
        std::fs::write(home.join("body.json"), event).unwrap();
        let sign = "formsvc webhook sign body.json --secret-file secret.txt";
        let signed = format!(
            "{sign} > body.sig && printf 'POST /hook HTTP/1.1\\r\\nX-Service-Signature: %s\\r\\n\\r\\n' \
             \"$(cat body.sig)\" > request.http && cat body.json >> request.http"
        );
        assert!(in_shell(&signed, home).status().unwrap().success());
        let login = "pass show forms | formsvc auth login --no-verify --api-key-stdin --store file";
        let at = &self.sandbox.base_url;
        let prepared = format!(
            "{login} --base-url {at} && {login} --base-url {at} --profile work && \
             formsvc config set output json && formsvc config set max_rate 60 --profile work"
        );
        let done = in_shell(&prepared, home).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    }

    /// Runs an example after replacing the words that depend on the reader.
    fn run_example(&self, example: &str, home: &Path) {
        let mut line = example.to_owned();
        for (word, real) in &self.replacements {
            line = line.replace(word, real);
        }
        for (_, bound) in RUN_UNTIL.iter().filter(|(of, _)| example.starts_with(of)) {
            line.push_str(bound);
        }
        if let Some(sandbox) = example.strip_prefix("formsvc sandbox ") {
            return run_sandbox_example(sandbox, home);
        }
        let done = in_shell(&line, home).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success() && !said.contains("error:"), "{line}: {done:?}");
    }
}

/// Runs a sandbox example on a free port until it serves, and interrupts it.
#[cfg(unix)]
fn run_sandbox_example(args: &str, home: &Path) {
    let port = if args.contains("--port") { "" } else { "--port 0" };
    let mut command = in_shell(&format!("exec formsvc sandbox {port} {args}"), home);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let ready = lines.find(|line| line.contains("Ctrl-C stops it"));
    assert!(ready.is_some(), "{args}: {:?}", child.wait());
    signal(&child, "INT");
    let _rest = lines.count();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{args}");
}

#[cfg(unix)]
#[test]
fn every_command_has_two_working_examples() {
    let user = ExampleUser::new();
    let (mut few, mut parsed) = (Vec::new(), Vec::new());
    for words in leaves() {
        let help = succeed(&with(&words, &["--help"]));
        let examples = examples(&help);
        if examples.len() < 2 {
            few.push(format!("{}: {}", words.join(" "), examples.len()));
        }
        for example in examples {
            assert!(example.contains("formsvc "), "`{example}` is not a formsvc command");
            if PARSED_ONLY.iter().any(|(only, _)| *only == example) {
                let read = formsvc_cli::command().try_get_matches_from(example.split_whitespace());
                assert!(read.is_ok(), "{example}: {}", read.unwrap_err());
                parsed.push(example);
            } else {
                user.run_example(&example, user.home().path());
            }
        }
    }
    assert!(few.is_empty(), "fewer than two examples: {few:?}");
    assert_eq!(parsed.len(), PARSED_ONLY.len(), "an example no longer exists: {parsed:?}");
}

#[cfg(unix)]
#[test]
fn examples_of_root_help_and_topics_work() {
    let user = ExampleUser::new();
    let home = user.home();
    let pages = [succeed(&["--help"]), succeed(&["help", "output"])];
    let lines = pages.iter().flat_map(|page| page.lines().filter_map(|l| l.strip_prefix("  ")));
    let tried: Vec<&str> =
        lines.filter(|line| line.contains("formsvc --demo") && !line.starts_with(' ')).collect();
    assert!(tried.len() >= 10, "{tried:#?}");
    for line in tried {
        user.run_example(line, home.path());
    }
}

#[test]
fn help_command_prints_the_long_help() {
    for (words, command) in commands() {
        if command.get_name() == "help" {
            continue;
        }
        let asked = [&["help"][..], &with(&words, &[])].concat();
        assert_eq!(succeed(&asked), succeed(&with(&words, &["--help"])), "{words:?}");
    }
}

#[test]
fn help_fits_80_columns() {
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
fn short_help_omits_rare_flags_and_names_long_help() {
    let (short, long) = (succeed(&["me", "-h"]), succeed(&["me", "--help"]));
    assert!(short.contains("see more with '--help'"), "{short}");
    for (flag, often) in
        [("--demo", true), ("--jq", true), ("--base-url", true), ("--max-rate", false)]
    {
        assert_eq!((short.contains(flag), long.contains(flag)), (often, true), "{flag}");
    }
}

#[test]
fn bare_program_prints_help_and_bare_group_is_exit_2() {
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
fn topic_is_printed_and_unknown_topic_has_a_suggestion() {
    for (topic, tells) in [
        ("environment", "FORMSVC_API_KEY_FILE"),
        ("output", "standard output"),
        ("exit-codes", "130"),
        ("errors", "request_id"),
    ] {
        assert!(succeed(&["help", topic]).contains(tells), "{topic}");
    }
    let slip = run(&["help", "enviroment"]);
    assert_eq!(slip.code, Some(2));
    assert!(slip.stderr.contains("did you mean `environment`?"), "{}", slip.stderr);
}

#[test]
fn manual_pages_exist_for_every_command_and_render() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("deep/man1");
    succeed(&["man", "--dir", dir.to_str().unwrap()]);
    let pages = crate::support::entries(&dir);
    assert_eq!(pages.len(), commands().len(), "{pages:?}");
    let first = std::fs::read_to_string(dir.join("formsvc.1")).unwrap();
    assert_eq!(first, succeed(&["man"]));
    // Without groff, the test checks only that the pages are written.
    for page in pages {
        let mut groff = processes::command("groff");
        groff.args(["-k", "-man", "-ww", "-z", "-Tutf8"]).arg(dir.join(&page));
        if let Ok(done) = groff.output() {
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            assert!(done.status.success() && said.is_empty(), "{page}: {said}");
        }
    }
}
