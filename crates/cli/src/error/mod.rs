//! The errors of commands, with causes and a hint, as text or JSON.

mod code;
pub(crate) mod message;
pub(crate) mod network;
mod service;
pub(crate) mod usage;
mod workbench;

use std::fmt::Display;
use std::io::{self, Write};
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};

pub use code::{CODES, CodeRow, FIELDS, FieldRow};
pub(crate) use code::{Code, field};
pub(crate) use service::{MISSING_UNKNOWN, connect_hint, describe};

use crate::base::masked::hide_secrets;
use crate::base::sanitize::one_line;
use crate::base::text::wrap_whole_words;
use crate::exit::Exit;
use clap::ValueEnum;

/// Format of errors and messages on standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ErrorFormat {
    /// Lines of text
    #[default]
    Text,
    /// One JSON object per line
    Json,
}

/// The error of a command.
#[derive(Debug)]
pub(crate) struct CliError {
    pub(crate) exit: Exit,
    code: Code,
    message: String,
    causes: Vec<String>,
    hint: Option<String>,
    /// True if `--jq` or `--template` failed on an item.
    pub(crate) is_of_expression: bool,
    /// Boxed, because an error is returned by value and few have details.
    details: Box<ErrorDetails>,
}

/// Details for programs: the response of the service, and the command that continues.
#[derive(Debug, Default)]
struct ErrorDetails {
    http_status: Option<u16>,
    content_type: Option<String>,
    body_start: Option<String>,
    json_path: Option<String>,
    retry_after: Option<Duration>,
    request_id: Option<String>,
    resume: Option<String>,
}

