//! The subscriber's layer that makes lines of events.

use std::cell::RefCell;
use std::fmt;

use formsvc_protocol::FormInstant;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

use super::LogFormat;
use super::line::Line;
use crate::store::Clock;

const MICROS_PER_SECOND: i64 = 1_000_000;

/// Takes lines, each with its newline.
pub trait LineSink {
    /// Takes one line of a level.
    fn line(&self, level: Level, line: &str);
}

impl<F: Fn(&str)> LineSink for F {
    fn line(&self, _: Level, line: &str) {
        self(line);
    }
}

/// Prints events as lines.
pub struct LogLayer<S> {
    format: LogFormat,
    clock: Clock,
    sink: S,
}

impl<S: LineSink> LogLayer<S> {
    /// A layer that stamps lines with the time of `clock`.
    pub fn new(format: LogFormat, clock: Clock, sink: S) -> Self {
        Self { format, clock, sink }
    }
}

impl<R: Subscriber, S: LineSink + 'static> Layer<R> for LogLayer<S> {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, R>) {
        let mut line = Line::new(self.format);
        event.record(&mut line);
        let level = *event.metadata().level();
        let text = with_time((self.clock)(), |time| line.finish(time, level));
        self.sink.line(level, &text);
    }
}

impl<S> fmt::Debug for LogLayer<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogLayer").field("format", &self.format).finish_non_exhaustive()
    }
}

/// Lends the printed time. Most lines share their second with the one before, and printing a date
/// costs more than the rest of a line.
fn with_time<T>(now: FormInstant, lend: impl FnOnce(&str) -> T) -> T {
    thread_local! {
        static PRINTED: RefCell<(i64, String)> = const { RefCell::new((i64::MIN, String::new())) };
    }
    let second = now.micros().div_euclid(MICROS_PER_SECOND);
    let millis = now.micros().rem_euclid(MICROS_PER_SECOND) / 1000;
    PRINTED.with_borrow_mut(|(of, text)| {
        if *of != second {
            *of = second;
            now.to_timestamp().as_str().clone_into(text);
        }
        // The digits are the last but the `Z`.
        text.truncate(text.len().saturating_sub(4));
        let digit =
            |tens: i64| char::from(b"0123456789"[usize::try_from(millis / tens % 10).unwrap_or(0)]);
        text.extend([digit(100), digit(10), digit(1), 'Z']);
        lend(text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_printed_as_if_each_were_printed_whole() {
        for micros in [0, 1, 999, 1_000, 123_456, 999_999, 1_000_000, 1_001_000, -1, -1_000_000] {
            let now = FormInstant::from_micros(micros);
            with_time(now, |time| assert_eq!(time, now.to_timestamp().as_str()));
        }
    }
}
