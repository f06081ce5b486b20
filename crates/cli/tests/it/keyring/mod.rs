//! Keys in a real keyring: GNOME's, over a bus of the test's own. Without its programs, the tests that
//! need them say that they are skipped, or fail where `FORMSVC_REQUIRE_KEYRING` is `1`.

mod session;

use std::io::Write;
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use session::{Home, Session};

use crate::support::{SECRET, Said, Sandbox};

/// A key that no service made.
const KEY: &str = "fsk_KEPTKEPTKEPTKEPT";
/// Where nothing listens.
const NOWHERE: &str = "http://127.0.0.1:9";
/// The error, the cause and the hint of each of these name the ways without a keyring.
const WAYS: [&str; 3] = ["auth login --store file`", "FORMSVC_API_KEY", "`--api-key-file PATH`"];

/// Logs in with a key on standard input.
fn log_in(mut formsvc: Command, base_url: &str, key: &str) -> Said {
    formsvc.args(["--base-url", base_url, "--api-key-stdin"]);
    formsvc.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = formsvc.spawn().unwrap();
    child.stdin.take().unwrap().write_all(key.as_bytes()).unwrap();
    child.wait_with_output().unwrap().into()
}

fn keep(formsvc: Command) {
    let said = log_in(formsvc, NOWHERE, KEY);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
}

/// Runs what meets a keyring that does not answer, which is given up after three seconds. One that is
/// given up later, or asked twice, takes longer each time; a machine that is busy is not always so
/// busy.
#[track_caller]
fn given_up_in_time(run: impl Fn()) {
    let mut took = (0..4).map(|_| {
        let begun = Instant::now();
        run();
        begun.elapsed()
    });
    let bounds = Duration::from_secs(3)..Duration::from_millis(4_500);
    let all: Vec<Duration> = took.by_ref().take_while(|took| !bounds.contains(took)).collect();
    assert!(all.len() < 4, "{all:?}");
}

const LOGIN: [&str; 3] = ["auth", "login", "--no-verify"];

fn login_to(store: &str) -> [&str; 5] {
    ["auth", "login", "--no-verify", "--store", store]
}

#[track_caller]
fn ended(said: &Said, code: i32, told: &[&str]) {
    assert_eq!(said.code, Some(code), "{}", said.stderr);
    for told in told {
        assert!(said.stderr.contains(told), "{told}: {}", said.stderr);
    }
    assert!(!said.stderr.contains(KEY), "{}", said.stderr);
}

#[test]
fn a_key_is_kept_in_the_keyring_for_later_sessions_and_nowhere_else() {
    let Some(home) = Home::or_skip() else { return };
    let service = Sandbox::start(&[]);
    let me = ["me", "--base-url", &service.base_url];
    let session = Session::unlocked(&home);
    ended(&session.run(&me), 4, &["no API key"]);
    let said = log_in(session.formsvc(&["auth", "login"]), &service.base_url, &service.api_key);
    ended(&said, 0, &["stored in the keyring"]);
    ended(&session.run(&me), 0, &[]);
    let seen = session.witness();
    for part in [
        format!("secret = {}", service.api_key),
        "attribute.service = formsvc".to_owned(),
        format!("attribute.username = {}|default", service.base_url),
        format!("label = formsvc API key of profile default at {}", service.base_url),
    ] {
        assert!(seen.contains(&part), "{part}: {seen}");
    }
    assert_eq!(home.files_with(&service.api_key), [""; 0].map(std::path::PathBuf::from));
    drop(session);
    let later = Session::unlocked(&home);
    ended(&later.run(&me), 0, &[]);
    ended(&later.run(&["auth", "logout"]), 0, &["removed from the keyring"]);
    assert!(!later.witness().contains("attribute"), "{}", later.witness());
    ended(&later.run(&me), 4, &["no API key"]);
}

