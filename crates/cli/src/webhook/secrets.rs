//! The signing secrets that a command verifies or signs with. Never on the command line itself, which
//! everybody on the machine can read.

use std::fmt;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use formsvc_protocol::signature::SigningSecret;
use formsvc_receiver::{SigningSecret as ReceiverSecret, Verifier, VerifierBuilder};
use secrecy::{ExposeSecret, SecretString};

use crate::ask;
use crate::context::Context;
use crate::env::{self, Lookup};
use crate::error::{CliError, Code};
use crate::key::aside;
use crate::key::given::{self, SIGNING_SECRET};
use crate::settings::{KeySource, Service};

/// The three ways to give a secret, for hints.
pub(crate) const WAYS: &str = "pass `--secret-file PATH`, or `--secret-stdin`, or set \
    FORMSVC_SIGNING_SECRET; the dashboard shows the secret when the endpoint is added";

/// Flags that say where the secrets are.
#[derive(Debug, Default, Args)]
pub(crate) struct SecretArgs {
    /// File that holds a signing secret and nothing else; while a secret is rotated, repeat it, the new
    /// one first [env: FORMSVC_SIGNING_SECRET_FILE]
    #[arg(long, value_name = "PATH", help_heading = "Secrets")]
    secret_file: Vec<PathBuf>,
    /// Read the signing secret from standard input (or set FORMSVC_SIGNING_SECRET)
    #[arg(long, conflicts_with = "secret_file", help_heading = "Secrets")]
    secret_stdin: bool,
}

/// Secrets by name, the current one first.
#[derive(Clone, Default)]
pub(crate) struct Secrets(pub(crate) Vec<(Arc<str>, SecretString)>);

/// Where a secret is.
#[derive(Debug)]
enum Place {
    Stdin,
    File(PathBuf),
    Env(SecretString),
}

impl SecretArgs {
    /// Reads them: flags, or else the environment. None is no error here.
    pub(crate) async fn read(&self, cx: &Context) -> Result<Secrets, CliError> {
        let places = self.places(&env::of_process)?;
        let key_from_stdin =
            matches!(&cx.settings.service, Service::At { key: Some(KeySource::Stdin), .. });
        if self.secret_stdin && key_from_stdin {
            let what = "`--secret-stdin` and `--api-key-stdin` cannot be used together";
            return Err(
                CliError::usage(what).hint("standard input holds one of them; see `--secret-file`")
            );
        }
        let mut secrets = Secrets::default();
        for place in places {
            let name = place.name(&secrets);
            let secret = place.read(cx).await?;
            let text = secret.expose_secret();
            if text.len() < ReceiverSecret::MIN_BYTES {
                let min = ReceiverSecret::MIN_BYTES;
                let what = format!("the signing secret of {name} has fewer than {min} bytes");
                return Err(CliError::usage(what)
                    .hint("such a secret was cut off or can be guessed: copy it again, whole"));
            }
            if let Some(twin) = secrets.name_of(text) {
                cx.progress.warn(&format!(
                    "{name} contains the same signing secret as {twin}; it counts once"
                ));
                continue;
            }
            if cx.settings.verbose > 0 {
                cx.progress.remark(&format!("the signing secret is from {name}"));
            }
            secrets.0.push((name, secret));
        }
        Ok(secrets)
    }

    /// Whether standard input is taken, so that nothing else can come by it.
    pub(crate) fn take_stdin(&self) -> bool {
        self.secret_stdin
    }

    fn places(&self, env: Lookup<'_>) -> Result<Vec<Place>, CliError> {
        if self.secret_stdin {
            return Ok(vec![Place::Stdin]);
        }
        if !self.secret_file.is_empty() {
            return Ok(self.secret_file.iter().cloned().map(Place::File).collect());
        }
        let set = |name| env(name).filter(|value| !value.is_empty());
        if let Some(value) = set(env::SIGNING_SECRET.name) {
            let text = value.into_string().map_err(|_| {
                CliError::usage("FORMSVC_SIGNING_SECRET is not UTF-8 text").hint(WAYS)
            })?;
            return Ok(vec![Place::Env(text.into())]);
        }
        let file = set(env::SIGNING_SECRET_FILE.name);
        Ok(file.map(|path| Place::File(path.into())).into_iter().collect())
    }
}

impl Place {
    /// What it is called where a verdict names it: the file's name, or all of its path where another has
    /// the same name.
    fn name(&self, taken: &Secrets) -> Arc<str> {
        match self {
            Self::Stdin => "standard input".into(),
            Self::Env(_) => env::SIGNING_SECRET.name.into(),
            Self::File(path) => {
                let short = path.file_name().map_or(path.as_path(), Path::new);
                let short = short.to_string_lossy();
                let is_taken = |name: &str| taken.0.iter().any(|(other, _)| **other == *name);
                // A verifier refuses two secrets of one name.
                let numbered = (2..).map(|number| format!("{short} ({number})"));
                let whole = path.to_string_lossy().into_owned();
                let mut names = [short.clone().into_owned(), whole].into_iter().chain(numbered);
                names.find(|name| !is_taken(name)).unwrap_or_default().into()
            }
        }
    }

