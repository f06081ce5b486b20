//! What a command tells while things happen: lines for people, or one JSON object a line for programs.

use super::paint::TextStyle;
use super::template::Shape;
use super::{Output, OutputFormat, Program, written};
use crate::base::sanitize::one_line;
use crate::error::CliError;

/// Things told as they happen, each at once.
pub(crate) struct Live<'a> {
    output: &'a Output,
    program: Option<Program>,
    records: bool,
}

impl Output {
    /// Begins to tell of things as they happen. For before anything does: a wrong flag or expression
    /// ends the command then.
    pub(crate) fn live(&self) -> Result<Live<'_>, CliError> {
        self.check_flags()?;
        if self.json.fields.is_some() {
            return Err(CliError::usage("this command does not take `--json`")
                .hint("`--output ndjson` tells all there is, and `--jq` chooses from it"));
        }
        if let Some(OutputFormat::Csv | OutputFormat::Tsv) = self.json.format {
            return Err(CliError::usage("this command tells lines or JSON, and no columns")
                .hint("`--output ndjson` is one JSON object a line"));
        }
        let program = self.program(None)?;
        // A format of columns that stands in a file is meant for lists.
        let json = matches!(self.format, OutputFormat::Json | OutputFormat::Ndjson);
        Ok(Live { output: self, records: json || program.is_some(), program })
    }
}

impl Live<'_> {
    /// Whether programs are told, by [`record`](Self::record), and not people, by [`line`](Self::line).
    pub(crate) fn is_for_programs(&self) -> bool {
        self.records
    }

    /// Cells in a line; none where nothing bounds it.
    pub(crate) fn width(&self) -> Option<usize> {
        self.output.screen.width.filter(|_| self.output.screen.terminal)
    }

    /// Tells people, in parts that each have a look; strangers' text among them is made harmless. With
    /// `--quiet` there are none.
    pub(crate) fn line(&self, parts: &[(TextStyle, &str)]) -> Result<(), CliError> {
        self.lines([parts])
    }

    /// The same of several lines, written together.
    pub(crate) fn lines<'l, T: AsRef<str> + 'l>(
        &self,
        lines: impl IntoIterator<Item = &'l [(TextStyle, T)]>,
    ) -> Result<(), CliError> {
        if self.output.quiet {
            return Ok(());
        }
        let paint = self.output.screen.paint;
        let mut text = String::new();
        for line in lines {
            for (look, part) in line {
                let part = one_line(part.as_ref());
                paint.write(&mut text, *look, &part);
            }
            text.push('\n');
        }
        if text.is_empty() { Ok(()) } else { self.output.screen.unpaged(text.as_bytes()) }
    }

    /// Tells programs: an object of JSON, on one line.
    pub(crate) fn record(&self, json: &str) -> Result<(), CliError> {
        self.records(&[json])
    }

    /// The same of several objects, written together.
    pub(crate) fn records(&self, objects: &[impl AsRef<str>]) -> Result<(), CliError> {
        let mut objects = objects.iter().map(AsRef::as_ref);
        match &self.program {
            Some(program) => {
                objects.try_for_each(|json| self.output.made(program, json, Shape::Item))
            }
            None => self
                .output
                .screen
                .data(true, |out| objects.try_for_each(|json| written(writeln!(out, "{json}")))),
        }
    }
}
