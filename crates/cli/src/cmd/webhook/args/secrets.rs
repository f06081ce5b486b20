//! Signing secrets. They are never arguments, because other users can read the arguments of a process.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::Args;
use formsvc_workbench::secrets::{AddSecretError, SigningSecrets};
use secrecy::{ExposeSecret, SecretString};

use super::super::secret;
use crate::account::key::aside;
use crate::account::key::given::{self, SIGNING_SECRET};
use crate::base::env::{self, Lookup};
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::output::prompt;
use crate::settings::{KeySource, Service};

/// Advice for a command that has no secret.
pub(in crate::cmd) const SECRET_ADVICE: &str = "pass `--secret-file PATH` or `--secret-stdin`, or set FORMSVC_SIGNING_SECRET; the \
    dashboard shows the secret when the endpoint is added";

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

/// The location of a secret.
#[derive(Debug)]
enum SecretSource {
    Stdin,
    File(PathBuf),
    Variable(OsString),
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
        for source in self.sources(&env::of_process) {
            let name = source.name(&secrets);
            match secrets.add(&name, source.read(cx).await?) {
                Ok(()) if cx.settings.verbose > 0 => {
                    cx.progress.remark(&format!("signing secret from {name}"));
                }
                Ok(()) => {}
                Err(error @ AddSecretError::Duplicate { .. }) => {
                    cx.progress.warn(&format!("{error}; it is used once"));
                }
                Err(error @ AddSecretError::Invalid { .. }) => {
                    let hint = "copy the whole secret; a short one can be guessed";
                    return Err(CliError::usage(error.to_string()).hint(hint));
                }
            }
        }
        Ok(secrets)
    }

    /// Reads the secrets of the flags or variables, or else the stored ones of the profile; with `--demo`
    /// those of its captures. They verify deliveries. Generated deliveries are not signed with stored secrets.
    pub(in crate::cmd) async fn read_or_stored(
        &self,
        cx: &Context,
    ) -> Result<SigningSecrets, CliError> {
        let given = self.read(cx).await?;
        if !given.is_empty() {
            return Ok(given);
        }
        match cx.settings.service {
            #[cfg(feature = "sandbox")]
            Service::Demo => Ok(super::super::captures::demo_secrets()),
            #[cfg(not(feature = "sandbox"))]
            Service::Demo => Ok(given),
            Service::At { .. } => secret::stored(cx).await,
        }
    }

    /// Returns true if a flag or a variable has a secret.
    pub(in crate::cmd) fn is_given(&self) -> bool {
        !self.sources(&env::of_process).is_empty()
    }

    /// Returns true if standard input contains the secret.
    pub(in crate::cmd) fn uses_stdin(&self) -> bool {
        self.secret_stdin
    }

    fn sources(&self, env: Lookup<'_>) -> Vec<SecretSource> {
        if self.secret_stdin {
            return vec![SecretSource::Stdin];
        }
        if !self.secret_file.is_empty() {
            return self.secret_file.iter().cloned().map(SecretSource::File).collect();
        }
        let set = |name| env(name).filter(|value| !value.is_empty());
        if let Some(value) = set(env::SIGNING_SECRET.name) {
            return vec![SecretSource::Variable(value)];
        }
        let file = set(env::SIGNING_SECRET_FILE.name);
        file.map(|path| SecretSource::File(path.into())).into_iter().collect()
    }
}

impl SecretSource {
    /// Returns the name of the secret in verdicts: that of the file, or its path if another secret has the
    /// same name.
    fn name(&self, others: &SigningSecrets) -> String {
        match self {
            Self::Stdin => "standard input".to_owned(),
            Self::Variable(_) => env::SIGNING_SECRET.name.to_owned(),
            Self::File(path) => {
                let name = path.file_name().map_or(path.as_path(), Path::new).to_string_lossy();
                let is_used = others.names().any(|other| other == name);
                if is_used { path.to_string_lossy().into_owned() } else { name.into_owned() }
            }
        }
    }

    async fn read(self, cx: &Context) -> Result<SecretString, CliError> {
        match self {
            Self::Variable(text) => {
                let text = text.into_string().map_err(|_| {
                    CliError::usage("FORMSVC_SIGNING_SECRET is not UTF-8 text").hint(SECRET_ADVICE)
                })?;
                given::only_one(&SIGNING_SECRET, &text, env::SIGNING_SECRET.name)
            }
            Self::Stdin if io::stdin().is_terminal() => {
                let typed = prompt::hidden_line("signing secret (it does not show)").await?;
                given::only_one(&SIGNING_SECRET, typed.expose_secret(), "the terminal")
            }
            Self::Stdin => {
                aside(|| given::from_stdin(&SIGNING_SECRET, &mut io::stdin().lock())).await?
            }
            Self::File(path) => {
                if let Some(warning) = given::loose_file(&SIGNING_SECRET, &path) {
                    cx.progress.warn(&warning);
                }
                aside(move || given::from_file(&SIGNING_SECRET, &path)).await?
            }
        }
    }
}

/// Returns the secrets, or an error if there are none. `purpose` needs them: "signing".
pub(in crate::cmd) fn require(
    secrets: SigningSecrets,
    purpose: &str,
) -> Result<SigningSecrets, CliError> {
    if secrets.is_empty() {
        let what = format!("{purpose} needs a signing secret");
        return Err(CliError::coded(Code::MissingArgument, what).hint(SECRET_ADVICE));
    }
    Ok(secrets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_override_variables_and_the_secret_its_file() {
        let env = |names: &'static [&'static str]| {
            move |name: &str| names.contains(&name).then(|| OsString::from("x"))
        };
        let both = &[env::SIGNING_SECRET.name, env::SIGNING_SECRET_FILE.name];
        let one = &[env::SIGNING_SECRET_FILE.name];
        let none = SecretArgs::default();
        assert!(matches!(none.sources(&env(both))[..], [SecretSource::Variable(_)]));
        assert!(matches!(none.sources(&env(one))[..], [SecretSource::File(_)]));
        assert!(none.sources(&env(&[])).is_empty());
        assert!(none.sources(&|_| Some(OsString::new())).is_empty());
        let files = SecretArgs { secret_file: vec!["a".into(), "b".into()], secret_stdin: false };
        let sources = files.sources(&env(both));
        assert!(matches!(sources[..], [SecretSource::File(_), SecretSource::File(_)]));
    }

    #[test]
    fn second_file_of_the_same_name_is_named_by_its_path() {
        let mut secrets = SigningSecrets::default();
        for (path, name) in [("a/new", "new"), ("b/new", "b/new"), ("old", "old")] {
            let source = SecretSource::File(path.into());
            assert_eq!(source.name(&secrets), name);
            secrets.add(name, format!("whsec_of_the_file_{path}").into()).unwrap();
        }
    }

    #[test]
    fn missing_secret_is_a_usage_error() {
        let error = require(SigningSecrets::default(), "signing").unwrap_err();
        assert_eq!(error.exit.code(), 2);
        assert!(error.to_text().contains("signing needs a signing secret"), "{}", error.to_text());
    }
}
