//! Failed rounds of `formsvc submissions sync`.

use formsvc_export::ExportError;

use crate::cmd::submissions::export::explain_stopped;
use crate::error::CliError;
use crate::exit::Exit;

/// The error of a round or of one form in it.
pub(super) struct Failure {
    pub(super) error: CliError,
    /// Whether the next round may succeed, so that `--watch` continues.
    pub(super) passes: bool,
}

impl Failure {
    /// The failure of a sync that stopped after `new` submissions.
    pub(super) fn stopped(error: ExportError, new: u64) -> Self {
        let passes = error.is_conflict();
        let failure = Self::from(explain_stopped(error, new, "continues"));
        Self { passes: passes || failure.passes, ..failure }
    }
}

impl From<CliError> for Failure {
    fn from(error: CliError) -> Self {
        let passes = matches!(error.exit, Exit::Service | Exit::Network | Exit::RateLimited);
        Self { error, passes }
    }
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Self {
        let passes = error.is_conflict();
        let failure = Self::from(CliError::from(error));
        Self { passes: passes || failure.passes, ..failure }
    }
}

impl From<Failure> for CliError {
    fn from(failure: Failure) -> Self {
        failure.error
    }
}
