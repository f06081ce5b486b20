//! Deliveries and secrets in files.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{Said, formsvc};

/// A signing secret in the format of the service.
pub(crate) const SECRET: &str = "whsec_1Ja0vTGXn2LQ6Zt9c4Kp8RbY3mDsWfHuEoAiPxNkVgB";
/// The secret before rotation.
pub(crate) const OLD_SECRET: &str = "whsec_9zQkF5uLx7Ty2WmJr4VdNc1GsHb8PaEoI6Kt3XvRgZn";
/// A delivery body in the format of the service.
pub(crate) const BODY: &str = r#"{"event":"submission.created","submission_id":"sub_1","form_id":"frm_1","form_title":"Größe","data":{"n":9007199254740993,"path":"a\/b","price":1.10},"created_at":"2026-01-01T00:00:00.000Z"}"#;

/// A folder with private files.
pub(crate) struct Files(tempfile::TempDir);

impl Files {
    /// Creates `secret.txt` and `delivery.json`.
    pub(crate) fn new() -> Self {
        let files = Self(tempfile::tempdir().unwrap());
        files.write("secret.txt", format!("{SECRET}\n").as_bytes());
        files.write("delivery.json", BODY.as_bytes());
        files
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        }
        path
    }

    /// Returns a command that runs in the folder. The argument `@delivery.sig` is replaced by the content of that
    /// file, as `$(cat delivery.sig)` in a shell.
    pub(crate) fn formsvc(&self, args: &[&str]) -> Command {
        let signature = std::fs::read_to_string(self.path().join("delivery.sig"));
        let signature = signature.unwrap_or_default();
        let args: Vec<_> = args
            .iter()
            .map(|arg| if *arg == "@delivery.sig" { signature.trim_end() } else { arg })
            .collect();
        let mut command = formsvc(&args);
        command.current_dir(self.path());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Said {
        self.formsvc(args).output().unwrap().into()
    }

    /// Runs with these bytes as standard input.
    pub(crate) fn feed(&self, args: &[&str], stdin: &[u8]) -> Said {
        let mut command = self.formsvc(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        // The command may end before it has read its input.
        let _ = pipe.write_all(stdin);
        drop(pipe);
        child.wait_with_output().unwrap().into()
    }

    /// Runs the command, asserts success, and returns standard output.
    #[track_caller]
    pub(crate) fn succeed(&self, args: &[&str]) -> String {
        let said = self.run(args);
        assert_eq!(said.code, Some(0), "{args:?} said: {}", said.stderr);
        said.stdout
    }
}
