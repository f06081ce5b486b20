//! The ready file: a JSON object that exists while a listener accepts deliveries, for the program that started
//! it.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process;

use serde::Serialize;
use serde_json::Value;

use crate::base::files;
use crate::context::Shutdown;
use crate::error::CliError;
use crate::exit::Exit;

/// Largest existing file that is read before it is replaced, in bytes.
const MAX_LEN: u64 = 1 << 20;

/// A ready file. Dropping it removes the file.
pub(super) struct ReadyFile(PathBuf);

impl ReadyFile {
    /// Writes the file atomically, readable by its owner only. Replaces an existing file only if it is a
    /// ready file, because the path may be a typing error.
    pub(super) fn write(
        path: PathBuf,
        content: &impl Serialize,
        shutdown: &Shutdown,
    ) -> Result<Self, CliError> {
        let failed = |error: io::Error| {
            let what = format!("cannot write the ready file `{}`", path.display());
            CliError::new(Exit::LocalIo, what).because(&error)
        };
        check(&path).and_then(|()| replace(&path, content)).map_err(failed)?;
        shutdown.remove_file_at_exit(path.clone());
        Ok(Self(path))
    }
}

impl Drop for ReadyFile {
    fn drop(&mut self) {
        // Another listener with the same path may have replaced the file since.
        let is_own = |file: Value| pid(&file).is_none_or(|pid| pid == u64::from(process::id()));
        if read(&self.0).is_ok_and(is_own) {
            // A file that cannot be removed does not keep the listener from ending.
            let _ = std::fs::remove_file(&self.0);
        }
    }
}

fn replace(path: &Path, content: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec(content)?;
    text.push(b'\n');
    files::write_private(path, &text)
}

/// Returns an error if the path names something else than a ready file.
fn check(path: &Path) -> io::Result<()> {
    let metadata = match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        metadata => metadata?,
    };
    if metadata.is_file() && read(path).is_ok_and(|file| pid(&file).is_some()) {
        return Ok(());
    }
    let rule = "it exists and is not a ready file: a JSON object with `url` and `pid`";
    Err(io::Error::new(io::ErrorKind::AlreadyExists, rule))
}

fn read(path: &Path) -> io::Result<Value> {
    let mut text = Vec::new();
    std::fs::File::open(path)?.take(MAX_LEN).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

/// Returns the process id in a ready file; `None` if it is not one.
fn pid(file: &Value) -> Option<u64> {
    let has_url = ["url", "base_url"].iter().any(|name| file.get(name).is_some());
    file.get("pid").filter(|_| has_url)?.as_u64()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ready_file_is_private_and_ends_with_the_listener() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ready.json");
        let ready = json!({"url": "http://127.0.0.1:9000/", "pid": process::id()});
        for _ in 0..2 {
            let written = ReadyFile::write(path.clone(), &ready, &Shutdown::default()).unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), ready);
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                let mode = std::fs::metadata(&path).unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o600);
            }
            // A killed run does not remove it.
            std::mem::forget(written);
        }
        drop(ReadyFile::write(path.clone(), &ready, &Shutdown::default()).unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn other_files_are_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("precious");
        for other in ["", "precious", "{}", "[1]", r#"{"url"#, r#"{"name":"x","url":"y"}"#] {
            std::fs::write(&path, other).unwrap();
            let refused = ReadyFile::write(path.clone(), &json!({}), &Shutdown::default());
            let told = refused.err().unwrap().to_text();
            assert!(told.contains("precious") && told.contains("not a ready file"), "{told}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), other);
        }
        let nowhere = folder.path().join("no/such/folder");
        assert!(ReadyFile::write(nowhere, &json!({}), &Shutdown::default()).is_err());
    }
}
