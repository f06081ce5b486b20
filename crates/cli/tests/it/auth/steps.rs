//! A login that fails or is killed at any of its steps leaves either the old or the new key, and a
//! configuration that matches it.

use std::fs::File;
use std::io::Write;
use std::process::{Child, Command, Stdio};

use super::Home;
use crate::support::{SECRET, wait_until_open};

const OLD: &str = "fsk_the_key_before_this_one";
const OLD_AT: &str = "http://127.0.0.1:9";
const NEW_AT: &str = "http://127.0.0.1:10";

fn logged_in() -> Home {
    let home = Home::new();
    home.log_in("default", OLD_AT, OLD, &["--no-verify"]);
    home
}

fn login(home: &Home, at: &str) -> Command {
    let args = ["auth", "login", "--no-verify", "--api-key-stdin", "--store", "file"];
    home.formsvc(&[&args[..], &["--base-url", at, "--overwrite"]].concat())
}

/// Starts a login and writes the new key to its standard input.
pub(crate) fn start_login(mut login: Command) -> Child {
    let mut child = login.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(SECRET.as_bytes()).unwrap();
    child
}

pub(crate) fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Holds a lock until it is dropped.
pub(crate) fn hold(path: &std::path::Path) -> File {
    let file = File::options().create(true).truncate(false).write(true).open(path).unwrap();
    file.lock().unwrap();
    file
}

/// Asserts the key that commands use, and the base URL of its profile.
#[track_caller]
fn assert_login(home: &Home, key: &str, at: &str) {
    assert_eq!(home.succeed(&["auth", "token"]), format!("{key}\n"));
    let listed = home.succeed(&["auth", "list", "--json", "base_url,store,active"]);
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let expected = serde_json::json!([{"base_url": at, "store": "file", "active": true}]);
    assert_eq!(listed, expected);
}

#[test]
fn unwritable_config_keeps_the_old_key() {
    for at in [OLD_AT, NEW_AT] {
        let home = logged_in();
        let (config, kept) = (home.config(), home.kept());
        // A folder in place of the lock file prevents writing, even for root.
        std::fs::remove_file(home.config_lock()).unwrap();
        std::fs::create_dir(home.config_lock()).unwrap();
        let said = super::piped(login(&home, at), SECRET);
        assert_eq!(said.code, Some(10), "{}", said.stderr);
        assert!(said.stderr.contains("config.toml"), "{}", said.stderr);
        assert_eq!((home.config(), home.kept()), (config, kept), "{at}");
        assert_login(&home, OLD, OLD_AT);
        let command = ["auth", "login", "--no-verify", "--api-key-command", "echo", SECRET];
        assert_eq!(home.run(&command).code, Some(10));
        assert_login(&home, OLD, OLD_AT);
    }
    // A first login that fails leaves no key without a profile.
    let home = Home::new();
    std::fs::create_dir_all(home.config_lock()).unwrap();
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(home.config_folder(), private).unwrap();
    let said = super::piped(login(&home, NEW_AT), SECRET);
    assert_eq!((said.code, home.kept()), (Some(10), String::new()), "{}", said.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn killed_login_leaves_the_old_or_the_new_key() {
    for at in [OLD_AT, NEW_AT] {
        for lock in [Home::key_lock, Home::config_lock] {
            let home = logged_in();
            let held = hold(&lock(&home));
            let child = start_login(login(&home, at));
            wait_until_open(&child, &lock(&home));
            kill(child);
            drop(held);
            assert_login(&home, OLD, OLD_AT);
            // The next login succeeds beside files that the killed login left.
            home.log_in("default", at, SECRET, &["--no-verify", "--overwrite"]);
            assert_login(&home, SECRET, at);
        }
    }
}
