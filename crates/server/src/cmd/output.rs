//! Writing to standard output and standard error.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use super::error::CommandError;
use super::exit::Exit;
use crate::printable::{Escaped, stripped};

/// Prints a line of data. A reader that closed the pipe has what it wanted.
pub(super) fn line(text: &str) -> Result<(), CommandError> {
    let mut stdout = io::stdout().lock();
    // What is in a database was written by strangers; a file or a pipe gets it as it is.
    let shown = if stdout.is_terminal() { stripped(text) } else { text.to_owned() };
    match writeln!(stdout, "{shown}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let failed = CommandError::new(Exit::LocalIo, "cannot write to standard output");
            Err(failed.hint(error.to_string()))
        }
        _ => Ok(()),
    }
}

/// Prints a record as one line of JSON.
pub(super) fn json(record: &impl Serialize) -> Result<(), CommandError> {
    let text = serde_json::to_string(record);
    line(&text.map_err(|error| CommandError::of(Exit::Failed, &error))?)
}

/// Tells a person something.
pub(super) fn note(text: &str) {
    // There is nowhere left to report that standard error cannot be written.
    let _ = writeln!(io::stderr(), "{}", Escaped(text));
}