#[test]
fn a_key_that_is_kept_goes_to_no_other_address() {
    let Some(home) = Home::or_skip() else { return };
    let session = Session::unlocked(&home);
    keep(session.formsvc(&LOGIN));
    for other in ["http://127.0.0.1:10", "http://localhost:9", "http://127.0.0.1:9/a"] {
        let said = session.run(&["me", "--base-url", other]);
        ended(&said, 4, &["no API key", "is sent only to"]);
    }
    for same in ["http://127.0.0.1:9/", "HTTP://127.1:09"] {
        // It has a key, and finds nobody to show it to.
        ended(&session.run(&["me", "--base-url", same]), 6, &[]);
    }
}

#[test]
fn a_keyring_that_nobody_has_unlocked_is_called_locked() {
    let Some(home) = Home::or_skip() else { return };
    let session = Session::locked(&home);
    let said = session.run(&["me", "--base-url", NOWHERE]);
    ended(&said, 4, &["no API key", "the keyring is locked"]);
    ended(&said, 4, &WAYS);
    let said = log_in(session.formsvc(&LOGIN), NOWHERE, KEY);
    ended(&said, 4, &["the keyring is locked"]);
    ended(&said, 4, &WAYS);
    assert!(!home.config("credentials.toml").exists(), "nothing is kept in its place");
    assert!(!home.config("config.toml").exists(), "no profile knows of a key that is not kept");
}

#[test]
fn a_key_in_a_locked_keyring_is_not_called_missing_and_not_called_removed() {
    let Some(home) = Home::or_skip() else { return };
    keep(Session::unlocked(&home).formsvc(&LOGIN));
    let locked = Session::locked(&home);
    let said = locked.run(&["auth", "token"]);
    ended(&said, 4, &["the keyring is locked"]);
    ended(&said, 4, &WAYS);
    let said = locked.run(&["auth", "logout"]);
    ended(&said, 10, &["may still be in the keyring", "the keyring is locked", "unlock"]);
    drop(locked);
    // Nor is it forgotten that it is there.
    let unlocked = Session::unlocked(&home);
    assert_eq!(unlocked.run(&["auth", "token"]).stdout, format!("{KEY}\n"));
    ended(&unlocked.run(&["auth", "logout"]), 0, &["removed from the keyring"]);
}

#[test]
fn a_key_that_changes_its_store_leaves_one_copy() {
    let Some(home) = Home::or_skip() else { return };
    let session = Session::unlocked(&home);
    let file = home.config("credentials.toml");
    for _ in 0..2 {
        keep(session.formsvc(&login_to("keyring")));
        assert!(session.witness().contains(KEY));
        assert!(home.files_with(KEY).is_empty(), "{:?}", home.files_with(KEY));
        assert_eq!(session.run(&["auth", "token"]).stdout, format!("{KEY}\n"));
        keep(session.formsvc(&login_to("file")));
        assert!(!session.witness().contains("attribute"), "{}", session.witness());
        assert_eq!(home.files_with(KEY), std::slice::from_ref(&file));
        assert_eq!(session.run(&["auth", "token"]).stdout, format!("{KEY}\n"));
    }
    ended(&session.run(&["auth", "logout"]), 0, &["removed from"]);
    assert!(home.files_with(KEY).is_empty(), "{:?}", home.files_with(KEY));
}

