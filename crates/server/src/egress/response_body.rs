//! Reads the beginning of a response's body, for the record of the attempt.

use std::borrow::Cow;
use std::error::Error as StdError;

use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::time::{Instant, timeout_at};

use super::failure::detail_of;

/// Most of a response's body that is read, in bytes: 16 KiB.
pub const SNIPPET_MAX: usize = 16 << 10;

/// How the reading of a response's body ended.
///
/// It is logged and changes nothing else: status line and headers decide an attempt (SPEC §6 rule 1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyEnd {
    /// The whole body was read.
    Complete,
    /// The body has more than [`SNIPPET_MAX`] bytes; the rest was not read.
    LimitReached,
    /// The body was not complete at the attempt's deadline.
    TimedOut,
    /// The connection ended within the body, or the body is malformed. The cause is escaped.
    Broken(Option<Box<str>>),
}

impl BodyEnd {
    /// Describes the problem for the log; `None` when the body is complete.
    pub fn problem(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Complete => None,
            Self::LimitReached => Some(format!("longer than {SNIPPET_MAX} bytes").into()),
            Self::TimedOut => Some("not complete in time".into()),
            Self::Broken(None) => Some("cut off or malformed".into()),
            Self::Broken(Some(detail)) => Some(format!("cut off or malformed: {detail}").into()),
        }
    }
}

/// Reads up to [`SNIPPET_MAX`] bytes of a body, until the deadline at most.
pub(super) async fn read_snippet(mut body: Incoming, deadline: Instant) -> (Vec<u8>, BodyEnd) {
    let mut snippet = Vec::new();
    while !body.is_end_stream() {
        let frame = match timeout_at(deadline, body.frame()).await {
            Err(_) => return (snippet, BodyEnd::TimedOut),
            Ok(None) => break,
            Ok(Some(Err(error))) => return (snippet, BodyEnd::Broken(root_cause(&error))),
            Ok(Some(Ok(frame))) => frame,
        };
        let Ok(bytes) = frame.into_data() else { continue };
        let room = SNIPPET_MAX - snippet.len();
        snippet.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if bytes.len() > room {
            return (snippet, BodyEnd::LimitReached);
        }
    }
    (snippet, BodyEnd::Complete)
}

/// The innermost cause; the outer ones only repeat that a body was being read.
fn root_cause(error: &hyper::Error) -> Option<Box<str>> {
    let first: &(dyn StdError + 'static) = error;
    std::iter::successors(Some(first), |&error| error.source()).last().and_then(detail_of)
}
