//! The ready file: a JSON object that appears once a listener answers, for whoever started it.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process;

use serde::Serialize;
use serde_json::Value;
use tempfile::NamedTempFile;

use crate::abort::Abort;
use crate::error::CliError;
use crate::exit::Exit;

/// Largest file that is looked at before it is replaced, in bytes.
const LEN_MAX: u64 = 1 << 20;

/// A ready file; gone when this is.
pub(crate) struct ReadyFile(PathBuf);

impl ReadyFile {
    /// Writes it, so that a reader sees all of it or nothing: a file beside it that only its owner can
    /// read, renamed. What is there and is no ready file is left alone, for the path may be a slip.
    pub(crate) fn write(
        path: PathBuf,
        content: &impl Serialize,
        abort: &Abort,
    ) -> Result<Self, CliError> {
        let failed = |error: io::Error| {
            let what = format!("cannot write the ready file `{}`", path.display());
            CliError::new(Exit::LocalIo, what).because(&error)
        };
        check(&path).and_then(|()| put(&path, content)).map_err(failed)?;
        abort.removes_file(path.clone());
        Ok(Self(path))
    }
}

impl Drop for ReadyFile {
    fn drop(&mut self) {
        // Another listener may have been given the same path since, and answers.
        if left(&self.0)
            .is_ok_and(|left| pid(&left).is_none_or(|pid| pid == u64::from(process::id())))
        {
            // Nothing can be done about one that does not go; the listener ends all the same.
            let _ = std::fs::remove_file(&self.0);
        }
    }
}

fn put(path: &Path, content: &impl Serialize) -> io::Result<()> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    // Created with mode 0600.
    let mut file = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    serde_json::to_writer(&mut file, content)?;
    file.write_all(b"\n")?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// Whether it may be written there: nothing is, or what an earlier run left.
fn check(path: &Path) -> io::Result<()> {
    let found = match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    if found.is_file() && left(path).is_ok_and(|left| pid(&left).is_some()) {
        return Ok(());
    }
    let what = "what is there is no ready file: a JSON object with a `url` and a `pid`";
    Err(io::Error::new(io::ErrorKind::AlreadyExists, what))
}

/// What is in the file.
fn left(path: &Path) -> io::Result<Value> {
    let mut text = Vec::new();
    std::fs::File::open(path)?.take(LEN_MAX).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

/// Whose ready file it is, if it is one.
fn pid(left: &Value) -> Option<u64> {
    let has_url = ["url", "base_url"].iter().any(|name| left.get(name).is_some());
    left.get("pid").filter(|_| has_url)?.as_u64()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn it_is_its_owners_and_goes_with_the_listener() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ready.json");
        let ready = json!({"url": "http://127.0.0.1:9000/", "pid": process::id()});
        for _ in 0..2 {
            let written = ReadyFile::write(path.clone(), &ready, &Abort::default()).unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), ready);
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                let mode = std::fs::metadata(&path).unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o600);
            }
            // As a run that was killed leaves it.
            std::mem::forget(written);
        }
        drop(ReadyFile::write(path.clone(), &ready, &Abort::default()).unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_no_ready_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("precious");
        for other in ["", "precious", "{}", "[1]", r#"{"url"#, r#"{"name":"x","url":"y"}"#] {
            std::fs::write(&path, other).unwrap();
            let refused = ReadyFile::write(path.clone(), &json!({}), &Abort::default());
            let told = refused.err().unwrap().told();
            assert!(told.contains("precious") && told.contains("no ready file"), "{told}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), other);
        }
        let nowhere = folder.path().join("no/such/folder");
        assert!(ReadyFile::write(nowhere, &json!({}), &Abort::default()).is_err());
    }
}
