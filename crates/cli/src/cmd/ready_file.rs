//! The ready file of a command that listens: a JSON object that exists while the command answers.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

use crate::account::key::aside;
use crate::base::atomic_file;
use crate::base::files::{self, FileError, Trust};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::to_json;

/// Largest ready file in bytes. One with 1,000 forms has less than 200 KB.
const MAX_LEN: u64 = 4 << 20;

/// Writes the ready file, readable by its owner only, and removes it when the process ends.
///
/// Replaces an existing file only if it is a JSON object with a `pid`, as every ready file is, because the path
/// may be a typing error.
pub(super) async fn write(
    cx: &Context,
    path: PathBuf,
    content: &impl Serialize,
) -> Result<(), CliError> {
    let what = format!("cannot write the ready file `{}`", path.display());
    let (file, content) = (path.clone(), format!("{}\n", to_json(content)));
    let write = move || {
        if let Some(text) = files::read(&file, Trust::AnyUser, MAX_LEN)? {
            let is_ready_file =
                serde_json::from_str(&text).is_ok_and(|old: Value| old["pid"].is_u64());
            if !is_ready_file {
                return Err(FileError::invalid(&file, "exists and is not a ready file"));
            }
        }
        let written = atomic_file::write_private(&file, content.as_bytes());
        written.map_err(|error| FileError::io("write", &file, error))
    };
    let failed = |error: FileError| CliError::new(Exit::LocalIo, what).because(&error);
    aside(write).await?.map_err(failed)?;
    cx.shutdown.remove_file_at_exit(path);
    Ok(())
}
