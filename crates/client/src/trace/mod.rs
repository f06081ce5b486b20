//! Spans for whoever collects traces: one for each call, and in it one for each attempt. Fields are
//! named as OpenTelemetry's conventions for HTTP clients name them. No field holds the key, an id, a
//! query or a body; the template of the path stands for the address.
//!
//! Without the cargo feature `tracing` there is nothing here at all.

#[cfg(not(feature = "tracing"))]
#[expect(clippy::unused_self, reason = "the signatures are those of the spans")]
mod nothing;
#[cfg(feature = "tracing")]
mod spans;

#[cfg(not(feature = "tracing"))]
pub(crate) use nothing::CallSpan;
#[cfg(feature = "tracing")]
pub(crate) use spans::CallSpan;

use http::StatusCode;

use crate::ErrorKind;

/// How a call or an attempt ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ending {
    pub(crate) status: Option<StatusCode>,
    pub(crate) failure: Option<ErrorKind>,
}