impl CliError {
    /// Creates an error with the general code of an exit code.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            code: Code::of(exit),
            message: message.into(),
            causes: Vec::new(),
            hint: None,
            is_of_expression: false,
            details: Box::default(),
        }
    }

    /// Creates an error with a code, which determines the exit code.
    pub(crate) fn coded(code: Code, message: impl Into<String>) -> Self {
        Self { code, ..Self::new(code.row().exit, message) }
    }

    /// Creates an error for a wrong flag, argument or setting.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Adds an error and its sources as causes.
    #[must_use]
    pub(crate) fn because(mut self, cause: &dyn std::error::Error) -> Self {
        self.causes.push(cause.to_string());
        self.because_of(cause)
    }

    /// Adds the sources of an error as causes, but not the error itself. For errors with their own text in the
    /// message.
    #[must_use]
    pub(crate) fn because_of(mut self, error: &dyn std::error::Error) -> Self {
        let causes = std::iter::successors(error.source(), |cause| cause.source());
        self.causes.extend(causes.map(ToString::to_string));
        self
    }

    #[must_use]
    pub(crate) fn cause(mut self, cause: impl Into<String>) -> Self {
        self.causes.push(cause.into());
        self
    }

    /// Marks the error of an expression or a template that failed on an item.
    #[must_use]
    pub(crate) fn of_expression(self) -> Self {
        Self { is_of_expression: true, ..self }
    }

    /// Sets the hint; none if the text is empty.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into()).filter(|hint| !hint.is_empty());
        self
    }

    /// Sets the hint if there is none.
    #[must_use]
    pub(crate) fn hint_if_none(mut self, hint: &str) -> Self {
        self.hint.get_or_insert_with(|| hint.to_owned());
        self
    }

    /// Appends a text to the hint.
    #[must_use]
    pub(crate) fn hint_too(self, hint: &str) -> Self {
        match self.hint.clone() {
            Some(before) => self.hint(format!("{before}; {hint}")),
            None => self.hint(hint),
        }
    }

    /// Sets the command that continues the work, if there is one, and appends it to the hint.
    #[must_use]
    pub(crate) fn continued_by(mut self, command: Option<String>) -> Self {
        let Some(command) = command else { return self };
        let hint = format!("continue with: {command}");
        self.details.resume = Some(command);
        self.hint_too(&hint)
    }

    /// Creates an error that ends the command with an exit code and prints nothing.
    pub(crate) fn silent(exit: Exit) -> Self {
        Self::new(exit, "")
    }

    /// Converts the error of a write to standard output. A closed pipe ends the command silently with success.
    pub(crate) fn stdout(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::silent(Exit::Done);
        }
        Self::new(Exit::LocalIo, "cannot write to standard output").because(error)
    }

    /// Returns the message and the causes on one line.
    pub(crate) fn brief(&self) -> String {
        let causes = self.causes.iter().map(|cause| format!(": {cause}"));
        causes.fold(self.message.clone(), |brief, cause| brief + &cause)
    }

    /// Returns true if the same command may succeed later without a change by the user.
    pub(crate) fn may_pass(&self) -> bool {
        self.code == Code::Busy
            || matches!(self.exit, Exit::Service | Exit::Network | Exit::RateLimited)
    }

    pub(crate) fn advice(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Sanitizes the error and writes it, as text wrapped to a width or as one line of JSON. Writes nothing for a
    /// silent error.
    pub(crate) fn print(
        &self,
        out: &mut dyn Write,
        format: ErrorFormat,
        width: Option<usize>,
    ) -> io::Result<()> {
        if self.message.is_empty() {
            return Ok(());
        }
        let mut text = Vec::new();
        match format {
            ErrorFormat::Text => self.print_text(&mut text, width)?,
            ErrorFormat::Json => writeln!(text, "{}", self.to_json())?,
        }
        // One write, so that output of other processes does not appear in the line.
        out.write_all(hide_secrets(&String::from_utf8_lossy(&text)).as_bytes())
    }

    /// Returns the error as text without colours.
    #[cfg(test)]
    pub(crate) fn to_text(&self) -> String {
        let mut out = anstream::StripStream::new(Vec::new());
        self.print(&mut out, ErrorFormat::Text, None).expect("memory takes every write");
        String::from_utf8(out.into_inner()).expect("text is written")
    }

    fn print_text(&self, out: &mut dyn Write, width: Option<usize>) -> io::Result<()> {
        // A command that continues stays on one line, so that users can copy it.
        let width = width.filter(|_| self.details.resume.is_none());
        let mut line = |word: &str, style: Style, text: &dyn Display| {
            let text = text.to_string();
            let indent = word.len() + 2;
            let folded = match width {
                Some(width) => wrap_whole_words(&one_line(&text), width.saturating_sub(indent)),
                None => vec![one_line(&text).into_owned()],
            };
            writeln!(out, "{style}{word}:{style:#} {}", folded.join(&format!("\n{:indent$}", "")))
        };
        line("error", AnsiColor::Red.on_default().bold(), &self.message)?;
        for cause in &self.causes {
            line("cause", Style::new().bold(), cause)?;
        }
        let hint = AnsiColor::Cyan.on_default().bold();
        self.hint.as_ref().map_or(Ok(()), |text| line("hint", hint, text))
    }

    /// Returns the fields of [`FIELDS`], in that order.
    fn to_json(&self) -> Value {
        let details = &self.details;
        let causes: Vec<_> = self.causes.iter().map(|cause| one_line(cause)).collect();
        json!({"error": {
            "code": self.code.row().name,
            "message": one_line(&self.message),
            "causes": causes,
            "hint": self.hint.as_deref().map(one_line),
            "exit": self.exit.code(),
            "http_status": details.http_status,
            "content_type": details.content_type.as_deref().map(one_line),
            "body_start": details.body_start.as_deref().map(one_line),
            "json_path": details.json_path.as_deref().map(one_line),
            "retry_after": details.retry_after.map(|wait| wait.as_secs_f64()),
            "request_id": details.request_id.as_deref().map(one_line),
            "resume": details.resume.as_deref().map(one_line),
            "resumable": details.resume.is_some(),
        }})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(error: &CliError, format: ErrorFormat) -> String {
        let mut out = Vec::new();
        error.print(&mut out, format, None).unwrap();
        String::from_utf8(anstream::adapter::strip_bytes(&out).into_vec()).unwrap()
    }

    #[test]
    fn json_has_every_documented_field_and_no_other() {
        let text = printed(&CliError::usage("no"), ErrorFormat::Json);
        let json: Value = serde_json::from_str(&text).unwrap();
        let fields: Vec<&str> =
            json["error"].as_object().unwrap().keys().map(String::as_str).collect();
        let mut documented: Vec<&str> = FIELDS.iter().map(|field| field.name).collect();
        documented.sort_unstable();
        let mut sorted = fields.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, documented);
        assert_eq!(text.lines().count(), 1);
    }

    #[test]
    fn control_characters_are_removed_in_both_formats() {
        let evil = "a\u{1b}]0;x\u{7}\u{202e}b\nerror: c\u{9b}m";
        let error = CliError::new(Exit::Service, evil).cause(evil).hint(evil);
        for format in [ErrorFormat::Text, ErrorFormat::Json] {
            let shown = printed(&error, format);
            let raw = ['\u{1b}', '\u{7}', '\u{202e}', '\u{9b}'];
            assert!(!shown.contains(raw) && !shown.contains("\\u"), "{shown}");
            assert!(shown.contains("a]0;xb error: cm"), "{shown}");
        }
    }

    #[test]
    fn error_on_a_terminal_is_wrapped_except_commands() {
        let shown = |error: &CliError| {
            let mut out = Vec::new();
            error.print(&mut out, ErrorFormat::Text, Some(30)).unwrap();
            String::from_utf8(anstream::adapter::strip_bytes(&out).into_vec()).unwrap()
        };
        let error = CliError::usage("some words of which there are many")
            .hint("try `formsvc webhook verify --capture 17` or do without");
        let expected = "\
error: some words of which
       there are many
hint: try
      `formsvc webhook verify --capture 17`
      or do without
";
        assert_eq!(shown(&error), expected);
        let resumed = CliError::new(Exit::Network, "no").continued_by(Some("x ".repeat(40)));
        assert_eq!(shown(&resumed).lines().count(), 2);
    }

    #[test]
    fn silent_error_prints_nothing() {
        for format in [ErrorFormat::Text, ErrorFormat::Json] {
            assert_eq!(printed(&CliError::silent(Exit::Done), format), "");
        }
    }
}
