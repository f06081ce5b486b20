//! Pages of text on standard output: help, topics, scripts.

use std::fmt;
use std::io::{self, BufWriter, IsTerminal, Write};

use anstream::AutoStream;
use clap::builder::Styles;

use crate::base::env;
use crate::base::text::{self, WIDTH_MIN};
use crate::error::CliError;
use crate::output::choice;
use crate::settings::early::Early;

/// Widest that text is laid out: longer lines are hard to read.
pub(crate) const WIDTH_MAX: usize = 100;
/// Width of text that goes into a file or a pipe.
pub(crate) const WIDTH: usize = 80;

/// Shows text with looks, which go where no colours are due.
pub(crate) fn show(text: &impl fmt::Display, early: Early) -> Result<(), CliError> {
    let out =
        BufWriter::new(AutoStream::new(io::stdout().lock(), choice(early.color, &io::stdout())));
    written(out, &text.to_string())
}

/// Writes text as it is.
pub(crate) fn put(text: &str) -> Result<(), CliError> {
    written(BufWriter::new(io::stdout().lock()), text)
}

fn written(mut out: impl Write, text: &str) -> Result<(), CliError> {
    let done = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    done.map_err(|error| CliError::stdout(&error))
}

/// The width that text is laid out to, as the parser lays out help.
pub(crate) fn width() -> usize {
    let columns = || env::of_process(env::COLUMNS.name)?.to_str()?.parse().ok();
    let terminal = || {
        let (width, _) = terminal_size::terminal_size()?;
        io::stdout().is_terminal().then_some(usize::from(width.0))
    };
    terminal().or_else(columns).unwrap_or(WIDTH).clamp(WIDTH_MIN, WIDTH_MAX)
}

/// A heading in a line of its own, with the look of those in help.
pub(crate) fn heading(title: &str) -> String {
    let style = *Styles::styled().get_header();
    format!("{style}{title}{style:#}\n")
}

/// A term a row, and what it means beside it: one under the other where terms are long.
pub(crate) fn definitions<'a>(
    rows: impl IntoIterator<Item = (&'a str, String)>,
    width: usize,
) -> String {
    let rows: Vec<_> = rows.into_iter().collect();
    let longest = rows.iter().map(|(term, _)| term.len()).max().unwrap_or(0);
    let beside = longest <= 16 && width >= 60;
    let indent = if beside { longest + 4 } else { 6 };
    let mut text = String::new();
    for (term, meaning) in rows {
        if beside {
            text.extend(["  ", term, &" ".repeat(longest - term.len() + 2)]);
        } else {
            text.extend(["  ", term, "\n", &" ".repeat(indent)]);
        }
        text.push_str(wrapped(&meaning, width, indent).trim_start());
    }
    text
}

/// Text broken at spaces, every line indented, and no line wider than `width` unless a word is.
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
    fn definitions_stand_beside_their_terms_where_there_is_room() {
        let rows = || [("0", "done and dusted".to_owned()), ("130", "interrupted".to_owned())];
        assert_eq!(definitions(rows(), 80), "  0    done and dusted\n  130  interrupted\n");
        let narrow = definitions(rows(), 30);
        assert_eq!(narrow, "  0\n      done and dusted\n  130\n      interrupted\n");
    }

    #[test]
    fn no_line_is_wider_than_asked_for() {
        let text = "word ".repeat(50);
        for width in [30, 40, 80] {
            let lines = wrapped(&text, width, 6);
            assert!(lines.lines().all(|line| line.len() <= width && line.starts_with("      w")));
        }
        assert_eq!(wrapped("a\n\nb", 80, 2), "  a\n\n  b\n");
    }
}
