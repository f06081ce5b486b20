//! The `formsvc-server` command, through its binary.

mod config;
mod copying;
mod deliveries;
mod forms;
mod imports;
mod keys;
mod links;
mod lists;
mod manual;
mod postgres;
mod receiver;
mod refusals;
mod schema;
mod service_at_random;
mod serving;
mod site;
mod traces;
mod upkeep;
mod webhooks;

use site::{PATIENCE, Run, Serving, Site};
