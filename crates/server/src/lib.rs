//! The reference form submissions service, as a library: the store, the REST API, and the typed
//! admin API that the `formsvc-server` command and `formsvc sandbox` are built on.

pub mod admin;
pub mod api_key;
pub mod seed;
mod staging;
pub mod store;
