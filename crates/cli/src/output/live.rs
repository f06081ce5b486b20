//! What a command tells while things happen: lines for people, or one JSON object a line for programs.

use super::paint::Look;
use super::template::Shape;
use super::{Output, OutputFormat, Program, written};
use crate::error::CliError;
use crate::sanitize::one_line;

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
    pub(crate) fn line(&self, parts: &[(Look, &str)]) -> Result<(), CliError> {
        if self.output.quiet {
            return Ok(());
        }
        let paint = self.output.screen.paint;
        let mut line = String::new();
        for (look, text) in parts {
            if *look == Look::Plain {
                line.push_str(&one_line(text));
            } else {
                line.push_str(&paint.put(*look, &one_line(text)));
            }
        }
        line.push('\n');
        self.output.screen.unpaged(line.as_bytes())
    }

    /// Tells programs: an object of JSON, on one line.
    pub(crate) fn record(&self, json: &str) -> Result<(), CliError> {
        match &self.program {
            Some(program) => self.output.made(program, json, Shape::Item),
            None => self.output.screen.data(true, |out| written(writeln!(out, "{json}"))),
        }
    }
}
