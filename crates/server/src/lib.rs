//! The reference form submissions service, as a library: the store, the REST API, and the typed
//! admin API that the `formsvc-server` command and `formsvc sandbox` are built on.

pub mod admin;
pub mod api;
mod api_key;
mod causes;
pub mod cmd;
#[cfg(test)]
mod contrast;
mod copy;
pub mod dashboard;
pub mod delivery;
pub mod egress;
mod fault_point;
#[cfg(feature = "faults")]
pub mod faults;
pub mod fields;
pub mod health;
pub mod import;
mod json_number;
mod json_text;
mod keyed_semaphore;
pub mod metrics;
mod network;
pub mod openapi;
mod percent;
mod printable;
pub mod public;
mod random;
pub mod rate_limit;
mod read_body;
pub mod ready_file;
pub mod request_id;
pub mod response_budget;
mod same_file;
pub mod secrets;
pub mod seed;
pub mod serve;
mod staging;
pub mod store;
mod supervise;
pub mod telemetry;
mod value_text;

#[cfg(feature = "fault-points")]
pub use fault_point::FaultPoint;
