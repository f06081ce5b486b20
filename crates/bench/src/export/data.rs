//! The service that is exported from, and its forms.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use formsvc_protocol::{PublicId, User};
use formsvc_server::admin::Admin;
use formsvc_server::seed::{SeedOptions, seed_form};
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{Store, system_clock};
use serde::Deserialize;

use super::{Directory, drain};
use crate::accounting::cpu_of;
use crate::args::Bench;
use crate::child::{self, Background};
use crate::error::BenchError;
use crate::pin;

/// Forms as the sandbox generates them.
pub(super) const BIG: &str = "big";
pub(super) const SMALL: &str = "small";
/// The same without large answers.
pub(super) const PLAIN: &str = "plain";
pub(super) const PLAIN_SMALL: &str = "plain-small";

/// Generating takes seconds; a machine may be slow.
const PATIENCE: Duration = Duration::from_secs(300);

/// Submissions of a form.
pub(super) fn rows(bench: &Bench, form: &str) -> u64 {
    if form == SMALL || form == PLAIN_SMALL { bench.rows / 10 } else { bench.rows }
}

/// A service that answers, with forms to export.
pub(super) struct Prepared {
    pub(super) service: Background,
    ready: Ready,
    formsvc: PathBuf,
    dir: Directory,
}

/// What the sandbox says once it answers.
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

impl Prepared {
    pub(super) fn new(bench: &Bench) -> Result<Self, BenchError> {
        let (formsvc, dir) = (child::formsvc(bench)?, Directory::of(bench)?);
        // One sandbox to generate with, on all cores; then one that is kept on its core.
        let (generating, ready) = sandbox(bench, &formsvc, dir.path(), None)?;
        let runtime = drain::runtime()?;
        let owner = drain::get(&ready.base_url, "/api/v1/me", &ready.api_key);
        let owner: User = runtime.block_on(owner)?;
        drop(generating);
        runtime.block_on(seed_plain(bench, &owner, dir.path()))?;
        let (service, ready) = sandbox(bench, &formsvc, dir.path(), Some(pin::SERVER))?;
        Ok(Self { service, ready, formsvc, dir })
    }

    pub(super) fn base_url(&self) -> &str {
        &self.ready.base_url
    }

    pub(super) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(super) fn formsvc(&self) -> &Path {
        &self.formsvc
    }

    /// CPU seconds of the sandbox, which is the only child of the child that keeps it.
    pub(super) fn service_cpu(&self) -> Result<f64, BenchError> {
        cpu_of(self.sandbox_pid()?)
    }

    fn sandbox_pid(&self) -> Result<u32, BenchError> {
        let keeper = self.service.pid();
        let path = format!("/proc/{keeper}/task/{keeper}/children");
        let children = fs::read_to_string(&path).map_err(BenchError::at(Path::new(&path)))?;
        let first = children.split_ascii_whitespace().next().and_then(|pid| pid.parse().ok());
        first.ok_or_else(|| BenchError::new("the sandbox is gone"))
    }

    pub(super) fn form_id(&self, public_id: &str) -> Result<&str, BenchError> {
        let form = self.ready.forms.iter().find(|form| form.public_id == public_id);
        form.map(|form| &*form.id)
            .ok_or_else(|| BenchError::new(format!("the sandbox has no form `{public_id}`")))
    }

    /// Address and key, where `formsvc` and the floor look for them.
    pub(super) fn credentials(&self, command: &mut Command) {
        command.env("FORMSVC_BASE_URL", &self.ready.base_url);
        command.env("FORMSVC_API_KEY", &self.ready.api_key);
    }
}

/// Named after the number of rows: a directory that is kept may be used for several.
fn database(bench: &Bench, dir: &Path) -> PathBuf {
    dir.join(format!("export-{}.db", bench.rows))
}

fn sandbox(
    bench: &Bench,
    formsvc: &Path,
    dir: &Path,
    core: Option<usize>,
) -> Result<(Background, Ready), BenchError> {
    let ready_file = dir.join("ready.json");
    // The sandbox removes it too, but later than it might be looked for.
    super::remove(&ready_file)?;
    let mut command = child::this_program()?;
    command.arg("keep");
    if let Some(core) = core {
        command.args(["--core", &core.to_string()]);
    }
    command.arg("--").arg(formsvc).args(["--quiet", "sandbox", "--port", "0", "--rate-limit"]);
    command.args(["off", "--database"]).arg(database(bench, dir));
    command.arg("--ready-file").arg(&ready_file);
    for form in [BIG, SMALL] {
        command.args(["--generate", &format!("{form}={}", rows(bench, form))]);
    }
    let mut service = Background::start(&mut command)?;
    let ready = service.file(&ready_file, PATIENCE)?;
    Ok((service, ready))
}

/// Adds the forms without large answers, which the sandbox has no flag for.
async fn seed_plain(bench: &Bench, owner: &User, dir: &Path) -> Result<(), BenchError> {
    let failed = |why: &dyn std::error::Error| BenchError::caused("cannot generate", why);
    let store = SqliteStore::open(&database(bench, dir), system_clock());
    let store: Arc<dyn Store> = Arc::new(store.map_err(|why| failed(&why))?);
    let admin = Admin::new(Arc::clone(&store));
    for form in [PLAIN, PLAIN_SMALL] {
        let public_id = PublicId::new(form).expect("the names above are public ids");
        let kept = store.form_by_public_id(&public_id).await.map_err(|why| failed(&why))?;
        if kept.is_none() {
            let mut options = SeedOptions::new(public_id, rows(bench, form));
            options.large_answers = false;
            seed_form(&admin, &owner.id, &options).await.map_err(|why| failed(&why))?;
        }
    }
    store.close().await.map_err(|why| failed(&why))
}
