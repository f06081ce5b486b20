//! Programs that a user would write instead, in `crates/bench/peers`.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::cli::Options;

/// Returns the path of a peer's source.
pub(crate) fn script(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(name)
}

/// Returns a Python script with its arguments still missing.
pub(crate) fn python(options: &Options, name: &str) -> Command {
    let mut command = Command::new(&options.python);
    command.arg(script(name));
    command
}

/// Checks that the Python interpreter can import the modules.
pub(crate) fn python_can_import(options: &Options, modules: &str) -> bool {
    succeeds(Command::new(&options.python).args(["-c", &format!("import {modules}")]))
}

/// Checks that `express` and `stripe` are installed for Node.js.
pub(crate) fn node_is_ready(options: &Options) -> bool {
    let mut command = Command::new("node");
    succeeds(
        command.args(["-e", "require('express'); require('stripe')"]).current_dir(&options.node),
    )
}

/// Checks that a program can be started.
pub(crate) fn is_installed(program: &str) -> bool {
    succeeds(Command::new(program).arg("--version"))
}

fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}
