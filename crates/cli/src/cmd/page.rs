//! Pages of text on standard output: help, topics, scripts.

use std::fmt;
use std::io::{self, BufWriter, IsTerminal, Write};

use anstream::AutoStream;
use clap::Command;
use clap::builder::Styles;

use crate::base::env;
use crate::base::text::{self, WIDTH_MIN};
use crate::error::CliError;
use crate::output::choice;
use crate::settings::early::ParsedEarly;

/// Largest width of text on a terminal.
const MAX_WIDTH: usize = 100;
/// Width of text in a file or a pipe.
const PIPE_WIDTH: usize = 80;

/// Returns the definition of the command line, with help for the width of standard output.
pub(crate) fn laid_out_command() -> Command {
    let command = super::command().max_term_width(MAX_WIDTH);
    if io::stdout().is_terminal() || env::of_process(env::COLUMNS.name).is_some() {
        command
    } else {
        command.term_width(PIPE_WIDTH)
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

/// Returns the width of text on standard output. It is the width that clap uses for help.
pub(crate) fn width() -> usize {
    let columns = || env::of_process(env::COLUMNS.name)?.to_str()?.parse().ok();
    let terminal = || {
        let (width, _) = terminal_size::terminal_size()?;
        io::stdout().is_terminal().then_some(usize::from(width.0))
    };
    terminal().or_else(columns).unwrap_or(PIPE_WIDTH).clamp(WIDTH_MIN, MAX_WIDTH)
}

/// Returns a line with a heading, in the style of help.
pub(crate) fn heading(title: &str) -> String {
    let style = *Styles::styled().get_header();
    format!("{style}{title}{style:#}\n")
}

/// Lays out terms with their meanings: beside each other if the terms are short, else below.
pub(crate) fn definitions<'a>(
    rows: impl IntoIterator<Item = (&'a str, String)>,
    width: usize,
) -> String {
    let rows: Vec<_> = rows.into_iter().collect();
    let longest = rows.iter().map(|(term, _)| term.len()).max().unwrap_or(0);
    let is_beside = longest <= 16 && width >= 60;
    let indent = if is_beside { longest + 4 } else { 6 };
    let mut text = String::new();
    for (term, meaning) in rows {
        let between = if is_beside {
            " ".repeat(longest - term.len() + 2)
        } else {
            format!("\n{}", " ".repeat(indent))
        };
        text.extend(["  ", term, &between, wrapped(&meaning, width, indent).trim_start()]);
    }
    text
}

/// Breaks text at spaces to a width, and indents each line.
pub(crate) fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        for line in text::wrap(&words.join(" "), width.saturating_sub(indent)) {
            if !line.is_empty() {
                out.extend(std::iter::repeat_n(' ', indent));
            }
            out.extend([&line, "\n"]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_beside_short_terms_on_wide_screens() {
        let rows = || [("0", "no error".to_owned()), ("130", "interrupted".to_owned())];
        assert_eq!(definitions(rows(), 80), "  0    no error\n  130  interrupted\n");
        let narrow = definitions(rows(), 30);
        assert_eq!(narrow, "  0\n      no error\n  130\n      interrupted\n");
    }

    #[test]
    fn wrapped_line_is_not_wider_than_the_limit() {
        let text = "word ".repeat(50);
        for width in [30, 40, 80] {
            let lines = wrapped(&text, width, 6);
            assert!(lines.lines().all(|line| line.len() <= width && line.starts_with("      w")));
        }
        assert_eq!(wrapped("a\n\nb", 80, 2), "  a\n\n  b\n");
    }
}
