//! `--max-time`: the time limit covers all that a command does from its start.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::processes;
use crate::support::{Canned, Said, formsvc, one_form, page};

/// The maximum duration of a command with the time limit [`LIMIT`]. It is below the time limit of
/// one request.
const RUN_MAX: Duration = Duration::from_secs(20);
const LIMIT: &str = "300ms";

const ROW: &str = r#"{"id":"sub_1","data":{"A":1},"created_at":"2026-01-01T00:00:01.000Z"}"#;

/// Runs all commands at the same time, each with the time limit. Asserts that each ends in time
/// with exit 8.
#[track_caller]
fn assert_all_stop(commands: Vec<Command>) {
    let began = Instant::now();
    let children: Vec<_> = commands
        .into_iter()
        .map(|mut command| {
            command.args(["--max-time", LIMIT]).stdout(Stdio::piped()).stderr(Stdio::piped());
            (format!("{command:?}"), command.spawn().unwrap())
        })
        .collect();
    for (line, child) in children {
        let said = Said::from(child.wait_with_output().unwrap());
        assert_eq!(said.code, Some(8), "{line}: {}", said.stderr);
        assert!(said.stderr.contains("time"), "{line}: {}", said.stderr);
    }
    assert!(began.elapsed() < RUN_MAX, "{:?}", began.elapsed());
}

#[test]
fn silent_service_ends_with_exit_8() {
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite:{}", folder.path().join("rows.db").display());
    let (to, out) = (["--to", &database], ["-o", folder.path().to_str().unwrap()]);
    let sync = ["submissions", "sync"];
    let export = ["submissions", "export"];
    let silent = || Canned::start(vec![None]);
    let services: Vec<_> = [
        [&export[..], &["survey", "-o", "/dev/null"]].concat(),
        [&export[..], &["survey", "contact"], &out].concat(),
        [&export[..], &["--all"], &out].concat(),
        [&export[..], &["survey", "--dry-run"]].concat(),
        [&sync[..], &["survey"], &to].concat(),
        [&sync[..], &["survey", "--watch"], &to].concat(),
        [&sync[..], &["verify", "survey"], &to].concat(),
        vec!["submissions", "tail", "survey"],
        vec!["contract", "check"],
        vec!["webhook", "listen", "--port", "0", "--no-store", "--poll", "survey"],
    ]
    .into_iter()
    .map(|args| (silent(), args))
    // The service responds to the first request, for the forms, and not to the next one.
    .chain([
        (Canned::start(vec![one_form(), None]), [&export[..], &["survey", "--dry-run"]].concat()),
        (
            Canned::start(vec![one_form(), None]),
            [&export[..], &["other", "-o", "/dev/null"]].concat(),
        ),
    ])
    .collect();
    let secret = "whsec_1Ja0vTGXn2LQ6Zt9c4Kp8RbY3mDsWfHuEoAiPxNkVgB";
    let commands = services.iter().map(|(service, args)| {
        let mut command = service.formsvc(args);
        command.env("FORMSVC_SIGNING_SECRET", secret);
        command
    });
    assert_all_stop(commands.collect());
}

#[test]
fn key_command_without_end_ends_with_exit_8() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".config/formsvc");
    std::fs::create_dir_all(&folder).unwrap();
    let text = "[profiles.default]\nbase_url = \"http://127.0.0.1:9\"\n\
                api_key_command = [\"sleep\", \"60\"]\n";
    std::fs::write(folder.join("config.toml"), text).unwrap();
    let command = |args: &[&str]| {
        let mut command = formsvc(args);
        command.env("HOME", home.path()).env("PATH", "/usr/bin:/bin");
        command
    };
    assert_all_stop(vec![
        command(&["submissions", "export", "survey", "-o", "/dev/null"]),
        command(&["submissions", "sync", "survey", "--to", "sqlite:rows.db"]),
        command(&["submissions", "tail", "survey"]),
        command(&["contract", "check"]),
    ]);
}

#[test]
fn work_that_does_not_wait_ends_with_exit_8() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let private = Permissions::from_mode(0o600);
    let file = std::fs::File::create(path("rows.db")).unwrap();
    file.set_permissions(private).unwrap();
    let database = rusqlite::Connection::open(path("rows.db")).unwrap();
    database.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let pipe = path("pipe");
    assert!(processes::command("mkfifo").arg(&pipe).status().unwrap().success());
    let service = || Canned::start(vec![one_form(), page(ROW, None)]);
    let services = [
        // Another process has locked the database.
        (service(), vec!["sync", "survey", "--to", "sqlite:rows.db"]),
        // An endless expression.
        (service(), vec!["export", "survey", "-o", "rows.csv", "--where", "def f: f; f"]),
        // A pipe without a reader.
        (service(), vec!["export", "survey", "-o", &pipe]),
    ];
    let commands = services.iter().map(|(service, args)| {
        let mut command = service.formsvc(&[&["submissions"], &args[..]].concat());
        command.current_dir(folder.path()).env("FORMSVC_STATE_DIR", path("state"));
        command
    });
    assert_all_stop(commands.collect());
    assert!(!folder.path().join("rows.csv").exists());
}
