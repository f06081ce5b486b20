//! `formsvc sandbox` with generated forms and without a rate limit: the service that clients read from.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::cli::Options;
use crate::error::BenchError;
use crate::process::{ServerProcess, workspace_program};

/// Variables that `formsvc` and the peers read.
pub(crate) const BASE_URL: &str = "FORMSVC_BASE_URL";
pub(crate) const API_KEY: &str = "FORMSVC_API_KEY";

/// A running sandbox.
pub(crate) struct Sandbox {
    /// Path of the `formsvc` to measure.
    pub(crate) formsvc: PathBuf,
    ready: Ready,
    _process: ServerProcess,
}

/// Content of the ready file.
#[derive(Deserialize)]
struct Ready {
    base_url: String,
    api_key: String,
    forms: Vec<ReadyForm>,
}

#[derive(Deserialize)]
struct ReadyForm {
    id: String,
    public_id: String,
}

impl Sandbox {
    /// Starts a sandbox with forms of a public id and a number of submissions each.
    pub(crate) fn start(
        options: &Options,
        dir: &Path,
        forms: &[(&str, u64)],
    ) -> Result<Self, BenchError> {
        let formsvc = workspace_program(options.formsvc.as_ref(), "formsvc")?;
        let ready_file = dir.join("ready.json");
        let mut command = Command::new(&formsvc);
        command.args(["--quiet", "sandbox", "--port", "0", "--rate-limit", "off"]);
        command.arg("--database").arg(dir.join("sandbox.db")).arg("--ready-file").arg(&ready_file);
        for (public_id, submissions) in forms {
            command.args(["--generate", &format!("{public_id}={submissions}")]);
        }
        let mut process = ServerProcess::start(&mut command)?;
        let ready = process.wait_for_file(&ready_file)?;
        Ok(Self { formsvc, ready, _process: process })
    }

    pub(crate) fn form_id(&self, public_id: &str) -> Result<&str, BenchError> {
        let form = self.ready.forms.iter().find(|form| form.public_id == public_id);
        form.map(|form| &*form.id)
            .ok_or_else(|| BenchError::new(format!("the sandbox has no form `{public_id}`")))
    }

    /// Passes the base URL and the key to a command.
    pub(crate) fn authorize(&self, command: &mut Command) {
        command.env(BASE_URL, &self.ready.base_url).env(API_KEY, &self.ready.api_key);
    }
}
