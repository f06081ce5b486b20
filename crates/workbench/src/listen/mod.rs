//! A listener for deliveries: it verifies, stores, forwards and answers them.
//!
//! Each delivery ends with a [`ListenerEvent`] in a bounded channel. The listener accepts a delivery only if
//! the channel has room for its event. So senders retry while the events are not read, and no event of an
//! accepted delivery is lost.

mod connection;
mod event_names;
mod goal;
mod intake;
mod line;
mod policy;
mod response;
#[cfg(test)]
mod samples;
mod server;
mod totals;
mod wait_queue;

pub use goal::{Ended, Expectation, Expression, Goal, GoalOptions};
pub use intake::{ListenLimits, ListenRules, ListenerEvent, RefusedRequest};
pub use line::{ListenerLine, ReadyLine, SCHEMA, SCHEMA_VERSION, instant};
pub use policy::{Fault, Faults, OnInvalid};
pub use response::{REFUSALS, Refusal};
pub use server::{Listener, ListenerHandle, Sockets, free_port_near};
pub use totals::{Times, Totals};
