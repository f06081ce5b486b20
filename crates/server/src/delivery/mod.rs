//! Deliveries: what was accepted goes to the endpoints, at least once, until it is answered with 2xx or
//! has failed for good (SPEC §3, §6).
//!
//! | Question | File |
//! |---|---|
//! | which deliveries are taken next, and how many at a time | `select` |
//! | which wait for a slot after they were claimed, and for how long | `at_hand` |
//! | may this one be attempted at all, and with what | `guard` |
//! | what is sent, and what came back | `errand`, `attempt`, `event_body`, `code` |
//! | what that means for the delivery | `outcome` |
//! | when it is tried again | `formsvc_protocol::RetrySchedule`, which whoever plays this service has too |
//! | how outcomes are recorded | `settle` |
//! | who is told of each attempt | `observer` |
//! | who does all this | `worker`, which claims, and `runner`, which attempts |
//! | what these share, and what of it outlasts a panic | `desk` |
//! | how it begins and ends | `running` |
//!
//! The queue is in the store. A worker claims what is due, attempts it, and settles it; a crash in
//! between leaves a claim, which is given back at the next start or when its lease runs out, so that
//! a delivery can be repeated and never lost.

mod at_hand;
mod attempt;
mod code;
mod desk;
mod errand;
mod event_body;
mod guard;
mod observer;
mod options;
mod outcome;
mod random;
mod runner;
mod running;
mod select;
mod settle;
mod trial;
mod worker;

pub use attempt::Carrier;
pub use code::AttemptCode;
pub use observer::{AttemptObserver, AttemptOver};
pub use options::{DeliveryOptions, Slots, read_retry_base, read_retry_factor};
pub use random::{Random, system_random};
pub use running::{Deliveries, Equipment};
pub use trial::{TrialError, trial};
