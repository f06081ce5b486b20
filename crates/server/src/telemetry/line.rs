//! The text of one line.

use std::fmt::{self, Write};

use tracing::field::{Field, Visit};

use super::LogFormat;
use crate::printable::Escaped;

/// A line under construction.
pub(super) struct Line {
    format: LogFormat,
    fields: String,
    message: String,
}

impl Line {
    pub(super) fn new(format: LogFormat) -> Self {
        Self { format, fields: String::with_capacity(192), message: String::new() }
    }

    pub(super) fn finish(self, time: &str, level: tracing::Level) -> String {
        let Self { format, fields, message } = self;
        match format {
            LogFormat::Text => format!("{time} {level:<5} {}{fields}\n", Escaped(&message)),
            LogFormat::Json => {
                let mut line = format!(r#"{{"time":"{time}","level":"{level}","message":"#);
                push_json(&mut line, &message);
                line.push_str(&fields);
                line.push_str("}\n");
                line
            }
        }
    }

    fn name(&mut self, field: &Field) {
        match self.format {
            LogFormat::Text => {
                self.fields.push(' ');
                self.fields.push_str(field.name());
                self.fields.push('=');
            }
            LogFormat::Json => {
                self.fields.push(',');
                push_json(&mut self.fields, field.name());
                self.fields.push(':');
            }
        }
    }

    /// A number or a boolean, which both formats print alike.
    fn bare(&mut self, field: &Field, value: impl fmt::Display) {
        self.name(field);
        write!(self.fields, "{value}").expect("writing to a string cannot fail");
    }
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.message.push_str(value);
            return;
        }
        self.name(field);
        match self.format {
            LogFormat::Text => push_text(&mut self.fields, value),
            LogFormat::Json => push_json(&mut self.fields, value),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            write!(self.message, "{value:?}").expect("writing to a string cannot fail");
        } else {
            self.record_str(field, &format!("{value:?}"));
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.bare(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.bare(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.bare(field, value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.record_str(field, &value.to_string());
    }
}

/// A value of a text line: as it is when it is one plain word, else quoted and escaped.
fn push_text(line: &mut String, value: &str) {
    let is_word = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'=';
    if !value.is_empty() && value.bytes().all(is_word) {
        line.push_str(value);
    } else {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"");
        write!(line, "\"{}\"", Escaped(&value)).expect("writing to a string cannot fail");
    }
}

/// A JSON string in which only what shows as itself stands unescaped.
fn push_json(line: &mut String, value: &str) {
    line.push('"');
    for character in value.chars() {
        match character {
            '"' | '\\' => line.extend(['\\', character]),
            ' '..='~' => line.push(character),
            _ if character.is_alphanumeric() => line.push(character),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    write!(line, "\\u{unit:04x}").expect("writing to a string cannot fail");
                }
            }
        }
    }
    line.push('"');
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use formsvc_protocol::FormInstant;
    use tracing::level_filters::LevelFilter;
    use tracing_subscriber::layer::{Layer, SubscriberExt};

    use super::*;
    use crate::store::Clock;
    use crate::telemetry::LogLayer;

    fn logged(format: LogFormat, level: LevelFilter, act: impl FnOnce()) -> String {
        let captured: Arc<Mutex<String>> = Arc::default();
        let writer = Arc::clone(&captured);
        let clock: Clock = Arc::new(|| FormInstant::from_micros(0));
        let sink = move |line: &str| writer.lock().unwrap().push_str(line);
        let layer = LogLayer::new(format, clock, sink).with_filter(level);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), act);
        captured.lock().unwrap().clone()
    }

    #[test]
    fn text_lines_show_words_bare_and_quote_the_rest() {
        let line = logged(LogFormat::Text, LevelFilter::INFO, || {
            let cause = "a \"b\"\n\u{1b}[31m\u{202e}";
            tracing::info!(id = "req_1", n = 5, ok = true, cause, empty = "", "request");
        });
        assert_eq!(
            line,
            "1970-01-01T00:00:00.000Z INFO  request id=req_1 n=5 ok=true \
             cause=\"a \\\"b\\\"\\n\\u{1b}[31m\\u{202e}\" empty=\"\"\n"
        );
    }

    #[test]
    fn json_lines_parse_to_what_was_logged() {
        let hostile = "a \"b\"\\\n\u{1b}\u{202e}\u{1f600}é";
        let line = logged(LogFormat::Json, LevelFilter::INFO, || {
            tracing::warn!(cause = hostile, n = -5, "{hostile}");
        });
        assert!(line.trim_end().chars().all(|c| !c.is_control() && c != '\u{202e}'), "{line}");
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["cause"], hostile);
        assert_eq!(value["message"], hostile);
        assert_eq!((value["n"].as_i64(), value["level"].as_str()), (Some(-5), Some("WARN")));
    }

    #[test]
    fn what_is_below_the_level_is_not_printed() {
        let lines = logged(LogFormat::Text, LevelFilter::WARN, || {
            tracing::info!("no");
            tracing::warn!("yes");
        });
        assert!(lines.contains("yes") && !lines.contains("no"));
    }
}
