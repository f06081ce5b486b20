//! The service that is exported from, and its forms.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use formsvc_protocol::{PublicId, User};
use formsvc_server::admin::Admin;
use formsvc_server::seed::{SeedOptions, seed_form};
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{Store, system_clock};

use super::{Directory, drain};
use crate::args::Bench;
use crate::child;
use crate::error::BenchError;
use crate::pin;
use crate::sandbox::{Sandbox, Settings};

/// Forms as the sandbox generates them.
pub(crate) const BIG: &str = "big";
pub(crate) const SMALL: &str = "small";
/// The same without large answers.
pub(crate) const PLAIN: &str = "plain";
pub(crate) const PLAIN_SMALL: &str = "plain-small";

/// Submissions of a form.
pub(crate) fn rows(bench: &Bench, form: &str) -> u64 {
    if form == SMALL || form == PLAIN_SMALL { bench.rows / 10 } else { bench.rows }
}

/// A service that answers, with forms to export.
pub(crate) struct Prepared {
    pub(crate) service: Sandbox,
    formsvc: PathBuf,
    dir: Directory,
}

impl Prepared {
    pub(crate) fn new(bench: &Bench) -> Result<Self, BenchError> {
        let (formsvc, dir) = (child::formsvc(bench)?, Directory::of(bench)?);
        // One sandbox to generate with, on all cores; then one that is kept on its core.
        let generating = sandbox(bench, &formsvc, dir.path(), None)?;
        let runtime = drain::runtime()?;
        let owner = drain::get(generating.base_url(), "/api/v1/me", generating.api_key());
        let owner: User = runtime.block_on(owner)?;
        drop(generating);
        runtime.block_on(seed_plain(bench, &owner, dir.path()))?;
        let service = sandbox(bench, &formsvc, dir.path(), Some(pin::SERVER))?;
        Ok(Self { service, formsvc, dir })
    }

    pub(super) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(super) fn formsvc(&self) -> &Path {
        &self.formsvc
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
) -> Result<Sandbox, BenchError> {
    Sandbox::start(&Settings {
        formsvc,
        database: &database(bench, dir),
        dir,
        core,
        rate_limit: "off",
        forms: [BIG, SMALL].map(|form| (form, rows(bench, form))).to_vec(),
        faults: &[],
    })
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
