//! The state of a list as one line of text with a checksum, and the file that contains it. The
//! checksum detects damage; it is not a signature.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::Crc;
use formsvc_protocol::FormId;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Client;
use crate::error::EscapedText;
use crate::file::{MAX_LEN, read_file};

/// Identifies the list that a state belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ListId {
    /// Base URL of the service. Texts of earlier versions contain only scheme, host and port.
    #[serde(rename = "origin")]
    pub(super) base_url: String,
    /// `None` if the id of the form was invalid.
    pub(super) form: Option<FormId>,
}

impl ListId {
    /// Sets the base URL to that of the client.
    pub(super) fn rebind(&mut self, client: &Client) {
        client.base_url().clone_into(&mut self.base_url);
    }

    /// Returns an error that names both lists if they differ. `state` is the kind of state, for the
    /// message.
    pub(super) fn check(&self, list: &Self, state: &str) -> Result<(), String> {
        let form = |list: &Self| list.form.as_ref().map_or_else(String::new, FormId::to_string);
        let (what, ours, theirs) = if self.base_url == list.base_url {
            ("form ", form(self), form(list))
        } else {
            ("", self.base_url.clone(), list.base_url.clone())
        };
        if ours == theirs {
            return Ok(());
        }
        Err(format!(
            "the {state} is for {what}`{}`, not `{}`",
            EscapedText(&ours),
            EscapedText(&theirs)
        ))
    }
}

/// Encodes a value as `PREFIX` + base64url of its JSON + `.` + checksum: only letters, digits, `_`,
/// `-` and `.`.
pub(super) fn seal(prefix: &str, value: &impl Serialize) -> String {
    let json = serde_json::to_vec(value).expect("the state of a list can be written as JSON");
    let text = format!("{prefix}{}", URL_SAFE_NO_PAD.encode(json));
    format!("{text}.{}", checksum(&text))
}

/// Decodes a text that [`seal`] returned. The error names the rule that a truncated, damaged or other
/// text breaks.
pub(super) fn unseal<T: DeserializeOwned>(prefix: &str, text: &str) -> Result<T, &'static str> {
    let kind = prefix.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_');
    let body = text.strip_prefix(prefix).ok_or(if text.starts_with(kind) {
        "has an unsupported version"
    } else {
        "has an unknown prefix"
    })?;
    let (body, found) = body.split_once('.').ok_or("is damaged: the checksum is missing")?;
    if found != checksum(&text[..prefix.len() + body.len()]) {
        return Err("is damaged: the checksum does not match");
    }
    let json = URL_SAFE_NO_PAD.decode(body).ok();
    json.and_then(|json| serde_json::from_slice(&json).ok()).ok_or("has invalid content")
}

/// Returns the CRC-32 of a text in hex digits.
fn checksum(text: &str) -> String {
    let mut crc = Crc::new();
    crc.update(text.as_bytes());
    format!("{:08x}", crc.sum())
}

/// Saves a text to a file, so that after any failure the file has either the old or the new
/// content. The text is written to a temporary file in the same folder, synced, and renamed. On
/// Unix only the owner can read the file.
pub(super) fn save(path: &Path, text: &str, name: &str) -> io::Result<()> {
    // The file also contains a line break.
    let saved = if text.len() >= MAX_LEN {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "the text is longer than 8 MiB"))
    } else {
        replace_file(path, text)
    };
    saved.map_err(|error| with_path("save", name, path, &error))
}

/// Loads a text that [`save`] wrote, and parses it.
pub(super) fn load<T, E: fmt::Display>(
    path: &Path,
    parse: impl Fn(&str) -> Result<T, E>,
    name: &str,
) -> io::Result<T> {
    read_file(path)
        .and_then(|content| {
            parse(String::from_utf8_lossy(&content).trim_end())
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
        })
        .map_err(|error| with_path("load", name, path, &error))
}

fn with_path(verb: &str, name: &str, path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot {verb} the {name} `{}`: {error}", path.display()))
}

fn replace_file(path: &Path, text: &str) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let (mut file, temporary) = create_temporary(folder)?;
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.write_all(b"\n"))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The first error is returned; a temporary file that remains does no harm.
        let _ = fs::remove_file(&temporary);
        return written;
    }
    sync_folder(folder)
}

fn create_temporary(folder: &Path) -> io::Result<(File, PathBuf)> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // The standard library seeds each state anew, so that no other file has this name.
    let path = folder.join(format!(".formsvc-{:016x}.tmp", RandomState::new().hash_one(0_u8)));
    Ok((options.open(&path)?, path))
}

