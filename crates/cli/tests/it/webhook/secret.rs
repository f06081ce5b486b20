//! `formsvc webhook secret`: signing secrets that are stored in a file.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::listen::listener::{Listener, OTHER_SECRET, SECRET, event, of_type, records, signature};
use super::recorder::Recorder;
use crate::support::{Said, formsvc};

/// The home folder of a user with the file as the store of secrets.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn env<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .env("FORMSVC_CONFIG_DIR", self.0.path().join("config"))
            .env("FORMSVC_STATE_DIR", self.0.path().join("state"))
    }

    fn run(&self, args: &[&str]) -> Said {
        self.env(&mut formsvc(args)).output().unwrap().into()
    }

    fn add(&self, args: &[&str], secret: &str) -> Said {
        let mut command =
            formsvc(&[&["webhook", "secret", "add", "--store", "file"], args].concat());
        self.env(&mut command).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(secret.as_bytes()).unwrap();
        child.wait_with_output().unwrap().into()
    }

    fn file(&self) -> std::path::PathBuf {
        self.0.path().join("config/credentials.toml")
    }
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn stored_secret_verifies_until_it_is_removed() {
    let home = Home::new();
    let said = home.add(&[], &format!("{OTHER_SECRET}\n"));
    assert_eq!((said.code, &*said.stdout), (Some(0), ""), "{}", said.stderr);
    assert!(said.stderr.contains("`default` is stored in"), "{}", said.stderr);
    assert!(!said.stderr.contains(OTHER_SECRET), "{}", said.stderr);
    assert_eq!(mode(&home.file()), 0o600);
    // After a rotation, the new secret is the current one, and both verify.
    assert_eq!(home.add(&["new"], SECRET).code, Some(0));
    let listed = home.run(&["webhook", "secret", "list", "--output", "tsv"]);
    assert_eq!(listed.stdout, "new\ttrue\tfile\ndefault\tfalse\tfile\n", "{}", listed.stderr);
    let said = home.run(&["webhook", "secret", "remove", "old"]);
    assert!(said.stderr.contains("hint: stored: new, default"), "{}", said.stderr);
    let said = home.add(&["empty"], "");
    assert!(said.stderr.contains("`webhook secret add < FILE`"), "{}", said.stderr);
    let listener = Listener::with(&["--no-store", "--output=ndjson"], |command| home.env(command));
    let body = event("sub_1");
    for secret in [SECRET, OTHER_SECRET] {
        assert_eq!(listener.post(&signature(secret, 0, &body), &body).status(), 200);
    }
    let records = records(&listener.terminate().stdout);
    let names: Vec<_> =
        of_type(&records, "delivery").iter().map(|record| &record["secret"]).collect();
    assert_eq!(names, ["new", "default"]);
    for args in [&["default"][..], &["new"]] {
        let said = home.run(&[&["webhook", "secret", "remove"], args].concat());
        assert_eq!(said.code, Some(0), "{}", said.stderr);
    }
    assert!(!home.file().exists());
    let said = home.run(&["webhook", "secret", "remove"]);
    assert_eq!(said.code, Some(3), "{}", said.stderr);
}

#[test]
fn secret_as_a_name_is_refused_and_not_repeated() {
    let home = Home::new();
    for said in [
        home.add(&[OTHER_SECRET], SECRET),
        home.run(&["webhook", "secret", "remove", OTHER_SECRET]),
    ] {
        assert!(said.code == Some(2) || said.code == Some(3), "{}", said.stderr);
        assert!(!said.stderr.contains(OTHER_SECRET), "{}", said.stderr);
    }
    assert!(!home.file().exists());
    let said = home.add(&[OTHER_SECRET], SECRET);
    assert!(
        said.stderr.contains("it looks like a secret, and names are printed"),
        "{}",
        said.stderr
    );
    assert!(said.stderr.contains("replace this signing secret"), "{}", said.stderr);
}