#[cfg(target_os = "linux")]
#[test]
fn a_move_to_the_keyring_that_is_killed_leaves_the_key_before_or_the_new_one() {
    use crate::auth::steps::{hold, kill, start_login};
    use crate::support::wait_until_open;

    let Some(home) = Home::or_skip() else { return };
    let session = Session::unlocked(&home);
    keep(session.formsvc(&login_to("file")));
    let token = || session.run(&["auth", "token", "--base-url", NOWHERE]).stdout;
    let to_keyring = || {
        let mut login = session.formsvc(&login_to("keyring"));
        login.args(["--base-url", NOWHERE, "--api-key-stdin"]);
        start_login(login)
    };
    let recorded = |store: &str| {
        let config = std::fs::read_to_string(home.config("config.toml")).unwrap();
        assert!(config.contains(&format!("store = \"{store}\"")), "{config}");
    };
    // The keyring has the new key, and the configuration does not say so.
    let held = hold(&home.config(".config.lock"));
    let child = to_keyring();
    wait_until_open(&child, &home.config(".config.lock"));
    kill(child);
    assert_eq!(token().trim_end(), KEY);
    recorded("file");
    // The configuration says so, and the file has the key before.
    let child = to_keyring();
    wait_until_open(&child, &home.config(".config.lock"));
    let held_next = hold(&home.config("credentials.lock"));
    drop(held);
    wait_until_open(&child, &home.config("credentials.lock"));
    kill(child);
    drop(held_next);
    assert_eq!(token().trim_end(), SECRET);
    recorded("keyring");
    ended(&session.run(&["auth", "logout"]), 0, &["removed from the keyring", "credentials.toml"]);
}

#[test]
fn without_a_bus_there_is_no_keyring_and_none_is_started() {
    let home = Home::new();
    let said: Said = home.formsvc(&["me", "--base-url", NOWHERE]).output().unwrap().into();
    ended(&said, 4, &["there is no keyring", "D-Bus"]);
    ended(&said, 4, &WAYS);
    let said = log_in(home.formsvc(&LOGIN), NOWHERE, KEY);
    ended(&said, 4, &["there is no keyring"]);
    ended(&said, 4, &WAYS);
    assert!(home.files_with("").is_empty(), "{:?}", home.files_with(""));
    // The first of the ways works as it is told.
    keep(home.formsvc(&login_to("file")));
    let said: Said = home.formsvc(&["auth", "token"]).output().unwrap().into();
    assert_eq!(said.stdout, format!("{KEY}\n"));
    let said: Said = home.formsvc(&["auth", "logout"]).output().unwrap().into();
    ended(&said, 0, &[]);
    assert!(home.files_with(KEY).is_empty());
}

#[test]
fn a_key_in_a_keyring_that_is_not_there_today_is_not_called_removed() {
    let Some(home) = Home::or_skip() else { return };
    keep(Session::unlocked(&home).formsvc(&LOGIN));
    let said: Said = home.formsvc(&["auth", "logout"]).output().unwrap().into();
    ended(&said, 10, &["may still be in the keyring", "D-Bus"]);
    // Another key can be stored, with a warning about the old copy.
    let said = log_in(home.formsvc(&login_to("file")), NOWHERE, "fsk_newer");
    ended(&said, 0, &["a copy of the key may still be in the keyring"]);
    let said: Said = home.formsvc(&["auth", "token"]).output().unwrap().into();
    assert_eq!(said.stdout, "fsk_newer\n");
}

#[test]
fn a_session_in_which_nothing_keeps_secrets_has_no_keyring() {
    let Some(home) = Home::or_skip() else { return };
    let session = Session::without_a_keyring(&home);
    let said = session.run(&["me", "--base-url", NOWHERE]);
    ended(&said, 4, &["there is no keyring", "this session has no secret service"]);
    ended(&said, 4, &WAYS);
}

#[test]
fn a_keyring_that_never_answers_is_given_up_after_three_seconds() {
    let Some(home) = Home::or_skip() else { return };
    let session = Session::silent(&home);
    given_up_in_time(|| {
        let said = session.run(&["me", "--base-url", NOWHERE]);
        ended(&said, 4, &["the keyring did not answer within 3 s"]);
        ended(&said, 4, &WAYS);
    });
}

