//! The environment of the programs that a command starts: the pager and the command that
//! prints the API key.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Canned, Said, one_form, run};
use crate::terminal::Terminal;

/// Variables with secrets, and a part of each value.
const SECRETS: [(&str, &str); 4] = [
    ("FORMSVC_API_KEY", "fsk_SECRET0SECRET0SECRET0SECRET0SECRET0SECRET"),
    ("FORMSVC_SIGNING_SECRET", "whsec_SECRET1SECRET1SECRET1SECRET1SECRET1SECR"),
    ("FORMSVC_SYNC_TO", "postgres://app:SECRET2@db.example/app"),
    ("PGPASSWORD", "SECRET3"),
];

/// A folder with a program that writes its environment to a file.
struct Spy(tempfile::TempDir);

impl Spy {
    fn new() -> Self {
        let spy = Self(tempfile::tempdir().unwrap());
        let script = format!("#!/bin/sh\nenv > '{}'\necho fsk_printed\n", spy.dump().display());
        std::fs::write(spy.program(), script).unwrap();
        std::fs::set_permissions(spy.program(), PermissionsExt::from_mode(0o700)).unwrap();
        spy
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn program(&self) -> PathBuf {
        self.path().join("spy")
    }

    fn dump(&self) -> PathBuf {
        self.path().join("environment")
    }

    /// Sets all secrets except one, and the variables for the spy program.
    fn prepare(&self, command: &mut Command, except: &str) {
        command.env("HOME", self.path()).env("PATH", "/usr/bin:/bin").env("VAULT_ADDR", "kept");
        command.env_remove("FORMSVC_API_KEY");
        command.envs(SECRETS.into_iter().filter(|(name, _)| *name != except));
    }

    #[track_caller]
    fn assert_no_secret(&self) {
        let dump = std::fs::read_to_string(self.dump()).unwrap();
        for (name, value) in SECRETS {
            assert!(!dump.contains(name) && !dump.contains(value), "{name}:\n{dump}");
        }
        let home = format!("HOME={}", self.path().display());
        for kept in ["VAULT_ADDR=kept", "PATH=/usr/bin:/bin", &home] {
            assert!(dump.lines().any(|line| line == kept), "{kept}:\n{dump}");
        }
    }
}

#[test]
fn pager_environment_has_no_secret() {
    let (spy, service) = (Spy::new(), Canned::start(vec![one_form()]));
    let mut command = service.formsvc(&["forms", "list", "--output", "json"]);
    spy.prepare(&mut command, "");
    command.env("PAGER", spy.program()).env("TERM", "xterm");
    assert_eq!(Terminal::start(command, (80, 5)).finish(), Some(0));
    spy.assert_no_secret();
}

#[test]
fn key_command_environment_has_no_secret() {
    let spy = Spy::new();
    let folder = spy.path().join(".config/formsvc");
    std::fs::create_dir_all(&folder).unwrap();
    let text = format!(
        "[profiles.default]\nbase_url = \"http://127.0.0.1:9\"\napi_key_command = [\"{}\"]\n",
        spy.program().display()
    );
    std::fs::write(folder.join("config.toml"), text).unwrap();
    let mut command = crate::support::formsvc(&["auth", "token"]);
    // The variable of the key takes precedence over the command.
    spy.prepare(&mut command, "FORMSVC_API_KEY");
    let said = Said::from(command.output().unwrap());
    assert_eq!((said.code, said.stdout.trim()), (Some(0), "fsk_printed"), "{}", said.stderr);
    spy.assert_no_secret();
}

#[test]
fn secret_variables_are_documented() {
    let help = run(&["help", "environment"]).stdout;
    assert!(SECRETS.iter().all(|(name, _)| help.contains(name)), "{help}");
}
