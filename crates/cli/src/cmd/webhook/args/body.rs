//! The body to sign, send or verify: a file or standard input, byte for byte.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::account::key::aside;
use crate::error::{CliError, Code};
use crate::exit::Exit;

/// Longest body: 16 times the service's limit for a submission.
pub(in crate::cmd) const BODY_MAX: u64 = 64 << 20;
/// The path that means standard input.
const STDIN: &str = "-";

/// The location of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cmd) enum BodySource {
    Stdin,
    File(PathBuf),
}

impl BodySource {
    /// Returns the location of a path. `None` means standard input, unless that is a terminal or has the secret. `flag`
    /// is the way to pass a file, for errors.
    pub(in crate::cmd) fn new(
        path: Option<&Path>,
        stdin_has_secret: bool,
        flag: &str,
    ) -> Result<Self, CliError> {
        match path {
            Some(path) if path != Path::new(STDIN) => Ok(Self::File(path.to_owned())),
            _ if stdin_has_secret => {
                let what = "standard input cannot contain both the secret and the body";
                Err(CliError::usage(what)
                    .hint(format!("pass a file with {flag}, or the secret with `--secret-file`")))
            }
            // Typed text never equals the bytes that were signed.
            None if io::stdin().is_terminal() => {
                Err(CliError::coded(Code::MissingArgument, "no body")
                    .hint(format!("pass a file with {flag}, or pipe it into standard input")))
            }
            _ => Ok(Self::Stdin),
        }
    }

    /// Reads the complete body.
    pub(in crate::cmd) async fn read(&self) -> Result<Bytes, CliError> {
        let source = self.clone();
        let read = aside(move || match &source {
            Self::Stdin => read_all(&mut io::stdin().lock()),
            Self::File(path) => File::open(path).and_then(|mut file| read_all(&mut file)),
        });
        read.await?.map_err(|error| {
            let what = match self {
                Self::Stdin => "cannot read standard input".to_owned(),
                Self::File(path) => format!("cannot read `{}`", path.display()),
            };
            CliError::new(Exit::LocalIo, what).because(&error)
        })
    }
}

fn read_all(input: &mut dyn Read) -> io::Result<Bytes> {
    let mut bytes = Vec::new();
    if input.take(BODY_MAX + 1).read_to_end(&mut bytes)? as u64 > BODY_MAX {
        let rule = format!("it is longer than {} MiB, the limit of a body", BODY_MAX >> 20);
        return Err(io::Error::new(io::ErrorKind::InvalidData, rule));
    }
    Ok(bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_is_read_byte_for_byte_up_to_the_limit() {
        assert_eq!(&read_all(&mut &b"\xff\r\n\0"[..]).unwrap()[..], b"\xff\r\n\0");
        let error = read_all(&mut io::repeat(b' ')).unwrap_err().to_string();
        assert!(error.contains("64 MiB"), "{error}");
    }

    #[test]
    fn dash_is_standard_input() {
        let source = |path: &str, stdin_has_secret| {
            BodySource::new(Some(Path::new(path)), stdin_has_secret, "`--file`")
        };
        assert_eq!(source("a", true).unwrap(), BodySource::File("a".into()));
        assert_eq!(source("-", false).unwrap(), BodySource::Stdin);
        assert_eq!(source("-", true).unwrap_err().exit, Exit::Usage);
    }
}
