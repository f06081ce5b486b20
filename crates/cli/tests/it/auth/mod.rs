//! `formsvc auth`: keys in a temporary home folder. No keyring is available, because the
//! environment contains no bus address.

mod checks;
#[cfg(target_os = "linux")]
mod closed;
mod login;
mod logout;
mod origins;
#[cfg(unix)]
mod prompt;
mod status;
#[cfg(target_os = "linux")]
pub(crate) mod steps;
#[cfg(unix)]
mod trouble;

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::support::{Said, Sandbox, formsvc};

/// The home folder of a test user.
struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// Returns the binary with this home folder.
    fn formsvc(&self, args: &[&str]) -> Command {
        let mut command = formsvc(args);
        command.env("HOME", self.folder.path()).env("PATH", "/usr/bin:/bin");
        command.current_dir(self.folder.path());
        command
    }

    fn run(&self, args: &[&str]) -> Said {
        self.formsvc(args).output().unwrap().into()
    }

    /// Runs the command, asserts success, and returns standard output.
    #[track_caller]
    fn succeed(&self, args: &[&str]) -> String {
        let said = self.run(args);
        assert_eq!(said.code, Some(0), "{args:?} said: {}", said.stderr);
        said.stdout
    }

    /// Runs the command with text on standard input.
    fn run_with(&self, stdin: &str, args: &[&str]) -> Said {
        piped(self.formsvc(args), stdin)
    }

    /// Logs in with a key, which is stored in the key file.
    #[track_caller]
    fn log_in(&self, profile: &str, base_url: &str, key: &str, more: &[&str]) {
        let login = ["auth", "login", "--api-key-stdin", "--store", "file"];
        let service = ["--profile", profile, "--base-url", base_url];
        let said = self.run_with(key, &[&login, &service[..], more].concat());
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        assert_eq!(said.stdout, "");
    }

    fn config_folder(&self) -> PathBuf {
        self.folder.path().join(".config/formsvc")
    }

    fn config(&self) -> String {
        std::fs::read_to_string(self.config_folder().join("config.toml")).unwrap_or_default()
    }

    fn key_file(&self) -> PathBuf {
        self.config_folder().join("credentials.toml")
    }

    fn kept(&self) -> String {
        std::fs::read_to_string(self.key_file()).unwrap_or_default()
    }

    fn config_lock(&self) -> PathBuf {
        self.config_folder().join(".config.lock")
    }

    fn key_lock(&self) -> PathBuf {
        self.config_folder().join("credentials.lock")
    }

    /// Asserts that neither the config file nor the key file was written.
    #[track_caller]
    fn assert_untouched(&self) {
        let left = std::fs::read_dir(self.folder.path()).unwrap().count();
        assert_eq!(left, 0, "{:?} {:?}", self.config(), self.kept());
    }
}

/// Runs a command with text on standard input.
fn piped(mut command: Command, stdin: &str) -> Said {
    let streams = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = streams.spawn().unwrap();
    // The command may end without reading its input.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    child.wait_with_output().unwrap().into()
}

/// The email address of the user with the API key that the sandbox prints.
const OWNER: &str = "sandbox@formsvc.invalid";

/// A response to `/api/v1/me`.
fn me() -> Option<String> {
    crate::support::answer("200 OK", "", r#"{"id":"usr_1","email":"ada@example.org","name":"Ada"}"#)
}

/// A response that refuses the key.
fn refusal() -> Option<String> {
    let body = r#"{"error":{"code":"invalid_key","message":"no"}}"#;
    crate::support::answer("401 Unauthorized", "", body)
}

/// A base URL with a closed port.
fn nowhere() -> String {
    let port = crate::support::closed_address().port();
    format!("http://127.0.0.1:{port}")
}

/// A sandbox, and a home folder that is logged in to it.
fn signed_in() -> (Sandbox, Home) {
    let (sandbox, home) = (Sandbox::start(&[]), Home::new());
    home.log_in("default", &sandbox.base_url, &sandbox.api_key, &[]);
    (sandbox, home)
}
