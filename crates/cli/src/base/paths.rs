//! The folders of configuration, state and cache.

use std::path::{Path, PathBuf};

use crate::base::env::{self, EnvVar, Lookup};

/// Name of the folder of this program in each base folder.
const FOLDER: &str = "formsvc";
/// Name of the folder for captures (stored webhook deliveries) in the state folder.
const CAPTURES: &str = "webhook";

/// The folders of this program, which need not exist. `None` if neither a variable nor a home folder gives
/// the path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paths {
    /// Configuration and key file: `FORMSVC_CONFIG_DIR`, or `formsvc` in the XDG configuration folder.
    pub config: Option<PathBuf>,
    /// Captures and other state: `FORMSVC_STATE_DIR`, or `formsvc` in the XDG state folder.
    pub state: Option<PathBuf>,
    /// Data that may be deleted at any time: `formsvc` in the XDG cache folder.
    pub cache: Option<PathBuf>,
}

impl Paths {
    /// Reads the folders from variables only, in the same way on every system. A run without a home folder
    /// stores nothing.
    pub(crate) fn of(env: Lookup<'_>) -> Self {
        let own = |variable: EnvVar| {
            let folder = env(variable.name).filter(|path| !path.is_empty())?;
            // Fails only for a relative path in a deleted working folder.
            std::path::absolute(folder).ok()
        };
        // The XDG specification ignores relative paths.
        let base = |variable: EnvVar| {
            env(variable.name).map(PathBuf::from).filter(|path| path.is_absolute())
        };
        let home = base(env::HOME).or_else(|| base(env::USERPROFILE).filter(|_| cfg!(windows)));
        let xdg = |variable: EnvVar, usual: &str| {
            let usual = || home.as_deref().map(|home: &Path| home.join(usual));
            base(variable).or_else(usual).map(|folder| folder.join(FOLDER))
        };
        Self {
            config: own(env::CONFIG_DIR).or_else(|| xdg(env::XDG_CONFIG_HOME, ".config")),
            state: own(env::STATE_DIR).or_else(|| xdg(env::XDG_STATE_HOME, ".local/state")),
            cache: xdg(env::XDG_CACHE_HOME, ".cache"),
        }
    }

    /// Returns the folder of captures. `None` without a state folder.
    pub(crate) fn captures(&self) -> Option<PathBuf> {
        self.state.as_deref().map(|state| state.join(CAPTURES))
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn config(env: &[(&str, &str)]) -> Option<String> {
        let lookup = |name: &str| {
            env.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        Paths::of(&lookup).config.map(|path| path.display().to_string())
    }

    #[test]
    #[cfg(unix)]
    fn config_folder_follows_the_variables() {
        let home = ("HOME", "/home/zoe");
        assert_eq!(config(&[home]).as_deref(), Some("/home/zoe/.config/formsvc"));
        let xdg = ("XDG_CONFIG_HOME", "/etc/xdg");
        assert_eq!(config(&[home, xdg]).as_deref(), Some("/etc/xdg/formsvc"));
        let own = ("FORMSVC_CONFIG_DIR", "/tmp/forms");
        assert_eq!(config(&[home, xdg, own]).as_deref(), Some("/tmp/forms"));
        let here = std::env::current_dir().unwrap().join("forms").display().to_string();
        assert_eq!(config(&[("FORMSVC_CONFIG_DIR", "forms")]), Some(here));
    }

    #[test]
    #[cfg(unix)]
    fn relative_path_is_not_a_home_folder() {
        for home in ["", "zoe", "./zoe"] {
            assert_eq!(config(&[("HOME", home)]), None, "{home:?}");
            assert_eq!(config(&[("XDG_CONFIG_HOME", home)]), None, "{home:?}");
        }
        assert_eq!(config(&[]), None);
    }
}
