//! Signing secrets. They are never arguments, because other users can read the arguments of a process.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::PathBuf;

use clap::Args;
use formsvc_workbench::secrets::{AddSecretError, SigningSecrets};
use secrecy::{ExposeSecret, SecretString};

use super::super::secret;
use crate::account::key::aside;
use crate::account::key::given::{self, SIGNING_SECRET};
use crate::base::env;
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::output::prompt;
use crate::settings::{KeySource, Service};

/// Advice for a command that has no secret.
pub(in crate::cmd) const SECRET_ADVICE: &str =
    "pass `--secret-file PATH` or `--secret-stdin`, or set FORMSVC_SIGNING_SECRET";

/// Flags that locate the secrets.
#[derive(Debug, Default, Args)]
pub(in crate::cmd) struct SecretArgs {
    /// File with one signing secret. During a rotation, repeat the flag; the new secret must be first [env:
    /// FORMSVC_SIGNING_SECRET_FILE]
    #[arg(long, value_name = "PATH", help_heading = "Secrets")]
    secret_file: Vec<PathBuf>,
    /// Read the signing secret from standard input (or set FORMSVC_SIGNING_SECRET)
    #[arg(long, conflicts_with = "secret_file", help_heading = "Secrets")]
    secret_stdin: bool,
}

impl SecretArgs {
    /// Reads the secrets of the flags, or else of the variables. Returns none if there are neither.
    pub(in crate::cmd) async fn read(&self, cx: &Context) -> Result<SigningSecrets, CliError> {
        let key_is_on_stdin =
            matches!(&cx.settings.service, Service::At { key: Some(KeySource::Stdin), .. });
        if self.secret_stdin && key_is_on_stdin {
            let what = "`--secret-stdin` and `--api-key-stdin` cannot be used together";
            return Err(CliError::usage(what).hint("pass one of them as a file: `--secret-file`"));
        }
        let mut secrets = SigningSecrets::default();
        if self.secret_stdin {
            add(cx, &mut secrets, "standard input", read_stdin().await?)?;
            return Ok(secrets);
        }
        let mut files = self.secret_file.clone();
        if files.is_empty() {
            let name = env::SIGNING_SECRET.name;
            if let Some(text) = variable(name) {
                let text = text.to_str();
                let text =
                    text.ok_or_else(|| CliError::usage(format!("{name} is not UTF-8 text")))?;
                add(cx, &mut secrets, name, given::only_one(&SIGNING_SECRET, text, name)?)?;
                return Ok(secrets);
            }
            files.extend(variable(env::SIGNING_SECRET_FILE.name).map(PathBuf::from));
        }
        for path in files {
            if let Some(warning) = given::loose_file(&SIGNING_SECRET, &path) {
                cx.progress.warn(&warning);
            }
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
            let secret = aside(move || given::from_file(&SIGNING_SECRET, &path)).await??;
            add(cx, &mut secrets, &name, secret)?;
        }
        Ok(secrets)
    }

    /// Reads the secrets that sign generated deliveries, but no stored secrets. Returns an error with `purpose`
    /// ("signing") if there are none.
    pub(in crate::cmd) async fn read_for_signing(
        &self,
        cx: &Context,
        purpose: &str,
    ) -> Result<SigningSecrets, CliError> {
        let advice = "this command never uses stored secrets";
        let secrets = require(self.read(cx).await?, purpose);
        secrets.map_err(|error| error.hint(format!("{SECRET_ADVICE}; {advice}")))
    }

    /// Reads the secrets of the flags or variables, or else the stored ones. They verify deliveries.
    pub(in crate::cmd) async fn read_or_stored(
        &self,
        cx: &Context,
    ) -> Result<SigningSecrets, CliError> {
        let given = self.read(cx).await?;
        if given.is_empty() { secret::stored(cx).await } else { Ok(given) }
    }

    /// Returns true if standard input contains the secret.
    pub(in crate::cmd) fn uses_stdin(&self) -> bool {
        self.secret_stdin
    }
}

fn variable(name: &str) -> Option<OsString> {
    env::of_process(name).filter(|value| !value.is_empty())
}

fn add(
    cx: &Context,
    secrets: &mut SigningSecrets,
    name: &str,
    secret: SecretString,
) -> Result<(), CliError> {
    match secrets.add(name, secret) {
        Err(error @ AddSecretError::Duplicate { .. }) => {
            cx.progress.warn(&format!("{error}; it is used once"));
        }
        added => added?,
    }
    Ok(())
}

impl From<AddSecretError> for CliError {
    fn from(error: AddSecretError) -> Self {
        Self::usage(error.to_string()).hint("copy the whole secret")
    }
}

/// Reads a secret from standard input. On a terminal, the input is hidden.
pub(in crate::cmd) async fn read_stdin() -> Result<SecretString, CliError> {
    if io::stdin().is_terminal() {
        let typed = prompt::hidden_line("signing secret (it does not show)").await?;
        return given::only_one(&SIGNING_SECRET, typed.expose_secret(), "the terminal");
    }
    aside(|| given::from_stdin(&SIGNING_SECRET, &mut io::stdin().lock())).await?
}

/// Returns the secrets, or an error with `purpose` ("verification") if there are none.
pub(in crate::cmd) fn require(
    secrets: SigningSecrets,
    purpose: &str,
) -> Result<SigningSecrets, CliError> {
    if secrets.is_empty() {
        let error =
            CliError::coded(Code::MissingArgument, format!("{purpose} needs a signing secret"));
        let advice = "or store one: `formsvc webhook secret add`";
        return Err(error.hint(format!("{SECRET_ADVICE}, {advice}")));
    }
    Ok(secrets)
}
