//! Reads the user's file and the project file.

use std::path::{Path, PathBuf};

use super::layers::{Layer, OnBadSetting};
use crate::base::paths::Paths;
use crate::error::CliError;
use crate::settings::config::{self, ConfigFile};

/// Name of a project file.
pub(crate) const PROJECT_NAME: &str = ".formsvc.toml";

/// The settings of the files, and warnings about files that cannot be used.
#[derive(Debug, Default)]
pub(super) struct FileLayers {
    pub(super) user: Option<Layer>,
    pub(super) project: Option<Layer>,
    pub(super) warnings: Vec<String>,
}

impl FileLayers {
    pub(super) fn read(
        paths: &Paths,
        folder: Option<&Path>,
        on_bad: OnBadSetting,
    ) -> Result<Self, CliError> {
        let mut layers = Self::default();
        let user = ConfigFile::load(paths).and_then(|file| file.entries());
        layers.user = layers
            .unless_bad(user, on_bad)?
            .map(|entries| Layer { path: ConfigFile::path_in(paths).unwrap_or_default(), entries });
        if let Some(path) = folder.and_then(project_file) {
            // A file in the repository of another person must not stop commands.
            let project = config::read_project(&path);
            layers.project = layers
                .unless_bad(project, OnBadSetting::Warn)?
                .map(|entries| Layer { path, entries });
        }
        Ok(layers)
    }

    fn unless_bad<T>(
        &mut self,
        read: Result<T, CliError>,
        on_bad: OnBadSetting,
    ) -> Result<Option<T>, CliError> {
        match (read, on_bad) {
            (Ok(read), _) => Ok(Some(read)),
            (Err(error), OnBadSetting::Fail) => Err(error),
            (Err(error), OnBadSetting::Warn) => {
                self.warnings.push(format!("{}; the file is ignored", error.brief()));
                Ok(None)
            }
            (Err(_), OnBadSetting::Ignore) => Ok(None),
        }
    }
}

/// Returns the project file of a folder: in the folder itself, or in the nearest folder above, up to the
/// folder with `.git`. Outside of a repository only the folder itself counts, because a shared folder such
/// as `/tmp` is not a project.
fn project_file(folder: &Path) -> Option<PathBuf> {
    let mut found = None;
    for folder in folder.ancestors() {
        let file = folder.join(PROJECT_NAME);
        if found.is_none() && file.symlink_metadata().is_ok() {
            found = Some(file);
        }
        if folder.join(".git").symlink_metadata().is_ok() {
            return found;
        }
    }
    found.filter(|file| file.parent() == Some(folder))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn project_ends_at_its_repository() {
        let top = tempfile::tempdir().unwrap();
        let inner = top.path().join("repo/a/b");
        fs::create_dir_all(&inner).unwrap();
        let outside = top.path().join(PROJECT_NAME);
        fs::write(&outside, "").unwrap();
        assert_eq!(project_file(top.path()), Some(outside));
        assert_eq!(project_file(&inner), None, "outside of a repository");
        fs::create_dir(top.path().join("repo/.git")).unwrap();
        assert_eq!(project_file(&inner), None, "above the repository");
        let of_repo = top.path().join("repo").join(PROJECT_NAME);
        fs::write(&of_repo, "").unwrap();
        assert_eq!(project_file(&inner), Some(of_repo));
        let nearer = top.path().join("repo/a").join(PROJECT_NAME);
        fs::write(&nearer, "").unwrap();
        assert_eq!(project_file(&inner), Some(nearer));
    }
}
