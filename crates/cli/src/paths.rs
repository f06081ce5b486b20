//! Where configuration, state and caches are on this system.

use std::path::PathBuf;

use etcetera::base_strategy::{BaseStrategy, Xdg};

use crate::env::{self, Lookup};

/// Name of our folder in each of the base folders.
const FOLDER: &str = "formsvc";

/// Our folders; none of them needs to exist. Absent where neither a variable nor a home folder says
/// where they are.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    /// Configuration, and keys where no keyring keeps them: `FORMSVC_CONFIG_DIR`, or
    /// `formsvc` in the XDG configuration folder.
    pub config: Option<PathBuf>,
    /// What is to be kept between runs: `FORMSVC_STATE_DIR`, or `formsvc` in the XDG state folder.
    pub state: Option<PathBuf>,
    /// What may be lost at any time: `formsvc` in the XDG cache folder.
    pub cache: Option<PathBuf>,
}

impl Paths {
    /// The folders as the environment has them.
    pub(crate) fn of(env: Lookup<'_>) -> Self {
        let own = |name: &str| env(name).filter(|path| !path.is_empty()).map(PathBuf::from);
        // The same on every system, as people expect of a tool for the shell.
        let base = Xdg::new().ok();
        let under = |folder: Option<PathBuf>| folder.map(|folder| folder.join(FOLDER));
        Self {
            config: own(env::CONFIG_DIR.name)
                .or_else(|| under(base.as_ref().map(BaseStrategy::config_dir))),
            state: own(env::STATE_DIR.name)
                .or_else(|| under(base.as_ref().and_then(BaseStrategy::state_dir))),
            cache: under(base.as_ref().map(BaseStrategy::cache_dir)),
        }
    }
}
