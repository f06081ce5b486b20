//! The files settings come from, as they are on the disk.

use std::path::{Path, PathBuf};

use super::layers::{Care, Layer};
use crate::base::paths::Paths;
use crate::error::CliError;
use crate::settings::config::{self, File};

/// Name of a project's file.
pub(crate) const PROJECT_NAME: &str = ".formsvc.toml";

/// The files that were read, and what is worth a word about those that were not.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) user: Option<Layer>,
    pub(super) project: Option<Layer>,
    pub(super) warnings: Vec<String>,
}

impl Files {
    /// Reads them.
    pub(super) fn read(paths: &Paths, folder: Option<&Path>, care: Care) -> Result<Self, CliError> {
        let mut files = Self::default();
        let user = File::load(paths).and_then(|file| file.entries());
        files.user = files
            .unless_wrong(user, care)?
            .map(|entries| Layer { path: File::path_in(paths).unwrap_or_default(), entries });
        if let Some(path) = folder.and_then(project_file) {
            let project = config::read_project(&path);
            // It came with somebody else's repository, which must not stop what runs there.
            files.project =
                files.unless_wrong(project, Care::Lenient)?.map(|entries| Layer { path, entries });
        }
        Ok(files)
    }

    fn unless_wrong<T>(
        &mut self,
        read: Result<T, CliError>,
        care: Care,
    ) -> Result<Option<T>, CliError> {
        match read {
            Ok(read) => Ok(Some(read)),
            Err(error) if care == Care::Strict => Err(error),
            Err(error) => {
                if care == Care::Lenient {
                    self.warnings.push(format!("{}; none of it counts", error.brief()));
                }
                Ok(None)
            }
        }
    }
}

/// The project file of a folder: its own, or that of the nearest folder above it, as far as the one
/// with `.git`. Outside of a repository only the folder's own: a file that somebody left in a folder
/// that many share, such as the one of temporary files, is nobody's project.
fn project_file(folder: &Path) -> Option<PathBuf> {
    let mut found = None;
    for above in folder.ancestors() {
        let file = above.join(PROJECT_NAME);
        if found.is_none() && file.symlink_metadata().is_ok() {
            found = Some(file);
        }
        if above.join(".git").symlink_metadata().is_ok() {
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
    fn a_project_ends_at_its_repository() {
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
