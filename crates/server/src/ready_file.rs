//! The ready file: a JSON object that appears once a server answers, for whoever started it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;
use tempfile::NamedTempFile;

/// More than a ready file ever has, in bytes.
const LEN_MAX: u64 = 4 << 20;

/// The ready file could not be written or removed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} the ready file `{}`", path.display())]
pub struct ReadyFileError {
    action: &'static str,
    /// The file.
    pub path: PathBuf,
    /// What the system said.
    #[source]
    pub source: io::Error,
}

/// Writes `content` as JSON, so that a reader sees all of it or no file: a file beside it, readable
/// by its owner only since it may hold a key, is synced and renamed.
///
/// ```
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("ready.json");
/// formsvc_server::ready_file::write(&path, &serde_json::json!({"base_url": "http://[::1]:80"}))?;
/// assert_eq!(std::fs::read_to_string(path)?, "{\"base_url\":\"http://[::1]:80\"}\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write(path: &Path, content: &impl Serialize) -> Result<(), ReadyFileError> {
    let failed = |source| ReadyFileError { action: "write", path: path.to_owned(), source };
    try_write(path, content).map_err(failed)
}

fn try_write(path: &Path, content: &impl Serialize) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    // Created with mode 0600.
    let mut file = NamedTempFile::new_in(directory.unwrap_or(Path::new(".")))?;
    serde_json::to_writer(&mut file, content)?;
    file.write_all(b"\n")?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// Removes the file where there is one: at the start, what a run that was killed left; at the end,
/// before the server stops to answer. Its presence means that the server answers.
///
/// What is no ready file, a JSON object with a `base_url`, is left alone and refused with
/// [`InvalidData`](io::ErrorKind::InvalidData): the path may have been a slip.
pub fn clear(path: &Path) -> Result<(), ReadyFileError> {
    match base_url(path).and_then(|_| std::fs::remove_file(path)) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(ReadyFileError { action: "remove", path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}

/// Whether a ready file may be written there: nothing is, or one that an earlier run left.
pub fn check(path: &Path) -> Result<(), ReadyFileError> {
    match base_url(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(ReadyFileError { action: "replace", path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}

/// Where the server answers that wrote the file.
pub fn base_url(path: &Path) -> io::Result<String> {
    // Before it is opened: opening a pipe waits for whoever writes to it.
    let text = if std::fs::symlink_metadata(path)?.is_file() {
        let mut text = Vec::new();
        File::open(path)?.take(LEN_MAX).read_to_end(&mut text)?;
        text
    } else {
        Vec::new()
    };
    let found: Option<Value> = serde_json::from_slice(&text).ok();
    let base_url = found.as_ref().and_then(|found| found.get("base_url")?.as_str());
    base_url.map(str::to_owned).ok_or_else(|| {
        let what = "what is there is no ready file: a JSON object with a `base_url`";
        io::Error::new(io::ErrorKind::InvalidData, what)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ready.json");
        std::fs::write(&path, "old").unwrap();
        write(&path, &serde_json::json!({})).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}\n");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn only_a_ready_file_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ready.json");
        for other in ["", "precious", "{}", "[1]", r#"{"base_url":7}"#, r#"{"base_url":"#] {
            std::fs::write(&path, other).unwrap();
            let refused = clear(&path).unwrap_err();
            assert_eq!(refused.source.kind(), io::ErrorKind::InvalidData, "{other}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), other);
        }
        assert!(clear(dir.path()).is_err(), "a directory");
        write(&path, &serde_json::json!({"base_url": "http://[::1]:80", "pid": 1})).unwrap();
        clear(&path).unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn what_cannot_be_written_names_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let error = write(&dir.path().join("no/such/dir"), &()).unwrap_err();
        assert!(error.to_string().contains("no/such/dir"));
        clear(&dir.path().join("absent")).unwrap();
    }
}
