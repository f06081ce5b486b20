//! The server's key: 256 bits, under which secrets are encrypted at rest.

use std::fmt;

use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretBox, SecretString};
use sha2::{Digest, Sha256};

use crate::random::{self, NoRandomness};

/// How a written key begins, so that whoever finds one knows what it is.
const PREFIX: &str = "fsvk_";
/// Bytes of a key.
const KEY_LEN: usize = 32;
/// Bytes of a key's id.
pub(super) const ID_LEN: usize = 4;
/// Characters of a written key.
pub(super) const TEXT_LEN: usize = PREFIX.len() + 2 * KEY_LEN;

/// A server's key. Its memory is overwritten when it is dropped.
pub struct ServerKey(SecretBox<[u8; KEY_LEN]>);

/// The text is not exactly one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a server key: one line of `fsvk_` and 64 hexadecimal digits")]
pub struct NotAKey;

/// Names a key without giving it away: the first bytes of its SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ServerKeyId(pub(super) [u8; ID_LEN]);

impl ServerKey {
    /// A new key from the operating system's randomness.
    pub fn generate() -> Result<Self, NoRandomness> {
        let mut key = Box::new([0; KEY_LEN]);
        random::fill(&mut *key)?;
        Ok(Self(SecretBox::new(key)))
    }

    /// Reads a written key: one line, with or without a line feed at its end.
    pub fn parse(text: &[u8]) -> Result<Self, NotAKey> {
        let line = text.strip_suffix(b"\n").unwrap_or(text);
        let digits = line.strip_prefix(PREFIX.as_bytes()).ok_or(NotAKey)?;
        let mut key = Box::new([0; KEY_LEN]);
        hex::decode_to_slice(digits, &mut *key).map_err(|_| NotAKey)?;
        Ok(Self(SecretBox::new(key)))
    }

    /// The key as it is written, without a line feed.
    pub fn print(&self) -> SecretString {
        let mut text = Zeroizing::new([0; TEXT_LEN]);
        let (prefix, digits) = text.split_at_mut(PREFIX.len());
        prefix.copy_from_slice(PREFIX.as_bytes());
        hex::encode_to_slice(self.bytes(), digits).expect("two digits a byte have room");
        SecretString::from(std::str::from_utf8(&*text).expect("a prefix and digits are ASCII"))
    }

    /// What names it.
    pub fn id(&self) -> ServerKeyId {
        let hash = Sha256::digest(self.bytes());
        let (id, _) = hash.split_first_chunk().expect("a hash is longer than an id");
        ServerKeyId(*id)
    }

    pub(super) fn bytes(&self) -> &[u8; KEY_LEN] {
        self.0.expose_secret()
    }
}

impl fmt::Debug for ServerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerKey({})", self.id())
    }
}

impl fmt::Display for ServerKeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ServerKeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerKeyId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGITS: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

    #[test]
    fn a_key_is_read_as_it_was_written() {
        let key = ServerKey::generate().unwrap();
        let text = key.print();
        assert_eq!(ServerKey::parse(text.expose_secret().as_bytes()).unwrap().bytes(), key.bytes());
        assert_ne!(ServerKey::generate().unwrap().bytes(), key.bytes());
    }

    #[test]
    fn the_text_must_be_exactly_one_key() {
        let good = format!("fsvk_{DIGITS}");
        for text in [good.clone(), format!("{good}\n")] {
            assert_eq!(ServerKey::parse(text.as_bytes()).unwrap().print().expose_secret(), good);
        }
        for bad in [
            String::new(),
            "\n".into(),
            DIGITS.into(),
            format!("fsk_{DIGITS}"),
            format!("FSVK_{DIGITS}"),
            format!("fsvk_{}", &DIGITS[2..]),
            format!("fsvk_{}", &DIGITS[1..]),
            format!("fsvk_{DIGITS}20"),
            format!("fsvk_{}g", &DIGITS[1..]),
            format!(" {good}"),
            format!("{good} "),
            format!("{good}\n\n"),
            format!("{good}\r\n"),
            format!("{good}\n{good}\n"),
            format!("\u{feff}{good}"),
        ] {
            assert_eq!(ServerKey::parse(bad.as_bytes()).unwrap_err(), NotAKey, "{bad:?}");
        }
    }

    #[test]
    fn a_key_is_named_by_its_hash_and_never_shown() {
        let key = ServerKey::parse(format!("fsvk_{DIGITS}").as_bytes()).unwrap();
        // printf of the bytes, piped to sha256sum.
        assert_eq!(key.id().to_string(), "630dcd29");
        assert_eq!(format!("{key:?} {:?}", key.id()), "ServerKey(630dcd29) ServerKeyId(630dcd29)");
    }
}
