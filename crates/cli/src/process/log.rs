//! The log of `-vv` and `-vvv` on standard error: one line per event, text or JSON.

use std::fmt;
use std::io;

use tracing::field::Field;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::base::sanitize::one_line;
use crate::error::ErrorFormat;

/// Starts the log at the level for the number of `-v` flags; fewer than two start no log. A line that cannot be
/// written is dropped.
pub(super) fn to_stderr(verbose: u8, format: ErrorFormat) {
    let level = match verbose {
        0 | 1 => return,
        2 => Level::DEBUG,
        _ => Level::TRACE,
    };
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(io::stderr)
        .with_ansi(false)
        // The library reports a failed write to standard error on standard error, which would panic.
        .log_internal_errors(false)
        .fmt_fields(debug_fn(write_field))
        .event_format(LogLine(format))
        .init();
}

/// Writes ` name=value`, or only the value of the field `message`.
fn write_field(to: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    match field.name() {
        "message" => write!(to, " {value:?}"),
        name => write!(to, " {name}={value:?}"),
    }
}

/// A line of the log, such as
/// `warn: formsvc_client::event: attempt failed, retry scheduled attempt=1 delay=120ms`
///
/// As JSON: `{"level":"warning","message":"formsvc_client::event: attempt failed, …"}`
struct LogLine(ErrorFormat);

impl<S, N> FormatEvent<S, N> for LogLine
where
    S: Subscriber + for<'s> LookupSpan<'s>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(
        &self,
        cx: &FmtContext<'_, S, N>,
        mut to: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let metadata = event.metadata();
        let mut message = format!("{}:", metadata.target());
        cx.format_fields(Writer::new(&mut message), event)?;
        // Values may come from the service.
        let message = one_line(&message);
        let level = metadata.level().as_str().to_lowercase();
        if self.0 == ErrorFormat::Text {
            return writeln!(to, "{level}: {message}");
        }
        let level = if level == "warn" { "warning" } else { &level };
        writeln!(to, "{}", serde_json::json!({ "level": level, "message": message }))
    }
}
