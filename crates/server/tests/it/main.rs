//! Tests of the service from outside the library, one module per capability.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod admin;
mod api;
mod cmd;
mod dashboard;
mod delivery;
mod egress;
mod import;
mod postgres;
mod public;
mod store;
mod watched;
