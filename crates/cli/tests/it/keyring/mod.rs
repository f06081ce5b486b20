//! Keys in a GNOME keyring on a private D-Bus session. Without the keyring's programs, these tests
//! are skipped, or fail if `FORMSVC_REQUIRE_KEYRING` is `1`.

mod session;

use std::io::Write;
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use session::{Home, Session};

use crate::support::{SECRET, Said, Sandbox};

/// A key that no service issued.
const KEY: &str = "fsk_KEPTKEPTKEPTKEPT";
/// A base URL with a closed port.
const NOWHERE: &str = "http://127.0.0.1:9";
/// Ways to provide a key without a keyring. The error, the cause and the hint contain them.
const WAYS: [&str; 3] = ["auth login --store file`", "FORMSVC_API_KEY", "`--api-key-file PATH`"];

/// Logs in with a key on standard input.
fn log_in(mut formsvc: Command, base_url: &str, key: &str) -> Said {
    formsvc.args(["--base-url", base_url, "--api-key-stdin"]);
    formsvc.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = formsvc.spawn().unwrap();
    child.stdin.take().unwrap().write_all(key.as_bytes()).unwrap();
    child.wait_with_output().unwrap().into()
}

fn store_key(formsvc: Command) {
    let said = log_in(formsvc, NOWHERE, KEY);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
}

