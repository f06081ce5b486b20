//! Tests of the command line through its binary; the tree mirrors the commands.

mod exit_codes;
mod forms;
mod sandbox;
mod settings;
mod submissions;
mod support;
