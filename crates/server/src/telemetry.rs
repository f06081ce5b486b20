//! Logs: one event a line on stderr, as text or as JSON.
//!
//! Whatever comes from outside is escaped, so that a line is always one line and never moves a
//! terminal's cursor. Spans are not printed; the request id stands in each line of a request.

use std::fmt::{self, Write as _};
use std::io::Write;
use std::panic::PanicHookInfo;

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use crate::printable::Escaped;
use crate::store::Clock;

/// Shape of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// `time LEVEL message key=value …`
    Text,
    /// One JSON object a line.
    Json,
}

/// Sends the events of this process to stderr, panics too. The second call of a process, or one
/// after another subscriber was installed, changes nothing.
pub fn init(level: LevelFilter, format: LogFormat, clock: Clock) {
    let layer = LogLayer::new(format, clock, std::io::stderr).with_filter(level);
    if tracing_subscriber::registry().with(layer).try_init().is_ok() {
        std::panic::set_hook(Box::new(log_panic));
    }
}

/// A panic as a log line. Its message is told only when it was written in the source: one that was
/// formatted may hold what users sent.
fn log_panic(info: &PanicHookInfo<'_>) {
    let said = info.payload().downcast_ref::<&'static str>();
    let message = said.copied().unwrap_or("its message is withheld");
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    tracing::error!(message_of_panic = message, place, "panic");
}

/// Prints events through a writer made anew for each line.
pub struct LogLayer<M> {
    format: LogFormat,
    clock: Clock,
    make_writer: M,
}

impl<W: Write, M: Fn() -> W> LogLayer<M> {
    /// A layer that stamps lines with the time of `clock`.
    pub fn new(format: LogFormat, clock: Clock, make_writer: M) -> Self {
        Self { format, clock, make_writer }
    }
}

impl<S: Subscriber, W: Write, M: Fn() -> W + 'static> Layer<S> for LogLayer<M> {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut line = Line { format: self.format, fields: String::new(), message: String::new() };
        event.record(&mut line);
        let time = (self.clock)().to_timestamp();
        let text = line.finish(time.as_str(), *event.metadata().level());
        // There is nowhere left to report that the log cannot be written.
        let _ = (self.make_writer)().write_all(text.as_bytes());
    }
}

impl<M> fmt::Debug for LogLayer<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogLayer").field("format", &self.format).finish_non_exhaustive()
    }
}

/// A line under construction.
struct Line {
    format: LogFormat,
    fields: String,
    message: String,
}

impl Line {
    fn finish(self, time: &str, level: tracing::Level) -> String {
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
        self.record_str(field, &format!("{value:?}"));
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

    use super::*;

    #[derive(Clone, Default)]
    struct Captured(Arc<Mutex<Vec<u8>>>);

    impl Write for Captured {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn logged(format: LogFormat, level: LevelFilter, act: impl FnOnce()) -> String {
        let captured = Captured::default();
        let writer = captured.clone();
        let clock: Clock = Arc::new(|| FormInstant::from_micros(0));
        let layer = LogLayer::new(format, clock, move || writer.clone()).with_filter(level);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), act);
        String::from_utf8(captured.0.lock().unwrap().clone()).unwrap()
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
