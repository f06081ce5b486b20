//! Tests of the workbench with sockets and files.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

mod forward;
mod inspector;
mod listen;
mod poll;
mod replay;
mod simulate;
