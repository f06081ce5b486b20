//! Tests of the command line through its binary; the tree mirrors the commands.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic; the lint spares tests alone")]

mod answers;
mod api;
mod auth;
#[cfg(unix)]
mod children;
mod completion;
mod config;
#[cfg(unix)]
mod contract;
mod doctor;
#[cfg(unix)]
mod ends;
mod errors;
mod exit_codes;
mod forms;
mod help;
mod ids;
#[cfg(target_os = "linux")]
mod interrupts;
mod invalid_items;
#[cfg(unix)]
mod key;
#[cfg(target_os = "linux")]
mod keyring;
// The same proxies and TLS servers as the client's tests.
#[path = "../../../client/tests/it/support/net.rs"]
#[expect(dead_code, reason = "mutual TLS is tested by the client only")]
mod net;
#[cfg(unix)]
mod network;
#[cfg(unix)]
mod output;
mod processes;
#[cfg(unix)]
mod project;
mod readme;
mod receiver;
mod sandbox;
mod schema;
mod settings;
mod shells;
mod submissions;
mod support;
#[cfg(unix)]
mod terminal;
#[cfg(unix)]
mod time_limits;
mod topics;
mod webhook;
