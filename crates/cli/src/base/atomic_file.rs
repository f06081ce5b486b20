//! Files that appear at their path complete or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::files::folder_of;

/// A file under a temporary name. [`Self::commit`] writes it and moves it to its path; if that fails or does not
/// happen, an older file at the path stays unchanged.
#[derive(Debug)]
pub(crate) struct AtomicFile {
    path: PathBuf,
    work: NamedTempFile,
}

impl AtomicFile {
    /// Creates the file. On Unix it has this mode: 0o600 for a file that only the user can read, 0o666 for one with the
    /// permissions that the umask allows.
    pub(crate) fn create(path: &Path, mode: u32) -> io::Result<Self> {
        if path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let prefix = work_prefix(path);
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
        #[cfg(not(unix))]
        let _ = mode;
        Ok(Self { path: path.to_owned(), work: builder.tempfile_in(folder_of(path))? })
    }

    /// Writes the content to disk, moves the file to its path, and waits until both are durable.
    pub(crate) fn commit(self, content: &[u8]) -> io::Result<()> {
        let path = self.path.clone();
        self.persist(content)?;
        sync_folder(&path)
    }

    /// Writes the content to disk and moves the file to its path. After a loss of power, the older file may be back.
    pub(crate) fn persist(mut self, content: &[u8]) -> io::Result<()> {
        self.work.write_all(content)?;
        self.work.as_file().sync_all()?;
        self.work.persist(&self.path)?;
        Ok(())
    }
}

/// Makes a rename of this file durable.
fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder_of(path))?.sync_all() } else { Ok(()) }
}

/// Replaces a file atomically. The new file has mode 0600.
pub(crate) fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    AtomicFile::create(path, 0o600)?.commit(content)
}

/// Replaces the content of a file atomically. The mode stays the same, and a link stays a link. A new file
/// has mode 0600.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let path = if path.is_symlink() { fs::canonicalize(path)? } else { path.to_owned() };
    let file = AtomicFile::create(&path, 0o600)?;
    if let Ok(metadata) = fs::metadata(&path) {
        file.work.as_file().set_permissions(metadata.permissions())?;
    }
    file.commit(content)
}

/// Removes temporary files that killed runs left beside a file. Hold the lock of the file's writers.
pub(crate) fn remove_leftovers(path: &Path) -> io::Result<()> {
    let prefix = work_prefix(path);
    for entry in fs::read_dir(folder_of(path))? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(prefix.as_bytes()) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn work_prefix(path: &Path) -> String {
    format!(".{}.", path.file_name().unwrap_or_default().display())
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn replaced_file_keeps_its_mode_and_its_link() {
        let top = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let (real, link) = (top.path().join("real"), top.path().join("link"));
        replace(&real, b"1").unwrap();
        assert_eq!(mode(&real), 0o600);
        fs::set_permissions(&real, Permissions::from_mode(0o640)).unwrap();
        symlink(&real, &link).unwrap();
        replace(&link, b"2").unwrap();
        assert!(link.is_symlink());
        assert_eq!((fs::read(&real).unwrap(), mode(&real)), (b"2".to_vec(), 0o640));
    }

    #[test]
    fn removed_folder_is_an_error_of_the_sync() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("key");
        sync_folder(&path).unwrap();
        drop(top);
        assert_eq!(sync_folder(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn uncommitted_file_changes_nothing() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("report");
        fs::write(&path, "old").unwrap();
        drop(AtomicFile::create(&path, 0o666).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(top.path()).unwrap().count(), 1);
        assert!(AtomicFile::create(top.path(), 0o666).is_err());
        std::mem::forget(AtomicFile::create(&path, 0o600).unwrap());
        remove_leftovers(&path).unwrap();
        assert_eq!(fs::read_dir(top.path()).unwrap().count(), 1);
    }
}
