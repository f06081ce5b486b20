//! Disks that are full or cannot be written: a listener says so, and goes on.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::listener::{Listener, SECRET, event, of_type, records};
use crate::processes;
use crate::support::{Said, formsvc};

/// Fails tests for which nothing can be mounted here, which are skipped otherwise.
const REQUIRE: &str = "FORMSVC_REQUIRE_MOUNTS";
/// Starts a program in a name space of its own, with a disk mounted at a folder: options, folder, program.
const MOUNTED: &str = "mount -t tmpfs -o \"$0\" none \"$1\" && shift && exec \"$@\"";
const UNSHARED: [&str; 6] = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"];

/// A submission so large that a few fill a small disk.
fn large(at: usize) -> String {
    event(&format!("sub_{at}")).replace("Ada", &"x".repeat(40_000))
}

/// Delivers more than there is room for, and tells of it.
fn fill(listener: &Listener) {
    for at in 0..20 {
        assert_eq!(listener.deliver(&large(at)).status(), 200, "{at}");
    }
}

#[track_caller]
fn warned_once(said: &Said, told: &str) -> Vec<Option<u64>> {
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let warning = "warning: deliveries are not stored: ";
    assert_eq!(said.stderr.matches(warning).count(), 1, "{}", said.stderr);
    assert!(said.stderr.contains(told), "{}", said.stderr);
    let records = records(&said.stdout);
    let warned = of_type(&records, "warning");
    let codes: Vec<_> = warned.iter().map(|told| told["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["not_stored"]);
    assert_eq!(of_type(&records, "summary")[0]["received"], 20);
    of_type(&records, "delivery").iter().map(|told| told["capture"].as_u64()).collect()
}

fn state_of<'a>(state: &Path, command: &'a mut Command) -> &'a mut Command {
    command.env("FORMSVC_STATE_DIR", state).env("FORMSVC_SIGNING_SECRET", SECRET)
}

#[test]
fn a_file_that_may_not_grow_any_more_ends_no_delivery() {
    let state = tempfile::tempdir().unwrap();
    let starter = ["sh", "-c", "ulimit -f 500; exec \"$0\" \"$@\""];
    let listener =
        Listener::under(&starter, &["--output=ndjson"], |command| state_of(state.path(), command));
    fill(&listener);
    let numbers = warned_once(&listener.terminate(), "the database of captures failed");
    let kept = numbers.iter().filter(|number| number.is_some()).count();
    assert!((1..20).contains(&kept), "{numbers:?}");
    assert!(numbers[..kept].iter().all(Option::is_some), "the first are kept: {numbers:?}");
    // What was kept is there, whole.
    let mut list = formsvc(&["webhook", "events", "list", "--output=json", "--limit=99"]);
    let listed: Said = state_of(state.path(), &mut list).output().unwrap().into();
    let listed: Vec<Value> = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed.len(), kept);
    let size = large(0).len();
    assert!(listed.iter().all(|kept| kept["body_size"].as_u64() >= Some(size as u64)));
}

/// A listener whose folder of states is on a disk of its own; none where nothing can be mounted here.
fn on_a_disk(options: &str, state: &Path) -> Option<Listener> {
    let mounted = [&UNSHARED[..], &[MOUNTED, options, state.to_str().unwrap()]].concat();
    let can = processes::command(mounted[0])
        .args(&mounted[1..])
        .arg("true")
        .stderr(Stdio::null())
        .status();
    if !can.is_ok_and(|ended| ended.success()) {
        let required = std::env::var_os(REQUIRE).is_some_and(|value| value == "1");
        assert!(!required, "nothing can be mounted, and {REQUIRE}=1 asks for it");
        return None;
    }
    Some(Listener::under(&mounted, &["--output=ndjson"], |command| {
        state_of(state, command).env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
    }))
}

#[test]
fn a_full_disk_ends_no_delivery() {
    let state = tempfile::tempdir().unwrap();
    let Some(listener) = on_a_disk("size=300k,mode=700", state.path()) else { return };
    fill(&listener);
    let numbers = warned_once(&listener.terminate(), "the disk of the capture store is full");
    assert!(numbers[0].is_some() && numbers[19].is_none(), "{numbers:?}");
}

#[test]
fn a_disk_that_cannot_be_written_is_told_at_once() {
    let state = tempfile::tempdir().unwrap();
    let Some(listener) = on_a_disk("ro,mode=700", state.path()) else { return };
    fill(&listener);
    let said = listener.terminate();
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("deliveries are kept in memory"), "{}", said.stderr);
    let records = records(&said.stdout);
    assert_eq!(of_type(&records, "warning")[0]["code"], "in_memory");
    assert_eq!(records[0]["store"], Value::Null);
    assert!(of_type(&records, "delivery").iter().all(|told| told["capture"].is_null()));
}