#[test]
fn a_bus_that_never_answers_is_given_up_after_three_seconds_and_a_key_in_the_file_is_found() {
    let home = Home::new();
    let socket = home.path().join("bus");
    // It takes connections, and says nothing.
    let listener = UnixListener::bind(&socket).unwrap();
    let address = format!("unix:path={}", socket.display());
    listener.set_nonblocking(true).unwrap();
    let run = |args: &[&str]| -> Said {
        let mut formsvc = home.formsvc(args);
        formsvc.env("DBUS_SESSION_BUS_ADDRESS", &address).output().unwrap().into()
    };
    given_up_in_time(|| {
        let said = run(&["me", "--base-url", NOWHERE]);
        ended(&said, 4, &["the keyring did not answer within 3 s"]);
        assert!(listener.accept().is_ok(), "the bus was not even asked");
    });
    while listener.accept().is_ok() {}
    // A profile whose key is in the file asks no keyring for it.
    keep(home.formsvc(&login_to("file")));
    let said = run(&["auth", "token"]);
    assert_eq!(said.stdout, format!("{KEY}\n"), "{}", said.stderr);
    assert!(listener.accept().is_err(), "the bus was asked");
    // Without a configuration, the file is searched before the keyring.
    std::fs::remove_file(home.config("config.toml")).unwrap();
    let said = run(&["auth", "token", "--base-url", NOWHERE]);
    assert_eq!(said.stdout, format!("{KEY}\n"), "{}", said.stderr);
    assert!(listener.accept().is_err(), "the bus was asked");
}

#[test]
fn a_store_that_is_switched_off_is_not_asked() {
    let Some(home) = Home::or_skip() else { return };
    let session = Session::unlocked(&home);
    let with = |store: &str, args: &[&str]| {
        let mut formsvc = session.formsvc(args);
        formsvc.env("FORMSVC_CREDENTIAL_STORE", store);
        formsvc
    };
    keep(with("file", &LOGIN));
    assert_eq!(home.files_with(KEY), [home.config("credentials.toml")]);
    let token = |store: &str| -> Said { with(store, &["auth", "token"]).output().unwrap().into() };
    assert_eq!(token("file").stdout, format!("{KEY}\n"));
    ended(&token("keyring"), 4, &["no API key"]);
    ended(&token("nowhere"), 2, &["FORMSVC_CREDENTIAL_STORE"]);
}

#[test]
fn signing_secrets_are_stored_in_the_keyring_beside_the_key() {
    let secret = "whsec_of_an_endpoint_in_the_keyring";
    let Some(home) = Home::or_skip() else { return };
    let session = Session::unlocked(&home);
    keep(session.formsvc(&LOGIN));
    let mut add = session.formsvc(&["webhook", "secret", "add", "new"]);
    add.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = add.spawn().unwrap();
    child.stdin.take().unwrap().write_all(secret.as_bytes()).unwrap();
    let said: Said = child.wait_with_output().unwrap().into();
    ended(&said, 0, &["the signing secret `new` is stored in the keyring"]);
    let seen = session.witness();
    for part in [secret, "formsvc signing secrets of profile default", KEY] {
        assert!(seen.contains(part), "{part}: {seen}");
    }
    assert!(home.files_with(secret).is_empty());
    let said = session.run(&["webhook", "secret", "list", "--output", "tsv"]);
    assert_eq!(said.stdout, "new\ttrue\tkeyring\n", "{}", said.stderr);
    let listen = ["webhook", "listen", "--port=0", "--no-store", "--max-time=1ms"];
    ended(&session.run(&listen), 0, &["verifies with the secret new"]);
    // The API key is removed alone.
    ended(&session.run(&["auth", "logout"]), 0, &["removed from the keyring"]);
    drop(session);
    let locked = Session::locked(&home);
    ended(&locked.run(&["webhook", "secret", "list"]), 4, &["the keyring is locked"]);
    let warning = "stored signing secrets cannot be read: the keyring is locked";
    ended(&locked.run(&listen), 0, &[warning, "no signing secret"]);
    drop(locked);
    let session = Session::unlocked(&home);
    ended(&session.run(&["webhook", "secret", "remove", "new"]), 0, &["is removed"]);
    assert!(!session.witness().contains(secret), "{}", session.witness());
}
