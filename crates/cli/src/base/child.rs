//! Starts other programs: the pager, the editor, and the command that prints the API key.

use std::ffi::OsStr;
use std::process::Command;

use crate::base::env::SECRET_VARS;

/// Creates a command with the environment of this process, without the variables that contain secrets.
/// Every program is started through this function.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for variable in SECRET_VARS {
        command.env_remove(variable.name);
    }
    command
}
