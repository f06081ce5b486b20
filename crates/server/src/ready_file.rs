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

/// Removes at the start what a run that was killed left: a file whose process is gone. That of a process
/// that runs stays until this one answers and writes its own, for it may answer as long. Its presence means
/// that a server answers.
///
/// What is no ready file is refused as by [`clear`].
pub fn clear_stale(path: &Path) -> Result<(), ReadyFileError> {
    let is_stale = |pid| pid == std::process::id() || !runs(pid);
    if pid(path).is_some_and(is_stale) { clear(path) } else { check(path) }
}

/// Removes the file at the end, unless another process has written its own meanwhile.
pub fn clear_own(path: &Path) -> Result<(), ReadyFileError> {
    if pid(path).is_some_and(|pid| pid != std::process::id()) { Ok(()) } else { clear(path) }
}

/// Removes the file where there is one, whoever wrote it.
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
    let found = read(path)?;
    let base_url = found.as_ref().and_then(|found| found.get("base_url")?.as_str());
    base_url.map(str::to_owned).ok_or_else(|| {
        let what = "what is there is no ready file: a JSON object with a `base_url`";
        io::Error::new(io::ErrorKind::InvalidData, what)
    })
}

/// The process that wrote the file.
fn pid(path: &Path) -> Option<u32> {
    let found = read(path).ok()??;
    // Only of a ready file.
    found.get("base_url")?.as_str()?;
    found.get("pid")?.as_u64()?.try_into().ok()
}

/// Whether there is such a process. One that may not be asked is there.
#[cfg(unix)]
fn runs(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    let gone = |pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH);
    pid.is_some_and(|pid| !gone(pid))
}

#[cfg(not(unix))]
fn runs(_pid: u32) -> bool {
    true
}

/// The JSON in it, if it is that.
fn read(path: &Path) -> io::Result<Option<Value>> {
    // Before it is opened: opening a pipe waits for whoever writes to it.
    let text = if std::fs::symlink_metadata(path)?.is_file() {
        let mut text = Vec::new();
        File::open(path)?.take(LEN_MAX).read_to_end(&mut text)?;
        text
    } else {
        Vec::new()
    };
    Ok(serde_json::from_slice(&text).ok())
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
    fn at_the_start_and_at_the_end_only_that_of_a_process_that_is_gone_or_its_own_goes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ready.json");
        let left_by = |pid: u32| {
            write(&path, &serde_json::json!({"base_url": "http://x", "pid": pid})).unwrap();
        };
        let own = std::process::id();
        // No process has the greatest number, and the first is always there.
        for (pid, at_start, at_end) in
            [(i32::MAX.unsigned_abs(), false, true), (1, true, true), (own, false, false)]
        {
            left_by(pid);
            clear_stale(&path).unwrap();
            assert_eq!(path.exists(), at_start, "{pid}");
            left_by(pid);
            clear_own(&path).unwrap();
            assert_eq!(path.exists(), at_end, "{pid}");
        }
        std::fs::write(&path, "precious").unwrap();
        assert!(clear_stale(&path).is_err() && clear_own(&path).is_err());
        std::fs::remove_file(&path).unwrap();
        clear_stale(&path).unwrap();
        clear_own(&path).unwrap();
    }

    #[test]
    fn what_cannot_be_written_names_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let error = write(&dir.path().join("no/such/dir"), &()).unwrap_err();
        assert!(error.to_string().contains("no/such/dir"));
        clear(&dir.path().join("absent")).unwrap();
    }
}
