//! The reference service, and an empty folder in which the programs run.

use std::path::PathBuf;
use std::process::Stdio;

use formsvc_server::faults::Faults;
use formsvc_server::serve::Running;
use formsvc_tests::service::Service;
use secrecy::ExposeSecret;
use tempfile::TempDir;
use tokio::process::Command;

pub(crate) struct Sandbox {
    pub(crate) service: Service,
    pub(crate) running: Running,
    /// Faults of the REST API.
    pub(crate) faults: Faults,
    folder: TempDir,
}

/// The output of a program that succeeded.
pub(crate) struct Output {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Sandbox {
    pub(crate) async fn start() -> Self {
        let (service, faults) = (Service::now().await, Faults::new());
        let running = service.serve_with(&faults).await;
        Self { service, running, faults, folder: tempfile::tempdir().unwrap() }
    }

    /// A sandbox with this many submissions of its form. Each has the answer `Number` from 1.
    pub(crate) async fn with_rows(rows: usize) -> Self {
        let sandbox = Self::start().await;
        for number in 1..=rows {
            sandbox.submit(&format!(r#"{{"Number":{number}}}"#)).await;
        }
        sandbox
    }

    /// Makes a submission and returns its id.
    pub(crate) async fn submit(&self, answers: &str) -> String {
        let accepted = self.service.admin.submit(&self.service.form.id, answers).await.unwrap();
        accepted.id.to_string()
    }

    /// A file in the folder of the programs.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A program with the form's id as its argument, and no other variables than those of the client.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.folder.path()).kill_on_drop(true);
        command.env("FORMSVC_BASE_URL", self.running.base_url());
        command.env("FORMSVC_API_KEY", self.service.key.expose_secret());
        command.arg(self.service.form.id.as_str()).stdin(Stdio::null());
        command
    }

    /// Runs a program.
    pub(crate) async fn run(&self, program: &str) -> Output {
        output_of(&mut self.command(program)).await
    }
}

/// Runs a command, which must succeed.
pub(crate) async fn output_of(command: &mut Command) -> Output {
    let output = command.output().await.unwrap();
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(output.status.success(), "{}: {stdout}{stderr}", output.status);
    Output { stdout, stderr }
}
