//! What happens inside, told on standard error for `-vv` and `-vvv`: one line an event.

use std::fmt;
use std::io;

use tracing::field::Field;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

use crate::sanitize::one_line;

/// Begins to tell, as often as `-v` was given.
pub(crate) fn to_stderr(verbose: u8) {
    let level = match verbose {
        0 | 1 => return,
        2 => Level::DEBUG,
        _ => Level::TRACE,
    };
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(io::stderr)
        .with_ansi(false)
        .fmt_fields(debug_fn(field))
        .event_format(Line)
        .init();
}

/// ` name=value`, under a short name; what only exporters of traces need is left out.
fn field(to: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    match field.name() {
        "message" | "url.template" => write!(to, " {value:?}"),
        "http.response.status_code" => write!(to, " status={value:?}"),
        "http.request.resend_count" => write!(to, " resend={value:?}"),
        "error.type" => write!(to, " error={value:?}"),
        "http.request.method" | "server.address" | "server.port" => Ok(()),
        name if name.starts_with("otel.") => Ok(()),
        name => write!(to, " {name}={value:?}"),
    }
}

/// `debug: formsvc_client: retry (in attempt "/v1/forms" resend=1) (in call "/v1/forms")`
struct Line;

impl<S, N> FormatEvent<S, N> for Line
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
        let about = event.metadata();
        let mut line = format!("{}: {}:", about.level().as_str().to_lowercase(), about.target());
        cx.format_fields(Writer::new(&mut line), event)?;
        for span in cx.event_scope().into_iter().flatten() {
            let extensions = span.extensions();
            let fields = extensions.get::<FormattedFields<N>>().map_or("", |fields| &fields.fields);
            let name = span.name();
            let name = name.strip_prefix("formsvc.").unwrap_or(name);
            line.extend([" (in ", name, fields.trim_end(), ")"]);
        }
        // Some of it was written by strangers.
        writeln!(to, "{}", one_line(&line))
    }
}
