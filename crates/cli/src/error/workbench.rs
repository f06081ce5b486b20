//! Converts errors of the webhook tools: exit codes and hints.

use formsvc_workbench::edit::EditError;
use formsvc_workbench::inspector::InspectorError;
use formsvc_workbench::replay::ReplayError;
use formsvc_workbench::store::StoreError;

use super::{CliError, Code};
use crate::exit::Exit;

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        let hint = match &error {
            StoreError::Unsafe { fix, .. } => fix.clone(),
            StoreError::Foreign { path } => {
                format!("move `{}` away; the next listener creates a new one", path.display())
            }
            StoreError::Full => {
                "free space, or set FORMSVC_STATE_DIR to a folder on another disk".to_owned()
            }
            StoreError::Busy => "try again when that process has ended".to_owned(),
            StoreError::Io { .. } => {
                "set FORMSVC_STATE_DIR to a folder of yours on a local disk".to_owned()
            }
            _ => String::new(),
        };
        Self::new(Exit::LocalIo, error.to_string()).because_of(&error).hint(hint)
    }
}

impl From<EditError> for CliError {
    fn from(error: EditError) -> Self {
        Self::usage("the body cannot be changed").because(&error)
    }
}

impl From<ReplayError> for CliError {
    fn from(error: ReplayError) -> Self {
        match error {
            ReplayError::NotForwarded(number) => Self::usage(format!(
                "capture {number} was not forwarded to a target"
            ))
            .hint("pass its URL: `--to 4242/hook`; `listen --forward-to URL` stores it with each delivery"),
            ReplayError::Untrusted { .. } => Self::usage(error.to_string()),
            ReplayError::NoSecret => Self::coded(Code::MissingArgument, error.to_string()),
        }
    }
}

impl From<InspectorError> for CliError {
    fn from(error: InspectorError) -> Self {
        let (exit, hint) = match error {
            InspectorError::Port { .. } => (Exit::LocalIo, "`--ui-port 0` chooses a free port"),
            InspectorError::Random(_) | InspectorError::Sender(_) => (Exit::Failed, ""),
        };
        Self::new(exit, error.to_string()).because_of(&error).hint(hint)
    }
}
