//! Tests of the service from outside the library, one module per capability.

mod api;
mod cmd;
mod import;
mod store;
