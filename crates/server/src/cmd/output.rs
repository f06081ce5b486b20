//! Writing to standard output and standard error.

use std::io::{self, IsTerminal, Write};

use formsvc_protocol::Timestamp;
use serde::Serialize;

use super::error::CommandError;
use super::exit::Exit;
use super::settings::bad;
use super::table::Table;
use crate::printable::{Escaped, stripped};

/// Width of a table when there is no terminal to ask.
const WIDTH_DEFAULT: usize = 80;

#[derive(Debug, clap::Args)]
pub(super) struct OutputArgs {
    /// text or json [default: text on a terminal, else json].
    #[arg(long, value_name = "FORMAT")]
    output: Option<String>,
}

/// Whom output is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A person.
    Text,
    /// A program.
    Json,
}

impl OutputArgs {
    pub(super) fn shape(&self) -> Result<Shape, CommandError> {
        match self.output.as_deref() {
            Some("text") => Ok(Shape::Text),
            None if io::stdout().is_terminal() => Ok(Shape::Text),
            Some("json") | None => Ok(Shape::Json),
            Some(other) => Err(bad("--output", other, "must be text or json")),
        }
    }
}

/// Prints what was found: a table for a person, a line of JSON for each record for a program.
pub(super) fn list<R: Serialize, const N: usize>(
    shape: Shape,
    records: &[R],
    mut table: Table<N>,
    add: impl Fn(&mut Table<N>, &R),
) -> Result<(), CommandError> {
    if shape == Shape::Json {
        return records.iter().try_for_each(json);
    }
    if records.is_empty() {
        note("there are none");
        return Ok(());
    }
    for record in records {
        add(&mut table, record);
    }
    table.lines(terminal_width()).iter().try_for_each(|row| line(row))
}

/// The day of a time, which is enough in a table.
pub(super) fn day(time: &Timestamp) -> &str {
    time.as_str().split('T').next().unwrap_or_default()
}

fn terminal_width() -> usize {
    terminal_size::terminal_size().map_or(WIDTH_DEFAULT, |(width, _)| width.0.into())
}

/// Prints a line of data. A reader that closed the pipe has what it wanted.
pub(super) fn line(text: &str) -> Result<(), CommandError> {
    let mut stdout = io::stdout().lock();
    // What is in a database was written by strangers; a file or a pipe gets it as it is.
    let shown = if stdout.is_terminal() { stripped(text) } else { text.to_owned() };
    match writeln!(stdout, "{shown}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(CommandError::new(Exit::LocalIo, "cannot write to standard output").because(&error))
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
