//! Full and read-only disks: the listener reports them and continues.

use std::path::Path;
use std::process::{Command, Stdio};

use rusqlite::Connection;
use serde_json::Value;

use super::listener::{Listener, SECRET, event, of_type, records};
use crate::processes;
use crate::support::{Said, formsvc};

/// If this variable is `1`, a test that cannot mount a disk fails instead of being skipped.
const REQUIRE: &str = "FORMSVC_REQUIRE_MOUNTS";
/// A shell command that mounts a tmpfs at a folder in a new namespace, and runs a program.
/// Arguments: mount options, folder, program.
const MOUNTED: &str = "mount -t tmpfs -o \"$0\" none \"$1\" && shift && exec \"$@\"";
const UNSHARED: [&str; 6] = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"];

/// Returns a submission of which a few fill a small disk.
fn large(at: usize) -> String {
    event(&format!("sub_{at}")).replace("Ada", &"x".repeat(40_000))
}

/// Delivers more submissions than fit on the disk. Returns the statuses of the responses.
fn fill(listener: &Listener) -> Vec<u16> {
    (0..20).map(|at| listener.deliver(&large(at)).status()).collect()
}

/// Asserts that the sender is told to repeat exactly the deliveries without a number.
#[track_caller]
fn assert_only_stored_are_accepted(statuses: &[u16], numbers: &[Option<u64>]) {
    let expected: Vec<_> =
        numbers.iter().map(|number| if number.is_some() { 200 } else { 503 }).collect();
    assert_eq!(statuses, expected);
}

#[track_caller]
fn assert_one_warning(said: &Said, told: &str) -> Vec<Option<u64>> {
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let warning = "warning: deliveries are not stored: ";
    assert_eq!(said.stderr.matches(warning).count(), 1, "{}", said.stderr);
    assert!(said.stderr.contains(told), "{}", said.stderr);
    let records = records(&said.stdout);
    // The response to the last stored delivery may not fit on the disk either.
    let mut codes: Vec<_> =
        of_type(&records, "warning").iter().map(|record| &record["code"]).collect();
    codes.retain(|code| *code != "response_not_stored");
    assert_eq!(codes, ["not_stored"]);
    assert_eq!(of_type(&records, "summary")[0]["received"], 20);
    of_type(&records, "delivery").iter().map(|record| record["capture"].as_u64()).collect()
}

fn set_state_folder<'a>(state: &Path, command: &'a mut Command) -> &'a mut Command {
    command.env("FORMSVC_STATE_DIR", state).env("FORMSVC_SIGNING_SECRET", SECRET)
}

#[test]
fn file_size_limit_does_not_end_the_listener() {
    let state = tempfile::tempdir().unwrap();
    let starter = ["sh", "-c", "ulimit -f 500; exec \"$0\" \"$@\""];
    let listener = Listener::under(&starter, &["--output=ndjson"], |command| {
        set_state_folder(state.path(), command)
    });
    let statuses = fill(&listener);
    let numbers = assert_one_warning(&listener.terminate(), "the database of captures failed");
    assert_only_stored_are_accepted(&statuses, &numbers);
    let stored = numbers.iter().filter(|number| number.is_some()).count();
    assert!((1..20).contains(&stored), "{numbers:?}");
    assert!(
        numbers[..stored].iter().all(Option::is_some),
        "only the first are stored: {numbers:?}"
    );
    // The stored captures are complete.
    let mut list = formsvc(&["webhook", "events", "list", "--output=json", "--limit=99"]);
    let listed: Said = set_state_folder(state.path(), &mut list).output().unwrap().into();
    let listed: Vec<Value> = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed.len(), stored);
    let size = large(0).len();
    assert!(listed.iter().all(|capture| capture["body_size"].as_u64() >= Some(size as u64)));
}

/// Starts a listener with a separate disk as its state folder. Returns `None` if this process cannot
/// mount one.
fn start_on_disk(options: &str, state: &Path) -> Option<Listener> {
    let mounted = [&UNSHARED[..], &[MOUNTED, options, state.to_str().unwrap()]].concat();
    let can = processes::command(mounted[0])
        .args(&mounted[1..])
        .arg("true")
        .stderr(Stdio::null())
        .status();
    if !can.is_ok_and(|ended| ended.success()) {
        let required = std::env::var_os(REQUIRE).is_some_and(|value| value == "1");
        assert!(!required, "this process cannot mount a disk, and {REQUIRE}=1 requires it");
        return None;
    }
    Some(Listener::under(&mounted, &["--output=ndjson"], |command| {
        set_state_folder(state, command).env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
    }))
}

#[test]
fn full_disk_does_not_end_the_listener() {
    let state = tempfile::tempdir().unwrap();
    let Some(listener) = start_on_disk("size=300k,mode=700", state.path()) else { return };
    let statuses = fill(&listener);
    let numbers =
        assert_one_warning(&listener.terminate(), "the disk of the capture store is full");
    assert!(numbers[0].is_some() && numbers[19].is_none(), "{numbers:?}");
    assert_only_stored_are_accepted(&statuses, &numbers);
}

#[test]
fn lost_response_is_a_warning_and_in_the_log() {
    let state = tempfile::tempdir().unwrap();
    let listener = Listener::with(&["--output=ndjson", "-vv"], |command| {
        set_state_folder(state.path(), command)
    });
    let database = Connection::open(state.path().join("webhook/captures.db")).unwrap();
    let trigger =
        "CREATE TRIGGER t BEFORE INSERT ON outcomes BEGIN SELECT RAISE(FAIL, 'broken'); END";
    database.execute_batch(trigger).unwrap();
    assert_eq!(listener.deliver(&event("sub_1")).status(), 200);
    let said = listener.terminate();
    let records = records(&said.stdout);
    let warning = of_type(&records, "warning")[0];
    assert_eq!(warning["code"], "response_not_stored");
    let message = warning["message"].as_str().unwrap();
    assert!(message.starts_with("cannot store the response to capture 1: "), "{message}");
    let line = format!("warn: formsvc_workbench::store::writer: {message}\n");
    assert_eq!(said.stderr.matches(&line).count(), 1, "{}", said.stderr);
}

#[test]
fn read_only_disk_is_reported_at_the_start() {
    let state = tempfile::tempdir().unwrap();
    let Some(listener) = start_on_disk("ro,mode=700", state.path()) else { return };
    assert_eq!(fill(&listener), [200; 20]);
    let said = listener.terminate();
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("deliveries are kept in memory"), "{}", said.stderr);
    let records = records(&said.stdout);
    assert_eq!(of_type(&records, "warning")[0]["code"], "in_memory");
    assert_eq!(records[0]["store"], Value::Null);
    assert!(of_type(&records, "delivery").iter().all(|record| record["capture"].is_null()));
}
