//! `formsvc sandbox`: the service that its users' programs are measured against.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;

use crate::accounting::cpu_of;
use crate::child::{self, Background};
use crate::error::BenchError;

/// Generating takes seconds; a machine may be slow.
const PATIENCE: Duration = Duration::from_secs(300);

/// How it is started.
pub(crate) struct Settings<'a> {
    pub(crate) formsvc: &'a Path,
    /// Made, with its forms, unless it is there.
    pub(crate) database: &'a Path,
    /// Where it says that it is ready.
    pub(crate) dir: &'a Path,
    pub(crate) core: Option<usize>,
    /// Requests a minute, or `off`.
    pub(crate) rate_limit: &'a str,
    pub(crate) forms: Vec<(&'a str, u64)>,
    pub(crate) faults: &'a [&'a str],
}

/// A sandbox that answers, until it is dropped. Each has a key of its own.
pub(crate) struct Sandbox {
    keeper: Background,
    ready: Ready,
}

/// What it says once it answers.
#[derive(Deserialize)]
struct Ready {
    base_url: String,
    api_key: String,
    forms: Vec<FormRow>,
}

#[derive(Deserialize)]
struct FormRow {
    id: String,
    public_id: String,
}

impl Sandbox {
    pub(crate) fn start(settings: &Settings<'_>) -> Result<Self, BenchError> {
        let ready_file = settings.dir.join("ready.json");
        // The sandbox removes it too, but later than it might be looked for.
        remove(&ready_file)?;
        let mut command = child::this_program()?;
        command.arg("keep");
        if let Some(core) = settings.core {
            command.args(["--core", &core.to_string()]);
        }
        command.arg("--").arg(settings.formsvc).args(["--quiet", "sandbox", "--port", "0"]);
        // The key of an earlier start is known to nobody.
        command.args(["--new-key", "--rate-limit", settings.rate_limit]);
        command.arg("--database").arg(settings.database).arg("--ready-file").arg(&ready_file);
        for (form, rows) in &settings.forms {
            command.args(["--generate", &format!("{form}={rows}")]);
        }
        for fault in settings.faults {
            command.args(["--fault", fault]);
        }
        let mut keeper = Background::start(&mut command)?;
        let ready = keeper.file(&ready_file, PATIENCE)?;
        Ok(Self { keeper, ready })
    }

    pub(crate) fn base_url(&self) -> &str {
        &self.ready.base_url
    }

    pub(crate) fn api_key(&self) -> &str {
        &self.ready.api_key
    }

    pub(crate) fn form_id(&self, public_id: &str) -> Result<&str, BenchError> {
        let form = self.ready.forms.iter().find(|form| form.public_id == public_id);
        form.map(|form| &*form.id)
            .ok_or_else(|| BenchError::new(format!("the sandbox has no form `{public_id}`")))
    }

    /// Its CPU seconds.
    pub(crate) fn cpu(&self) -> Result<f64, BenchError> {
        // The only child of the child that keeps it.
        let keeper = self.keeper.pid();
        let path = format!("/proc/{keeper}/task/{keeper}/children");
        let children = fs::read_to_string(&path).map_err(BenchError::at(Path::new(&path)))?;
        let first = children.split_ascii_whitespace().next().and_then(|pid| pid.parse().ok());
        cpu_of(first.ok_or_else(|| BenchError::new("the sandbox is gone"))?)
    }

    /// Gives a program address and key where it looks for them.
    pub(crate) fn credentials(&self, command: &mut Command) {
        command.env("FORMSVC_BASE_URL", &self.ready.base_url);
        command.env("FORMSVC_API_KEY", &self.ready.api_key);
    }
}

/// Removes a file, if it is there.
pub(crate) fn remove(path: &Path) -> Result<(), BenchError> {
    match fs::remove_file(path) {
        Err(why) if why.kind() != std::io::ErrorKind::NotFound => Err(BenchError::at(path)(why)),
        _ => Ok(()),
    }
}
