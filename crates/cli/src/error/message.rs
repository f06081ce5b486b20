//! Messages on standard error other than errors: warnings, summaries and progress. Each message is text, or with
//! `--error-format json` a JSON object on one line.

use std::io::{self, Write};

use serde_json::{Map, Value};

use crate::base::sanitize::one_line;
use crate::base::text::{stderr_width, wrap_whole_words};
use crate::error::ErrorFormat;
use crate::error::{FieldRow, field};

/// The fields of a message as JSON.
pub const MESSAGE_FIELDS: &[FieldRow] = &[
    field("level", "string", "`info`, `warning`; with `-vv` also `error`, `debug`, `trace`"),
    field("message", "string", "the message, for people"),
    field("command", "string", "a command that continues the work"),
    field("submissions", "number", "submissions read so far, or written by an export"),
    field("reached", "string", "the time of the oldest submission read so far"),
    field("columns", "number", "columns of an export"),
    field("file", "string", "the file of an export"),
    field("seconds", "number", "duration of an export"),
    field("complete", "string", "`yes`, `no` or `unproven`: whether an export has all submissions"),
    field("hidden_columns", "number", "columns that a table does not show"),
];

/// A message. The text and the fields may contain data of the service, so they are sanitized when the message is
/// printed.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    is_warning: bool,
    text: String,
    fields: Map<String, Value>,
    /// False for a command to copy, which stays on one line.
    may_wrap: bool,
}

impl Message {
    pub(crate) fn info(text: impl Into<String>) -> Self {
        Self { is_warning: false, text: text.into(), fields: Map::new(), may_wrap: true }
    }

    /// Creates a warning from a text without a `warning:` prefix.
    pub(crate) fn warning(text: impl Into<String>) -> Self {
        Self { is_warning: true, ..Self::info(text) }
    }

    /// Creates a message with a command to copy, which is never wrapped.
    pub(crate) fn command(title: &str, command: &str) -> Self {
        let message = Self::info(format!("{title}: {command}")).with("command", command);
        Self { may_wrap: false, ..message }
    }

    /// Adds a field of [`MESSAGE_FIELDS`] to the JSON form.
    #[must_use]
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }

    /// Writes the message to standard error. A failed write to standard error cannot be reported, so it is ignored.
    pub(crate) fn print(&self, format: ErrorFormat) {
        let mut text = match format {
            ErrorFormat::Json => self.to_json().to_string(),
            ErrorFormat::Text => self.wrapped(),
        };
        // One write includes the line break, so that output of other programs does not appear in the line.
        text.push('\n');
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    fn wrapped(&self) -> String {
        let prefix = if self.is_warning { "warning: " } else { "" };
        let line = format!("{prefix}{}", one_line(&self.text));
        match stderr_width().filter(|_| self.may_wrap) {
            Some(width) => wrap_whole_words(&line, width).join("\n"),
            None => line,
        }
    }

    fn to_json(&self) -> Value {
        let level = if self.is_warning { "warning" } else { "info" };
        let mut json = Map::from_iter([("level".to_owned(), level.into())]);
        json.insert("message".to_owned(), one_line(&self.text).into());
        for (name, value) in &self.fields {
            let text = value.as_str().map(|text| one_line(text).into());
            json.insert(name.clone(), text.unwrap_or_else(|| value.clone()));
        }
        Value::Object(json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_in_text_and_in_json() {
        let warning =
            Message::warning("a\u{1b}[31m\nb").with("file", "c\u{202e}d").with("columns", 2);
        assert_eq!(warning.wrapped(), "warning: a[31m b");
        let json = r#"{"columns":2,"file":"cd","level":"warning","message":"a[31m b"}"#;
        assert_eq!(warning.to_json().to_string(), json);
        let command = Message::command("more", "formsvc me");
        assert_eq!(command.wrapped(), "more: formsvc me");
        let json = r#"{"command":"formsvc me","level":"info","message":"more: formsvc me"}"#;
        assert_eq!(command.to_json().to_string(), json);
    }
}