/// Makes a rename durable. Does nothing on systems other than Unix, which cannot sync a folder.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Implements `Display`, `FromStr`, serde, and saving and loading for a tuple struct with one field,
/// the content. Also defines the error type of `FromStr`.
macro_rules! sealed_text {
    ($type:ident, $error:ident, $prefix:literal, $name:literal) => {
        #[doc = concat!("The text is not a valid ", $name, ".")]
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $error(&'static str);

        impl $type {
            #[doc = concat!("Saves the ", $name, " to a file. On Unix only its owner can read it.")]
            ///
            /// A text of 8 MiB or more is refused, because [`load`](Self::load) reads no longer file.
            /// Replaces the file atomically and durably: after a failure it has either the old or
            /// the new content. The error names the path. Blocks until the file is synced.
            pub fn save(&self, path: impl AsRef<std::path::Path>) -> std::io::Result<()> {
                crate::paging::sealed_text::save(path.as_ref(), &self.to_string(), $name)
            }

            #[doc = concat!("Loads a ", $name, " that [`save`](Self::save) wrote.")]
            ///
            /// The error names the path. A damaged file is an error of the kind
            /// [`InvalidData`](std::io::ErrorKind::InvalidData). Blocks.
            pub fn load(path: impl AsRef<std::path::Path>) -> std::io::Result<Self> {
                crate::paging::sealed_text::load(path.as_ref(), str::parse::<Self>, $name)
            }

            /// Loads like [`load`](Self::load), or returns `None` if there is no file.
            pub fn load_if_exists(
                path: impl AsRef<std::path::Path>,
            ) -> std::io::Result<Option<Self>> {
                match Self::load(path) {
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
                    loaded => loaded.map(Some),
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&crate::paging::sealed_text::seal($prefix, &self.0))
            }
        }

        impl std::str::FromStr for $type {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, $error> {
                crate::paging::sealed_text::unseal($prefix, text).map(Self).map_err($error)
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl std::fmt::Display for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($name, " {}"), self.0)
            }
        }

        impl std::error::Error for $error {}
    };
}

pub(super) use sealed_text;

#[cfg(test)]
mod tests {
    use super::*;

    const PREFIX: &str = "test1_";

    #[test]
    fn sealed_value_is_unsealed() {
        let text = seal(PREFIX, &("frm_1", 7));
        assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)));
        assert_eq!(unseal::<(String, u8)>(PREFIX, &text), Ok(("frm_1".to_owned(), 7)));
    }

    #[test]
    fn text_of_any_length_is_unsealed() {
        let value = "x".repeat(MAX_LEN);
        assert_eq!(unseal::<String>(PREFIX, &seal(PREFIX, &value)), Ok(value));
    }

    #[test]
    fn each_truncated_or_damaged_text_is_refused() {
        let text = seal(PREFIX, &vec!["sub_1", "sub_2"]);
        for len in 0..text.len() {
            assert!(unseal::<Vec<String>>(PREFIX, &text[..len]).is_err(), "{len}");
        }
        for at in 0..text.len() {
            for new in [b'a', b'0', b'.', b'_'] {
                let mut altered = text.clone().into_bytes();
                if std::mem::replace(&mut altered[at], new) != new {
                    let altered = String::from_utf8(altered).unwrap();
                    assert!(unseal::<Vec<String>>(PREFIX, &altered).is_err(), "{altered}");
                }
            }
        }
        assert!(unseal::<Vec<String>>(PREFIX, &format!("{text}0")).is_err());
    }

    #[test]
    fn error_names_the_broken_rule() {
        let error = |text: &str| unseal::<Vec<String>>(PREFIX, text).unwrap_err();
        assert_eq!(error(&seal("test2_", &1)), "has an unsupported version");
        assert_eq!(error("hello"), "has an unknown prefix");
        assert_eq!(error("test1_hello"), "is damaged: the checksum is missing");
        assert_eq!(error("test1_hello.0"), "is damaged: the checksum does not match");
        assert_eq!(error(&seal(PREFIX, &1)), "has invalid content");
    }

    fn load_text(path: &Path) -> io::Result<String> {
        load(path, |text| Ok::<_, String>(text.to_owned()), "state")
    }

    #[test]
    fn save_replaces_the_file_and_leaves_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        save(&path, "first", "state").unwrap();
        save(&path, "second", "state").unwrap();
        assert_eq!(load_text(&path).unwrap(), "second");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn failed_save_keeps_the_old_file_and_names_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("inside"), "kept").unwrap();
        let error = save(&path, "new", "state").unwrap_err().to_string();
        assert!(error.starts_with(&format!("cannot save the state `{}`: ", path.display())));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(path.join("inside")).unwrap(), "kept");
        let error = save(&folder.path().join("long"), &"x".repeat(MAX_LEN), "state");
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn load_error_names_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none");
        let error = load_text(&path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains(&path.display().to_string()), "{error}");
        fs::write(&path, "x").unwrap();
        let error = load(&path, |_| Err::<(), _>("state is damaged"), "state").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(error.to_string().ends_with("`: state is damaged"), "{error}");
        fs::write(&path, "x".repeat(MAX_LEN + 1)).unwrap();
        let error = load_text(&path).unwrap_err();
        assert!(error.to_string().ends_with("`: longer than 8 MiB"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn load_of_a_pipe_or_device_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for path in [&*pipe, Path::new("/dev/zero"), folder.path()] {
            let error = load_text(path).unwrap_err().to_string();
            assert!(error.ends_with("`: not a regular file"), "{error}");
        }
    }
}
