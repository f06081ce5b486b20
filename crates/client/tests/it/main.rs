//! Tests of the client's public API: with a fake transport and a paused clock, or over a real
//! socket.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic; the lint spares tests alone")]

mod answers;
mod blocking;
mod bounds;
mod calls;
mod errors;
mod events;
mod follow;
mod guide;
mod hostile;
mod ids;
mod invalid_items;
mod limit;
mod list;
mod mock;
mod network;
mod options;
mod raw;
mod raw_pages;
mod redirects;
mod resume;
mod retry;
mod runtimes;
mod secrets;
mod socket;
mod support;
mod sync;
mod ties;
mod tracing;
mod types;
