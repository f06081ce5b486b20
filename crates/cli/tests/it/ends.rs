//! The ends of a process: streams that are closed or full, no home, nonsense in the environment. No
//! command panics, and each ends with the right code.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::process::Command;

use crate::help::leaves;
use crate::support::{Said, Sandbox, formsvc};

/// Arguments with which a command has something to do and ends by itself.
fn fitting(words: &[String]) -> &'static [&'static str] {
    match words.join(" ").as_str() {
        "forms view" | "forms schema" | "submissions list" => &["penguins"],
        "submissions view" => &["penguins", "sub_none"],
        "submissions tail" => &["penguins", "-n", "1", "--count", "1"],
        "submissions export" => &["penguins", "--format", "csv"],
        "api" => &["me"],
        "config get" | "config unset" => &["output"],
        "config set" => &["output", "json"],
        "auth use" => &["nobody"],
        // It runs until it is stopped.
        "sandbox" => &["--rate-limit", "nonsense"],
        "completion" => &["bash"],
        _ => &[],
    }
}

fn quoted(words: &[String]) -> String {
    let args = words.iter().map(String::as_str).chain(fitting(words).iter().copied());
    let args: Vec<&str> = args.collect();
    args.join(" ")
}

fn in_shell(sandbox: &Sandbox, line: &str, home: &std::path::Path) -> Command {
    let mut command = Command::new("bash");
    command.env_clear().args(["-c", line]).env("HOME", home).env("PATH", "/usr/bin:/bin");
    command.env("F", env!("CARGO_BIN_EXE_formsvc")).current_dir(home);
    command.env("FORMSVC_BASE_URL", &sandbox.base_url).env("FORMSVC_API_KEY", &sandbox.api_key);
    command
}

fn sound(said: &Said, what: &str) {
    let panicked = said.stderr.contains("panicked") || said.stderr.contains("this is a bug");
    let known = matches!(said.code, Some(0 | 2..=8 | 10));
    // A check of `doctor` may fail.
    let failed = said.code == Some(1) && what.contains("doctor");
    assert!(!panicked && (known || failed), "{what}: {said:?}");
}

#[test]
fn no_command_minds_closed_or_full_streams() {
    let sandbox = Sandbox::start(&["--rate-limit", "off"]);
    let home = tempfile::tempdir().unwrap();
    for words in leaves() {
        let line = quoted(&words);
        let whole = in_shell(&sandbox, &format!("\"$F\" {line} </dev/null"), home.path());
        let whole = Said::from({ whole }.output().unwrap());
        sound(&whole, &line);
        for closed in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
            let run = format!("\"$F\" {line} {closed}");
            let said = Said::from(in_shell(&sandbox, &run, home.path()).output().unwrap());
            sound(&said, &run);
        }
        let run = format!("\"$F\" {line} >/dev/full </dev/null");
        let full = Said::from(in_shell(&sandbox, &run, home.path()).output().unwrap());
        let code = if whole.stdout.is_empty() { whole.code } else { Some(10) };
        assert_eq!(full.code, code, "{run}: {}", full.stderr);
        let run = format!("\"$F\" {line} 2>/dev/full </dev/null");
        let full = Said::from(in_shell(&sandbox, &run, home.path()).output().unwrap());
        sound(&full, &run);
        let run = format!("\"$F\" {line} </dev/null | head -c 1; exit ${{PIPESTATUS[0]}}");
        let head = Said::from(in_shell(&sandbox, &run, home.path()).output().unwrap());
        assert_eq!(head.code, whole.code, "{run}: {}", head.stderr);
    }
}

#[test]
fn no_command_minds_a_strange_environment() {
    let sandbox = Sandbox::start(&["--rate-limit", "off"]);
    let bad = || OsString::from_vec(b"\xff\xfe".to_vec());
    for words in leaves() {
        let args: Vec<&str> =
            words.iter().map(String::as_str).chain(fitting(&words).iter().copied()).collect();
        let check = |what: &str, set: &[(&str, OsString)], more: Option<OsString>| {
            let mut command = sandbox.formsvc(&args);
            command.envs(set.iter().cloned()).args(more);
            sound(&command.output().unwrap().into(), &format!("{args:?} with {what}"));
        };
        check("nothing", &[], None);
        for (name, value) in
            [("PATH", ""), ("HOME", "/nowhere/at/all"), ("COLUMNS", "-1x"), ("COLUMNS", "0")]
        {
            check(name, &[(name, value.into())], None);
        }
        let names = ["COLUMNS", "HOME", "TERM", "FORMSVC_PROFILE", "NO_COLOR", "LANG"];
        check("variables that are no text", &names.map(|name| (name, bad())), None);
        check("an argument that is no text", &[], Some(bad()));
        let folder = tempfile::tempdir().unwrap();
        let gone = format!("cd {0} && rmdir {0} && exec \"$@\"", folder.path().display());
        let mut inside = Command::new("sh");
        inside.env_clear().args(["-c", &gone, "sh", env!("CARGO_BIN_EXE_formsvc")]).args(&args);
        sound(&inside.output().unwrap().into(), &format!("{args:?} in a folder that is gone"));
    }
    let said = Said::from(formsvc(&["me"]).arg(bad()).output().unwrap());
    assert_eq!(said.code, Some(2), "{said:?}");
}
