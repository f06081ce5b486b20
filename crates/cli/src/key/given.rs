//! Keys that the caller gives: on standard input, or in a file.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use formsvc_client::SecretString;
use secrecy::zeroize::Zeroizing;

use crate::error::CliError;
use crate::exit::Exit;

/// How keys begin; a file name that does is a key in the wrong place, and must not be shown.
pub(crate) const KEY_PREFIX: &str = "fsk_";
/// Longest text that is read as a key, which has a few dozen characters.
pub(super) const MAX: u64 = 4096;

/// Reads a key from standard input.
pub(super) fn from_stdin(stdin: &mut dyn Read) -> Result<SecretString, CliError> {
    let text = read(stdin).map_err(|error| {
        CliError::new(Exit::LocalIo, "cannot read the API key from standard input").because(&error)
    })?;
    one_key(&text, "standard input")
}

/// Reads a key from a file.
pub(super) fn from_file(path: &Path) -> Result<SecretString, CliError> {
    if path.to_string_lossy().starts_with(KEY_PREFIX) && !path.exists() {
        let what = "the API key itself was given where the name of its file belongs";
        return Err(CliError::usage(what).hint("anyone can read arguments: revoke this key"));
    }
    let text = File::open(path).and_then(|mut file| read(&mut file)).map_err(|error| {
        let message = format!("cannot read the API key file `{}`", path.display());
        CliError::new(Exit::LocalIo, message).because(&error)
    })?;
    one_key(&text, &format!("`{}`", path.display()))
}

/// The key in a text that should hold it alone, without the white space around it.
pub(super) fn one_key(text: &str, place: &str) -> Result<SecretString, CliError> {
    let key = text.trim();
    let wrong = if key.is_empty() {
        "is empty"
    } else if key.contains(char::is_whitespace) {
        "holds more than one word; it must hold the key alone"
    } else if key.contains(char::is_control) {
        "holds control characters; it must hold the key alone"
    } else if !key.is_ascii() {
        "holds letters that no key has; it must hold the key alone"
    } else {
        return Ok(key.into());
    };
    Err(CliError::new(Exit::Auth, format!("no API key: {place} {wrong}"))
        .hint("copy the key again, with nothing before or after it"))
}

/// What is worth a word about a key file: that others can read it.
#[cfg(unix)]
pub(super) fn loose_file(path: &Path) -> Option<String> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mode = metadata.permissions().mode();
    (mode & 0o077 != 0).then(|| {
        format!(
            "warning: others can read the key file `{}`; chmod 600 keeps it yours",
            path.display()
        )
    })
}

#[cfg(not(unix))]
pub(super) fn loose_file(_: &Path) -> Option<String> {
    None
}

fn read(from: &mut dyn Read) -> io::Result<Zeroizing<String>> {
    // Room for all of it: text that grows leaves copies behind.
    let mut text = Zeroizing::new(String::with_capacity(2 * usize::try_from(MAX).unwrap_or(4096)));
    if from.take(MAX + 1).read_to_string(&mut text)? as u64 > MAX {
        let rule = format!("longer than {MAX} bytes, which no API key is");
        return Err(io::Error::new(io::ErrorKind::InvalidData, rule));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use formsvc_client::ExposeSecret;

    use super::*;

    #[test]
    fn a_key_is_taken_without_the_white_space_around_it() {
        let key = from_stdin(&mut " fsk_1\r\n\n".as_bytes()).unwrap();
        assert_eq!(key.expose_secret(), "fsk_1");
    }

    #[test]
    fn what_is_not_one_key_is_refused_without_being_shown() {
        let long = "k".repeat(5000);
        for bad in ["", " \n", "two words", "a\nb", "a\0b", "a\u{1b}[Ab", "schlüssel", &long] {
            let error = format!("{:?}", from_stdin(&mut bad.as_bytes()).unwrap_err());
            assert!(!error.contains("words\"") && !error.contains("kkk"), "{error}");
        }
        assert!(from_stdin(&mut &b"fsk_\xff"[..]).is_err());
    }
}
