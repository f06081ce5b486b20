//! The ready file of a command that listens: a JSON object with the `pid` of the process, which exists while the
//! command answers.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use crate::account::key::aside;
use crate::base::atomic_file::AtomicFile;
use crate::base::files::{self, FileError, Trust};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::to_json;

/// Largest ready file in bytes. One with 1,000 forms has less than 200 KB.
const MAX_LEN: u64 = 4 << 20;

/// Writes the ready file, if one is requested, readable by its owner only, and removes it when the process ends, unless another process
/// has replaced it.
///
/// Replaces an existing file only if it is a JSON object with a `pid`, because the path may be a typing error.
pub(super) async fn write(
    cx: &Context,
    path: Option<PathBuf>,
    content: &impl Serialize,
) -> Result<(), CliError> {
    let Some(path) = path else { return Ok(()) };
    let what = format!("cannot write the ready file `{}`", path.display());
    let content = format!("{}\n", to_json(content)).into_bytes();
    let own = path.clone();
    // Registered before the write, because a signal may end the process directly after it.
    cx.shutdown.at_exit(move || remove_own(&own));
    let write = move || {
        if let Some(text) = files::read(&path, Trust::AnyUser, MAX_LEN)?
            && pid(&text).is_none()
        {
            return Err(FileError::invalid(&path, "exists and is not a ready file"));
        }
        let written = AtomicFile::create(&path, 0o600).and_then(|file| file.persist(&content));
        written.map_err(|error| FileError::io("write", &path, error))
    };
    let failed = |error: FileError| CliError::new(Exit::LocalIo, what).because(&error);
    aside(write).await?.map_err(failed)
}

/// Removes the ready file if this process wrote it.
fn remove_own(path: &Path) {
    let text = files::read(path, Trust::AnyUser, MAX_LEN).ok().flatten();
    if text.and_then(|text| pid(&text)) == Some(std::process::id().into()) {
        // At the end of a process, a failure cannot be reported.
        let _ = std::fs::remove_file(path);
    }
}

/// Returns the process that wrote a ready file; `None` for another file.
fn pid(text: &str) -> Option<u64> {
    serde_json::from_str::<Value>(text).ok()?["pid"].as_u64()
}