#[test]
fn flag_and_variable_precede_the_stored_secret() {
    let home = Home::new();
    assert_eq!(home.add(&[], OTHER_SECRET).code, Some(0));
    let listener = Listener::with(&["--no-store"], |command| {
        home.env(command).env("FORMSVC_SIGNING_SECRET", SECRET)
    });
    let body = event("sub_1");
    assert_eq!(listener.deliver(&body).status(), 200);
    assert_eq!(listener.post(&signature(OTHER_SECRET, 0, &body), &body).status(), 401);
}

#[test]
fn generated_deliveries_are_not_signed_with_a_stored_secret() {
    let home = Home::new();
    assert_eq!(home.add(&[], OTHER_SECRET).code, Some(0));
    let receiver = Recorder::of(&[200]);
    let url = receiver.url("/hook");
    for args in [&["webhook", "trigger", &url][..], &["webhook", "check", &url]] {
        let said = home.run(args);
        assert_eq!(said.code, Some(2), "{args:?}: {}", said.stderr);
        assert!(said.stderr.contains("never uses stored secrets"), "{args:?}: {}", said.stderr);
    }
    let demo = ["--demo", "webhook", "listen", "--count", "1", "--forward-to", &url];
    let said = home.run(&demo);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("export FORMSVC_SIGNING_SECRET=whsec_"), "{}", said.stderr);
    assert!(!said.stderr.contains(OTHER_SECRET), "{}", said.stderr);
}

#[test]
fn stored_secret_replays_only_valid_captures() {
    let home = Home::new();
    assert_eq!(home.add(&[], SECRET).code, Some(0));
    let receiver = Recorder::of(&[200]);
    let url = receiver.url("/hook");
    let listener = Listener::with(&["--forward-to", &url], |command| home.env(command));
    let body = event("sub_1");
    assert_eq!(listener.deliver(&body).status(), 200);
    assert_eq!(listener.post(&signature(OTHER_SECRET, 0, &body), &body).status(), 401);
    assert_eq!(listener.terminate().code, Some(0));
    receiver.got();
    let said = home.run(&["webhook", "replay", "1"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    receiver.got();
    let said = home.run(&["webhook", "replay", "2", "--to", &url]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(said.stderr.contains("stored secrets sign only captures with a valid signature"));
    assert!(receiver.is_silent());
    let mut given = formsvc(&["webhook", "replay", "2", "--to", &url]);
    let said: Said =
        home.env(&mut given).env("FORMSVC_SIGNING_SECRET", SECRET).output().unwrap().into();
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    receiver.got();
}

#[test]
fn wrong_name_or_secret_is_refused_and_not_printed() {
    let home = Home::new();
    assert_eq!(home.add(&[], SECRET).code, Some(0));
    for (args, secret, why) in [
        (&["a b"][..], OTHER_SECRET, "a name has 1 to 64 characters"),
        (&[], OTHER_SECRET, "with the name `default` already"),
        (&["other"], SECRET, "is stored already, with the name `default`"),
        (&["other"], "short", "signing secret `other`"),
        (&["other"], "", "is empty"),
        (&["other"], "whsec_one whsec_two", "more than one word"),
    ] {
        let said = home.add(args, secret);
        assert_eq!(said.code, Some(2), "{args:?}: {}", said.stderr);
        assert!(said.stderr.contains(why), "{args:?}: {}", said.stderr);
        assert!(!said.stderr.contains("whsec_"), "{}", said.stderr);
    }
    // The profile has no API key.
    let said = home.run(&["auth", "logout"]);
    assert!(said.stderr.contains("no key is stored"), "{}", said.stderr);
    let listed = home.run(&["webhook", "secret", "list", "--json", "name"]);
    assert!(listed.stdout.contains(r#"{"name":"default"}"#), "{}", listed.stdout);
    assert_eq!(home.run(&["webhook", "secret", "remove", "--all"]).code, Some(0));
    assert!(!home.file().exists());
}
