//! Tests of the client from outside: over a fake transport on a paused clock wherever time
//! matters, over a real socket for what only a socket shows.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic; the lint spares tests alone")]

mod answers;
mod blocking;
mod bounds;
mod calls;
mod dependencies;
mod errors;
mod events;
mod hostile;
mod limit;
mod list;
mod mock;
mod model;
mod network;
mod options;
mod raw;
mod resume;
mod retry;
mod secrets;
mod socket;
mod support;
mod sync;
mod ties;
mod tower;
mod trace;
mod types;
