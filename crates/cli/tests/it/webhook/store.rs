//! A capture is stored before the listener responds, so it survives the listener.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::kept::{Home, Listener};
use crate::support::{Said, signal};

fn captures(home: &Home) -> Vec<u64> {
    let listed =
        home.succeed(&["webhook", "events", "list", "--limit", "99", "--jq", ".[].capture"]);
    listed.lines().map(|line| line.parse().unwrap()).collect()
}

#[test]
fn killed_listener_keeps_its_captures() {
    let home = Home::new();
    let mut listener = Listener::start(&home, &[]);
    for at in 1..=20 {
        assert_eq!(listener.deliver(format!("body {at}").as_bytes()), 200);
    }
    listener.kill();
    assert_eq!(captures(&home), (1..=20).rev().collect::<Vec<_>>());
    for at in [1, 20] {
        let at = at.to_string();
        let body = home.succeed(&["webhook", "events", "show", &at, "--raw"]);
        assert_eq!(body, format!("body {at}"));
    }
    let mut listener = Listener::start(&home, &[]);
    assert_eq!(listener.deliver(b"after"), 200);
    assert_eq!(listener.end(), Some(0));
    assert_eq!(captures(&home)[0], 21, "numbers continue");
}

#[test]
fn two_listeners_share_a_store_and_tail_follows_both() {
    let home = Home::new();
    // With the default of 10, a tail that starts late misses deliveries and never ends.
    let args = ["webhook", "events", "tail", "--last", "40", "--count", "40", "--jq", ".body_b64"];
    let tail = home.formsvc(&args).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let listeners = [Listener::start(&home, &[]), Listener::start(&home, &[])];
    std::thread::scope(|scope| {
        for listener in &listeners {
            scope.spawn(move || {
                for at in 0..20 {
                    assert_eq!(listener.deliver(format!("{at}").as_bytes()), 200);
                }
            });
        }
    });
    let followed: Said = tail.wait_with_output().unwrap().into();
    let (code, lines) = (followed.code, followed.stdout.lines().count());
    assert_eq!((code, lines), (Some(0), 40), "{}", followed.stderr);
    for mut listener in listeners {
        assert_eq!(listener.end(), Some(0));
    }
    assert_eq!(captures(&home), (1..=40).rev().collect::<Vec<_>>());
}

#[test]
fn no_store_writes_no_file() {
    let home = Home::new();
    let mut listener = Listener::start(&home, &["--no-store"]);
    assert_eq!(listener.deliver(b"x"), 200);
    assert_eq!(listener.end(), Some(0));
    assert!(!home.state().exists());
    let said = home.run(&["webhook", "events", "list"]);
    assert_eq!((said.code, &*said.stdout), (Some(0), ""));
    assert!(said.stderr.starts_with("no captures"), "{}", said.stderr);
}

#[test]
fn unsafe_state_folder_is_a_warning_of_the_listener() {
    let home = Home::new();
    let other = home.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::create_dir_all(home.state().parent().unwrap()).unwrap();
    symlink(&other, home.state()).unwrap();
    let folder = other.join("webhook");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).unwrap();
    let mut listener = Listener::start(&home, &[]);
    assert_eq!(listener.deliver(b"x"), 200);
    assert_eq!(listener.end(), Some(0));
    let said = listener.said();
    assert!(said.contains("can be read or changed by others"), "{said}");
    assert!(said.contains("webhook"), "the folder is not named: {said}");
    assert!(fs::read_dir(&folder).unwrap().next().is_none(), "the folder stays empty");
    let refused = home.run(&["webhook", "events", "list"]);
    assert_eq!(refused.code, Some(10));
    assert!(refused.stderr.contains("hint: `chmod 700 "), "{}", refused.stderr);
}

#[test]
fn store_of_another_version_is_refused() {
    let home = Home::new();
    let mut listener = Listener::start(&home, &[]);
    assert_eq!(listener.deliver(b"x"), 200);
    assert_eq!(listener.end(), Some(0));
    let path = home.state().join("webhook/captures.db");
    let mut bytes = fs::read(&path).unwrap();
    // The offset of `user_version` in the SQLite header.
    bytes[60..64].copy_from_slice(&9_u32.to_be_bytes());
    fs::write(&path, bytes).unwrap();
    let refused = home.run(&["webhook", "events", "show"]);
    assert_eq!(refused.code, Some(10));
    assert!(refused.stderr.contains("is not a capture store of this version"), "{refused:?}");
    assert!(refused.stderr.contains("hint: move `"), "{refused:?}");
}

#[test]
fn tail_ends_after_a_signal_or_max_time() {
    let home = Home::new();
    let ended = home.run(&["webhook", "events", "tail", "--max-time", "300ms"]);
    assert_eq!((ended.code, &*ended.stdout), (Some(0), ""), "{}", ended.stderr);
    let child = home.formsvc(&["webhook", "events", "tail"]);
    let mut child = { child }.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut said = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut said, &mut line).unwrap();
    assert!(line.starts_with("no captures"), "{line}");
    signal(&child, "TERM");
    assert_eq!(child.wait().unwrap().code(), Some(143));
    line.clear();
    std::io::Read::read_to_string(&mut said, &mut line).unwrap();
    assert_eq!(line, "", "a signal is no error");
}

#[test]
fn tail_shows_a_response_behind_many_pending_deliveries() {
    let home = Home::new();
    let mut listener = Listener::start(&home, &[]);
    assert_eq!(listener.deliver(b"x"), 200);
    assert_eq!(listener.end(), Some(0));
    let path = home.state().join("webhook/captures.db");
    let database = rusqlite::Connection::open(path).unwrap();
    database.execute_batch("BEGIN; CREATE TEMP TABLE copy AS SELECT * FROM captures;").unwrap();
    for number in 2..=601 {
        database.execute("UPDATE copy SET number = ?1", [number]).unwrap();
        database.execute("INSERT INTO captures SELECT * FROM copy", []).unwrap();
    }
    // Only the newest capture has a response.
    database.execute_batch("UPDATE outcomes SET number = 601; COMMIT").unwrap();
    drop(database);
    let args = ["webhook", "events", "tail", "--last", "601", "--count", "1", "--jq", ".capture"];
    assert_eq!(home.succeed(&args), "601\n");
}
