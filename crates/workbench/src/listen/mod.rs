//! A listener that receives deliveries over HTTP, verifies, stores and forwards them, and responds to the sender.
//!
//! Each delivery results in a [`ListenerEvent`] in a bounded channel. The listener accepts a delivery only if the
//! channel has room for its event. So no event of a delivery is lost, and while the caller does not read the
//! events, senders get 503 and retry.
//!
//! A *refused request* did not become a delivery ([`Refusal`]). A *rejected delivery* is one that the listener itself
//! answered with an error, usually because its signature is invalid.

mod connection;
mod goal;
mod intake;
mod line;
mod permits;
mod policy;
mod response;
#[cfg(test)]
mod samples;
mod server;
mod totals;
mod wait_queue;

pub use goal::{Ended, Expectation, Expression, Goal, GoalOptions};
pub use intake::{ListenLimits, ListenRules, ListenerEvent, RefusedRequest};
pub use line::{ListenerLine, ReadyLine, SCHEMA, SCHEMA_VERSION};
pub use policy::{Fault, Faults, OnInvalid};
pub use response::{REFUSALS, Refusal, RefusalRow};
pub use server::{Listener, ListenerHandle, Sockets};
pub use totals::{Times, Totals};

pub use crate::record::instant;
