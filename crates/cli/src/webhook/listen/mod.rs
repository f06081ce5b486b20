//! A listener for deliveries: it verifies, keeps, shows and passes on what comes, and answers.
//!
//! It runs on a runtime of its own, so that whoever reads what it tells cannot hold it up. What happens
//! goes to the command through a channel with a place for each delivery, taken before the delivery is:
//! where nobody reads, senders are told to come again, and nothing that was taken goes untold.

pub(crate) mod answers;
mod body;
mod connection;
mod delivery_fields;
pub(crate) mod engine;
pub(in crate::webhook) mod exact_json;
mod exact_number;
pub(crate) mod expect;
pub(crate) mod faults;
pub(crate) mod forward;
pub(crate) mod goal;
pub(crate) mod happened;
mod histogram;
pub(crate) mod intake;
mod lasting;
mod names;
mod parts;
pub(crate) mod policy;
pub(crate) mod poll_mark;
pub(crate) mod ready;
pub(crate) mod record;
mod relay;
pub(crate) mod report;
pub(crate) mod route;
#[cfg(test)]
mod samples;
pub(crate) mod schema;
pub(crate) mod server;
pub(crate) mod tally;
pub(crate) mod text;
mod waiting;
