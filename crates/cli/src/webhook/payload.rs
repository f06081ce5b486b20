//! Reads what is to be signed or verified: a file or standard input, to the byte.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::error::{CliError, Code};
use crate::exit::Exit;
use crate::key::aside;

/// Most that is read: sixteen times what the service accepts as answers.
pub(crate) const MAX: u64 = 64 << 20;
/// What stands for standard input.
pub(crate) const STDIN: &str = "-";

/// Where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Stdin,
    File(PathBuf),
}

impl Place {
    /// Where it is by what was given; none is standard input, unless that is somebody's terminal or is
    /// taken by something else. `flag` is how to name a file instead.
    pub(crate) fn of(
        path: Option<&Path>,
        stdin_is_taken: bool,
        flag: &str,
    ) -> Result<Self, CliError> {
        let hint = || format!("name a file with {flag}, or pipe it into standard input");
        match path {
            Some(path) if path != Path::new(STDIN) => Ok(Self::File(path.to_owned())),
            _ if stdin_is_taken => {
                Err(CliError::usage("standard input cannot hold both the secret and the body")
                    .hint(format!("name a file with {flag}, or the secret's with `--secret-file`")))
            }
            // Nobody types bytes that are to match a signature.
            None if io::stdin().is_terminal() => {
                Err(CliError::coded(Code::MissingArgument, "no body").hint(hint()))
            }
            _ => Ok(Self::Stdin),
        }
    }

    /// Reads all of it.
    pub(crate) async fn read(&self) -> Result<Bytes, CliError> {
        let place = self.clone();
        let read = aside(move || match &place {
            Self::Stdin => all(&mut io::stdin().lock()),
            Self::File(path) => File::open(path).and_then(|mut file| all(&mut file)),
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

fn all(from: &mut dyn Read) -> io::Result<Bytes> {
    let mut bytes = Vec::new();
    if from.take(MAX + 1).read_to_end(&mut bytes)? as u64 > MAX {
        let rule = format!("longer than {} MiB, which no delivery is", MAX >> 20);
        return Err(io::Error::new(io::ErrorKind::InvalidData, rule));
    }
    Ok(bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_as_they_are_up_to_a_bound() {
        assert_eq!(&all(&mut &b"\xff\r\n\0"[..]).unwrap()[..], b"\xff\r\n\0");
        let error = all(&mut io::repeat(b' ')).unwrap_err();
        let told = error.to_string();
        assert!(told.contains("64 MiB"), "{told}");
    }

    #[test]
    fn a_file_is_a_file_and_a_dash_is_standard_input() {
        let of = |path: &str, taken| Place::of(Some(Path::new(path)), taken, "`--file`");
        assert_eq!(of("a", true).unwrap(), Place::File("a".into()));
        assert_eq!(of("-", false).unwrap(), Place::Stdin);
        assert_eq!(of("-", true).unwrap_err().exit, Exit::Usage);
    }
}
