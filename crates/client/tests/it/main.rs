//! Tests of the client from outside: over a fake transport on a paused clock wherever time
//! matters, over a real socket for what only a socket shows.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic; the lint spares tests alone")]

#[cfg(feature = "blocking")]
mod blocking;
mod bounds;
mod calls;
mod errors;
mod events;
mod limit;
mod list;
#[cfg(feature = "test-util")]
mod mock;
mod model;
mod options;
mod resume;
mod retry;
mod secrets;
mod socket;
mod support;
mod ties;
#[cfg(feature = "tower")]
mod tower;
#[cfg(feature = "tracing")]
mod trace;
mod typed;
mod types;
