//! Secrets that the caller gives: on standard input, or in a file.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use formsvc_protocol::check_secret_text;
use formsvc_protocol::signature::SECRET_PREFIX;
use secrecy::SecretString;
use secrecy::zeroize::Zeroizing;

use crate::error::CliError;
use crate::error::usage::KEY_PREFIX;
use crate::exit::Exit;

/// Returns a name for an error message, or `None` if it looks like an API key.
pub(crate) fn unless_a_key(name: &str) -> Option<&str> {
    Some(name).filter(|name| !name.trim_start().starts_with(KEY_PREFIX))
}

/// Longest text that is read as a secret, which has a few dozen characters.
pub(crate) const MAX: u64 = 4096;

/// The kind of a secret.
#[derive(Debug)]
pub(crate) struct Kind {
    /// The name in messages.
    name: &'static str,
    prefix: &'static str,
    /// Exit code for an invalid secret.
    exit: Exit,
    /// True if every character must be ASCII.
    is_ascii: bool,
    /// Hint for a secret that other users may have read.
    leaked: &'static str,
}

/// A key of the API.
pub(crate) const API_KEY: Kind = Kind {
    name: "API key",
    prefix: KEY_PREFIX,
    exit: Exit::Auth,
    is_ascii: true,
    leaked: "other users can read arguments: revoke this key",
};

/// The signing secret of an endpoint. The specification allows any text.
pub(crate) const SIGNING_SECRET: Kind = Kind {
    name: "signing secret",
    prefix: SECRET_PREFIX,
    exit: Exit::Usage,
    is_ascii: false,
    leaked: "other users can read arguments: replace this signing secret",
};

/// Reads a secret from standard input.
pub(crate) fn from_stdin(kind: &Kind, stdin: &mut dyn Read) -> Result<SecretString, CliError> {
    let text = read(kind, stdin).map_err(|error| {
        let what = format!("cannot read the {} from standard input", kind.name);
        CliError::new(Exit::LocalIo, what).because(&error)
    })?;
    only_one(kind, &text, "standard input")
}

/// Reads a secret from a file.
pub(crate) fn from_file(kind: &Kind, path: &Path) -> Result<SecretString, CliError> {
    if path.to_string_lossy().starts_with(kind.prefix) && !path.exists() {
        let what = format!("the {} itself was given in place of the name of its file", kind.name);
        return Err(CliError::usage(what).hint(kind.leaked));
    }
    let text = File::open(path).and_then(|mut file| read(kind, &mut file)).map_err(|error| {
        let message = format!("cannot read the {} file `{}`", kind.name, path.display());
        CliError::new(Exit::LocalIo, message).because(&error)
    })?;
    only_one(kind, &text, &format!("`{}`", path.display()))
}

/// Returns the secret of a text that contains nothing else, without the white space around it. `place` is
/// the origin of the text, for errors.
pub(crate) fn only_one(kind: &Kind, text: &str, place: &str) -> Result<SecretString, CliError> {
    let name = kind.name;
    // Some editors write a byte order mark.
    let secret = text.trim().trim_start_matches('\u{feff}').trim_start();
    let wrong = if secret.is_empty() {
        "is empty".to_owned()
    } else if secret.contains(char::is_whitespace) {
        "has more than one word".to_owned()
    } else if let Err(problem) = check_secret_text(secret) {
        problem.to_string()
    } else if kind.is_ascii && !secret.is_ascii() {
        "contains characters that are not ASCII".to_owned()
    } else {
        return Ok(secret.into());
    };
    let hint = format!("copy the {} again, with nothing before or after it", kind.short());
    Err(CliError::new(kind.exit, format!("the {name} from {place} {wrong}")).hint(hint))
}

impl Kind {
    /// `key`, `secret`
    fn short(&self) -> &'static str {
        self.name.rsplit(' ').next().unwrap_or(self.name)
    }
}

/// Returns a warning if other users can read the file.
#[cfg(unix)]
pub(crate) fn loose_file(kind: &Kind, path: &Path) -> Option<String> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mode = metadata.permissions().mode();
    (mode & 0o077 != 0).then(|| {
        format!(
            "other users can read the {} file `{}`; `chmod 600` prevents this",
            kind.short(),
            path.display()
        )
    })
}

#[cfg(not(unix))]
pub(crate) fn loose_file(_: &Kind, _: &Path) -> Option<String> {
    None
}

fn read(kind: &Kind, from: &mut dyn Read) -> io::Result<Zeroizing<String>> {
    // A buffer that grows leaves copies in memory.
    let mut text = Zeroizing::new(String::with_capacity(2 * usize::try_from(MAX).unwrap_or(4096)));
    if from.take(MAX + 1).read_to_string(&mut text)? as u64 > MAX {
        let rule = format!("longer than {MAX} bytes, which no {} is", kind.name);
        return Err(io::Error::new(io::ErrorKind::InvalidData, rule));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn key_is_read_without_surrounding_white_space() {
        let key = from_stdin(&API_KEY, &mut " fsk_1\r\n\n".as_bytes()).unwrap();
        assert_eq!(key.expose_secret(), "fsk_1");
    }

    #[test]
    fn invalid_key_is_refused_without_being_shown() {
        let long = "k".repeat(5000);
        for bad in ["", " \n", "two words", "a\nb", "a\0b", "a\u{1b}[Ab", "schlüssel", &long] {
            let error = format!("{:?}", from_stdin(&API_KEY, &mut bad.as_bytes()).unwrap_err());
            assert!(!error.contains("words\"") && !error.contains("kkk"), "{error}");
        }
        assert!(from_stdin(&API_KEY, &mut &b"fsk_\xff"[..]).is_err());
    }

    #[test]
    fn signing_secret_is_any_single_word() {
        for (text, secret) in
            [("\u{feff}whsec_1\r\n", "whsec_1"), ("schlüssel\n", "schlüssel"), ("a\"b", "a\"b")]
        {
            let read = from_stdin(&SIGNING_SECRET, &mut text.as_bytes()).unwrap();
            assert_eq!(read.expose_secret(), secret);
        }
        for (bad, problem) in [
            ("", "is empty"),
            ("\u{feff}\n", "is empty"),
            ("whsec_one whsec_two", "more than one word"),
            ("whsec_one\nwhsec_two", "more than one word"),
            ("\"whsec_one\"\n", "a quotation mark (\")"),
            ("'whsec_one'", "a quotation mark (')"),
            ("whsec\u{200b}_one", "the invisible character U+200B"),
        ] {
            let error = from_stdin(&SIGNING_SECRET, &mut bad.as_bytes()).unwrap_err();
            assert_eq!(error.exit, Exit::Usage);
            assert!(error.to_text().contains(problem), "{}", error.to_text());
            assert!(!error.to_text().contains("whsec_"), "{}", error.to_text());
        }
        let error = from_file(&SIGNING_SECRET, Path::new("whsec_abc")).unwrap_err().to_text();
        assert!(error.contains("itself was given") && !error.contains("abc"), "{error}");
    }
}