/// Asserts that a command stops waiting for a keyring after three seconds. One run in time is
/// enough, because a busy machine can delay some runs. A later timeout or a second request would
/// delay every run.
#[track_caller]
fn assert_times_out_after_3s(run: impl Fn()) {
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
fn assert_ended(said: &Said, code: i32, told: &[&str]) {
    assert_eq!(said.code, Some(code), "{}", said.stderr);
    for told in told {
        assert!(said.stderr.contains(told), "{told}: {}", said.stderr);
    }
    assert!(!said.stderr.contains(KEY), "{}", said.stderr);
}

#[test]
fn key_is_stored_only_in_the_keyring() {
    let Some(home) = Home::or_skip() else { return };
    let service = Sandbox::start(&[]);
    let me = ["me", "--base-url", &service.base_url];
    let session = Session::unlocked(&home);
    assert_ended(&session.run(&me), 4, &["no API key"]);
    let said = log_in(session.formsvc(&["auth", "login"]), &service.base_url, &service.api_key);
    assert_ended(&said, 0, &["stored in the keyring"]);
    assert_ended(&session.run(&me), 0, &[]);
    let seen = session.list_entries();
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
    assert_ended(&later.run(&me), 0, &[]);
    assert_ended(&later.run(&["auth", "logout"]), 0, &["removed from the keyring"]);
    assert!(!later.list_entries().contains("attribute"), "{}", later.list_entries());
    assert_ended(&later.run(&me), 4, &["no API key"]);
}

#[test]
fn stored_key_is_not_sent_to_another_base_url() {
    let Some(home) = Home::or_skip() else { return };
    let session = Session::unlocked(&home);
    store_key(session.formsvc(&LOGIN));
    for other in ["http://127.0.0.1:10", "http://localhost:9", "http://127.0.0.1:9/a"] {
        let said = session.run(&["me", "--base-url", other]);
        assert_ended(&said, 4, &["no API key", "is sent only to"]);
    }
    for same in ["http://127.0.0.1:9/", "HTTP://127.1:09"] {
        // The key is found, and the request fails because the port is closed.
        assert_ended(&session.run(&["me", "--base-url", same]), 6, &[]);
    }
}

#[test]
fn locked_keyring_is_reported_as_locked() {
    let Some(home) = Home::or_skip() else { return };
    let session = Session::locked(&home);
    let said = session.run(&["me", "--base-url", NOWHERE]);
    assert_ended(&said, 4, &["no API key", "the keyring is locked"]);
    assert_ended(&said, 4, &WAYS);
    let said = log_in(session.formsvc(&LOGIN), NOWHERE, KEY);
    assert_ended(&said, 4, &["the keyring is locked"]);
    assert_ended(&said, 4, &WAYS);
    assert!(!home.config("credentials.toml").exists(), "no key file is written");
    assert!(!home.config("config.toml").exists(), "no profile without a key is written");
}

/// GNOME Keyring stores a keyring with an empty password as text. It is locked until a program unlocks it,
/// and asks for no password.
#[test]
fn keyring_with_an_empty_password_is_unlocked() {
    let Some(home) = Home::or_skip() else { return };
    let folder = home.path().join(".local/share/keyrings");
    std::fs::create_dir_all(&folder).unwrap();
    let keyring = "[keyring]\ndisplay-name=open\nctime=0\nmtime=0\nlock-on-idle=false\n\
                   lock-after=false\n";
    std::fs::write(folder.join("open.keyring"), keyring).unwrap();
    std::fs::write(folder.join("default"), "open").unwrap();
    store_key(Session::locked(&home).formsvc(&LOGIN));
    let session = Session::locked(&home);
    assert_eq!(session.run(&["auth", "token"]).stdout, format!("{KEY}\n"));
}

#[test]
fn key_in_a_locked_keyring_is_neither_missing_nor_removed() {
    let Some(home) = Home::or_skip() else { return };
    store_key(Session::unlocked(&home).formsvc(&LOGIN));
    let locked = Session::locked(&home);
    let said = locked.run(&["auth", "token"]);
    assert_ended(&said, 4, &["the keyring is locked"]);
    assert_ended(&said, 4, &WAYS);
    let said = locked.run(&["auth", "logout"]);
    assert_ended(&said, 10, &["may still be in the keyring", "the keyring is locked", "unlock"]);
    drop(locked);
    // The configuration still refers to the key in the keyring.
    let unlocked = Session::unlocked(&home);
    assert_eq!(unlocked.run(&["auth", "token"]).stdout, format!("{KEY}\n"));
    assert_ended(&unlocked.run(&["auth", "logout"]), 0, &["removed from the keyring"]);
}

#[test]
fn key_moved_to_another_store_has_one_copy() {
    let Some(home) = Home::or_skip() else { return };
    let session = Session::unlocked(&home);
    let file = home.config("credentials.toml");
    for _ in 0..2 {
        store_key(session.formsvc(&login_to("keyring")));
        assert!(session.list_entries().contains(KEY));
        assert!(home.files_with(KEY).is_empty(), "{:?}", home.files_with(KEY));
        assert_eq!(session.run(&["auth", "token"]).stdout, format!("{KEY}\n"));
        store_key(session.formsvc(&login_to("file")));
        assert!(!session.list_entries().contains("attribute"), "{}", session.list_entries());
        assert_eq!(home.files_with(KEY), std::slice::from_ref(&file));
        assert_eq!(session.run(&["auth", "token"]).stdout, format!("{KEY}\n"));
    }
    assert_ended(&session.run(&["auth", "logout"]), 0, &["removed from"]);
    assert!(home.files_with(KEY).is_empty(), "{:?}", home.files_with(KEY));
}

#[cfg(target_os = "linux")]
#[test]
fn killed_move_to_the_keyring_leaves_old_or_new_key() {
    use crate::auth::steps::{hold, kill, start_login};
    use crate::support::wait_until_open;

    let Some(home) = Home::or_skip() else { return };
    let session = Session::unlocked(&home);
    store_key(session.formsvc(&login_to("file")));
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
    // The login is killed after it stored the new key in the keyring and before it wrote the
    // configuration.
    let held = hold(&home.config(".config.lock"));
    let child = to_keyring();
    wait_until_open(&child, &home.config(".config.lock"));
    kill(child);
    assert_eq!(token().trim_end(), KEY);
    recorded("file");
    // The login is killed after it wrote the configuration and before it removed the old key from
    // the file.
    let child = to_keyring();
    wait_until_open(&child, &home.config(".config.lock"));
    let held_next = hold(&home.config("credentials.lock"));
    drop(held);
    wait_until_open(&child, &home.config("credentials.lock"));
    kill(child);
    drop(held_next);
    assert_eq!(token().trim_end(), SECRET);
    recorded("keyring");
    assert_ended(
        &session.run(&["auth", "logout"]),
        0,
        &["removed from the keyring", "credentials.toml"],
    );
}

#[test]
fn missing_bus_is_reported_and_not_started() {
    let home = Home::new();
    let said: Said = home.formsvc(&["me", "--base-url", NOWHERE]).output().unwrap().into();
    assert_ended(&said, 4, &["there is no keyring", "D-Bus"]);
    assert_ended(&said, 4, &WAYS);
    let said = log_in(home.formsvc(&LOGIN), NOWHERE, KEY);
    assert_ended(&said, 4, &["there is no keyring"]);
    assert_ended(&said, 4, &WAYS);
    assert!(home.files_with("").is_empty(), "{:?}", home.files_with(""));
    // The first of the suggested ways works.
    store_key(home.formsvc(&login_to("file")));
    let said: Said = home.formsvc(&["auth", "token"]).output().unwrap().into();
    assert_eq!(said.stdout, format!("{KEY}\n"));
    let said: Said = home.formsvc(&["auth", "logout"]).output().unwrap().into();
    assert_ended(&said, 0, &[]);
    assert!(home.files_with(KEY).is_empty());
}

#[test]
fn logout_without_the_keyring_of_the_key_fails() {
    let Some(home) = Home::or_skip() else { return };
    store_key(Session::unlocked(&home).formsvc(&LOGIN));
    let said: Said = home.formsvc(&["auth", "logout"]).output().unwrap().into();
    assert_ended(&said, 10, &["may still be in the keyring", "D-Bus"]);
    // Another key can be stored, with a warning about the old copy.
    let said = log_in(home.formsvc(&login_to("file")), NOWHERE, "fsk_newer");
    assert_ended(&said, 0, &["a copy of the key may still be in the keyring"]);
    let said: Said = home.formsvc(&["auth", "token"]).output().unwrap().into();
    assert_eq!(said.stdout, "fsk_newer\n");
}

#[test]
fn session_without_secret_service_has_no_keyring() {
    let Some(home) = Home::or_skip() else { return };
    let session = Session::without_a_keyring(&home);
    let said = session.run(&["me", "--base-url", NOWHERE]);
    assert_ended(&said, 4, &["there is no keyring", "this session has no secret service"]);
    assert_ended(&said, 4, &WAYS);
}

#[test]
fn silent_keyring_times_out_after_3s() {
    let Some(home) = Home::or_skip() else { return };
    let session = Session::silent(&home);
    assert_times_out_after_3s(|| {
        let said = session.run(&["me", "--base-url", NOWHERE]);
        assert_ended(&said, 4, &["the keyring did not respond within 3 s"]);
        assert_ended(&said, 4, &WAYS);
    });
}

#[test]
fn silent_bus_times_out_after_3s_and_key_file_is_used() {
    let home = Home::new();
    let socket = home.path().join("bus");
    // The bus accepts connections and never responds.
    let listener = UnixListener::bind(&socket).unwrap();
    let address = format!("unix:path={}", socket.display());
    listener.set_nonblocking(true).unwrap();
    let run = |args: &[&str]| -> Said {
        let mut formsvc = home.formsvc(args);
        formsvc.env("DBUS_SESSION_BUS_ADDRESS", &address).output().unwrap().into()
    };
    assert_times_out_after_3s(|| {
        let said = run(&["me", "--base-url", NOWHERE]);
        assert_ended(&said, 4, &["the keyring did not respond within 3 s"]);
        assert!(listener.accept().is_ok(), "the command did not connect to the bus");
    });
    while listener.accept().is_ok() {}
    // A profile with its key in the file does not use the keyring.
    store_key(home.formsvc(&login_to("file")));
    let said = run(&["auth", "token"]);
    assert_eq!(said.stdout, format!("{KEY}\n"), "{}", said.stderr);
    assert!(listener.accept().is_err(), "the command connected to the bus");
    // Without a configuration, the file is searched before the keyring.
    std::fs::remove_file(home.config("config.toml")).unwrap();
    let said = run(&["auth", "token", "--base-url", NOWHERE]);
    assert_eq!(said.stdout, format!("{KEY}\n"), "{}", said.stderr);
    assert!(listener.accept().is_err(), "the command connected to the bus");
}

#[test]
fn signing_secrets_are_stored_in_the_keyring_beside_the_key() {
    let secret = "whsec_of_an_endpoint_in_the_keyring";
    let Some(home) = Home::or_skip() else { return };
    let session = Session::unlocked(&home);
    store_key(session.formsvc(&LOGIN));
    let mut add = session.formsvc(&["webhook", "secret", "add", "new"]);
    add.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = add.spawn().unwrap();
    child.stdin.take().unwrap().write_all(secret.as_bytes()).unwrap();
    let said: Said = child.wait_with_output().unwrap().into();
    assert_ended(&said, 0, &["the signing secret `new` is stored in the keyring"]);
    let seen = session.list_entries();
    for part in [secret, "formsvc signing secrets of profile default", KEY] {
        assert!(seen.contains(part), "{part}: {seen}");
    }
    assert!(home.files_with(secret).is_empty());
    let said = session.run(&["webhook", "secret", "list", "--output", "tsv"]);
    assert_eq!(said.stdout, "new\ttrue\tkeyring\n", "{}", said.stderr);
    let listen = ["webhook", "listen", "--port=0", "--no-store", "--max-time=1ms"];
    assert_ended(&session.run(&listen), 0, &["verifies with the secret `new`"]);
    // Logout removes only the API key.
    assert_ended(&session.run(&["auth", "logout"]), 0, &["removed from the keyring"]);
    drop(session);
    let locked = Session::locked(&home);
    assert_ended(&locked.run(&["webhook", "secret", "list"]), 4, &["the keyring is locked"]);
    let warning = "stored signing secrets cannot be read: the keyring is locked";
    assert_ended(&locked.run(&listen), 0, &[warning, "no signing secret"]);
    drop(locked);
    let session = Session::unlocked(&home);
    assert_ended(&session.run(&["webhook", "secret", "remove", "new"]), 0, &["is removed"]);
    assert!(!session.list_entries().contains(secret), "{}", session.list_entries());
}
