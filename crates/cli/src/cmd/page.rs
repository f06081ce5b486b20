//! Pages of text on standard output: help, topics, scripts.

use std::fmt;
use std::io::{self, BufWriter, IsTerminal, Write};

use anstream::AutoStream;
use clap::Command;
use clap::builder::Styles;

use crate::base::env;
use crate::base::text;
use crate::error::CliError;
use crate::output::choice;
use crate::settings::early::ParsedEarly;

/// Largest width of help on a terminal.
const MAX_WIDTH: usize = 100;
/// Width of topics, and of help in a file or a pipe.
pub(crate) const WIDTH: usize = 80;

/// Returns the definition of the command line, with help for the width of standard output.
pub(crate) fn laid_out_command() -> Command {
    let command = super::command().max_term_width(MAX_WIDTH);
    if io::stdout().is_terminal() || env::of_process(env::COLUMNS.name).is_some() {
        command
    } else {
        command.term_width(WIDTH)
    }
}

/// Prints text with styles, which are removed if standard output has no colours.
pub(crate) fn show(text: &impl fmt::Display, early: ParsedEarly) -> Result<(), CliError> {
    let out = AutoStream::new(io::stdout().lock(), choice(early.color, &io::stdout()));
    write(out, &text.to_string())
}

/// Prints text unchanged.
pub(crate) fn put(text: &str) -> Result<(), CliError> {
    write(io::stdout().lock(), text)
}

fn write(out: impl Write, text: &str) -> Result<(), CliError> {
    let mut out = BufWriter::new(out);
    let done = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    done.map_err(|error| CliError::stdout(&error))
}

/// Returns a line with a heading, in the style of help.
pub(crate) fn heading(title: &str) -> String {
    let style = *Styles::styled().get_header();
    format!("{style}{title}{style:#}\n")
}

/// Lays out terms with their meanings beside them.
pub(crate) fn definitions<'a>(rows: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let rows: Vec<_> = rows.into_iter().collect();
    let longest = rows.iter().map(|(term, _)| term.len()).max().unwrap_or(0);
    let lines = rows.into_iter().map(|(term, meaning)| {
        let meaning = wrapped(&meaning, longest + 4);
        format!("  {term:longest$}  {}", meaning.trim_start())
    });
    lines.collect()
}

/// Breaks a paragraph at spaces, and indents each line.
pub(crate) fn wrapped(text: &str, indent: usize) -> String {
    let lines = text::wrap(text, WIDTH - indent).join("\n");
    textwrap::indent(&lines, &" ".repeat(indent)) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_beside_their_terms() {
        let rows = [("0", "no error".to_owned()), ("130", "word ".repeat(30).trim().to_owned())];
        let text = definitions(rows);
        assert!(text.starts_with("  0    no error\n  130  word "), "{text}");
        let mut lines = text.lines().skip(2);
        assert!(lines.all(|line| line.len() <= WIDTH && line.starts_with("       word")), "{text}");
    }
}