    async fn read(self, cx: &Context) -> Result<SecretString, CliError> {
        match self {
            Self::Env(text) => {
                given::only_one(&SIGNING_SECRET, text.expose_secret(), env::SIGNING_SECRET.name)
            }
            // What is typed there would show.
            Self::Stdin if io::stdin().is_terminal() => {
                let typed = ask::hidden_line("signing secret (it does not show)").await?;
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

impl Secrets {
    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The secrets, if there is one; `what` needs it: "`--on-invalid reject`", "signing".
    pub(crate) fn required(self, what: &str) -> Result<Self, CliError> {
        if self.is_empty() {
            let what = format!("no signing secret, which {what} needs");
            return Err(CliError::coded(Code::MissingArgument, what).hint(WAYS));
        }
        Ok(self)
    }

    /// All of them, to sign with; the current one first.
    pub(crate) fn all_signing(&self) -> impl Iterator<Item = SigningSecret> {
        self.0.iter().filter_map(|(_, secret)| SigningSecret::new(secret.expose_secret()))
    }

    /// All of them as they are, for [`Variant::sign`](formsvc_contract::variant::Variant::sign).
    pub(crate) fn texts(&self) -> Vec<SecretString> {
        self.0.iter().map(|(_, secret)| secret.clone()).collect()
    }

    /// A verifier of bodies up to a length, by this machine's clock; none where there is no secret.
    pub(crate) fn verifier(&self, max_body: usize) -> Result<Option<Verifier>, CliError> {
        if self.is_empty() {
            return Ok(None);
        }
        let built = self.builder().max_body(max_body).build();
        built.map(Some).map_err(|error| {
            CliError::usage("cannot verify with these signing secrets").because(&error)
        })
    }

    /// The beginning of a verifier with these secrets, for who sets the clock or the tolerance.
    pub(crate) fn builder(&self) -> VerifierBuilder {
        let add = |builder: VerifierBuilder, (name, secret): &(Arc<str>, SecretString)| {
            builder.named_secret(&**name, secret.expose_secret())
        };
        self.0.iter().fold(Verifier::builder(), add)
    }

    /// Whether a secret of this name is one that is being rotated away.
    pub(crate) fn is_previous(&self, name: &str) -> bool {
        self.0.iter().skip(1).any(|(previous, _)| **previous == *name)
    }

    fn name_of(&self, text: &str) -> Option<&str> {
        let same = self.0.iter().find(|(_, secret)| secret.expose_secret() == text);
        same.map(|(name, _)| &**name)
    }
}

impl fmt::Debug for Secrets {
    /// The names alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    const FIRST: &str = "whsec_of_the_first_test";
    const SECOND: &str = "whsec_of_the_second_test";

    fn secrets() -> Secrets {
        Secrets(vec![("new".into(), FIRST.into()), ("old".into(), SECOND.into())])
    }

    #[test]
    fn flags_win_over_variables_and_the_secret_over_its_file() {
        let env = |names: &'static [&'static str]| {
            move |name: &str| names.contains(&name).then(|| OsString::from("x"))
        };
        let both = &[env::SIGNING_SECRET.name, env::SIGNING_SECRET_FILE.name];
        let one = &[env::SIGNING_SECRET_FILE.name];
        let usual = SecretArgs::default();
        assert!(matches!(usual.places(&env(both)).unwrap()[..], [Place::Env(_)]));
        assert!(matches!(usual.places(&env(one)).unwrap()[..], [Place::File(_)]));
        assert!(usual.places(&env(&[])).unwrap().is_empty());
        assert!(usual.places(&|_| Some(OsString::new())).unwrap().is_empty());
        let files = SecretArgs { secret_file: vec!["a".into(), "b".into()], secret_stdin: false };
        assert!(matches!(files.places(&env(both)).unwrap()[..], [Place::File(_), Place::File(_)]));
    }

    #[test]
    fn a_name_that_is_taken_is_told_with_its_folder() {
        let place = |path: &str| Place::File(path.into());
        assert_eq!(&*place("keys/fresh").name(&secrets()), "fresh");
        assert_eq!(&*place("keys/new").name(&secrets()), "keys/new");
    }

    #[test]
    fn secrets_of_one_name_verify_under_names_of_their_own() {
        let place = |path: &str| Place::File(path.into());
        let mut secrets = Secrets::default();
        for (path, text) in [
            ("a/b", "of_the_first"),
            ("b", "of_the_second"),
            ("c/b", "of_the_third"),
            ("b", "of_the_fourth"),
        ] {
            let name = place(path).name(&secrets);
            secrets.0.push((name, format!("whsec_{text}").into()));
        }
        let names: Vec<&str> = secrets.0.iter().map(|(name, _)| &**name).collect();
        assert_eq!(
            names.len(),
            names.iter().collect::<std::collections::HashSet<_>>().len(),
            "{names:?}"
        );
        assert!(secrets.verifier(1).unwrap().is_some());
    }

    #[test]
    fn the_first_signs_and_all_verify() {
        let secrets = secrets();
        let header = formsvc_protocol::signature::sign(
            secrets.all_signing().take(1).collect::<Vec<_>>().iter(),
            7,
            b"{}",
        );
        let clock = || std::time::UNIX_EPOCH + std::time::Duration::from_secs(7);
        let verifier = secrets.builder().clock(clock).build().unwrap();
        let proof = verifier.verify_signature(header, b"{}").unwrap();
        assert_eq!(proof.secret_name(), "new");
        assert!(secrets.is_previous("old") && !secrets.is_previous("new"));
        assert_eq!(secrets.all_signing().count(), 2);
        assert!(Secrets::default().verifier(1).unwrap().is_none());
        let error = Secrets::default().required("signing").unwrap_err();
        assert_eq!(error.exit.code(), 2);
    }

    #[test]
    fn nothing_prints_a_secret() {
        assert_eq!(format!("{:?}", secrets()), r#"["new", "old"]"#);
    }
}
