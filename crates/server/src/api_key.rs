//! API keys: made, hashed, recognised by their beginning.

use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

use crate::random::{self, NoRandomness};
use crate::store::KeyHash;

/// How every key begins.
pub(crate) const PREFIX: &str = "fsk_";
/// Random characters after the prefix: 43 of base 62 hold 256 bits.
const RANDOM_LEN: usize = 43;
/// Characters kept in the clear, so that an owner can tell keys apart.
const SHOWN_LEN: usize = PREFIX.len() + 6;

/// A new key from the operating system's randomness.
pub(crate) fn generate() -> Result<SecretString, NoRandomness> {
    random::base62(PREFIX, RANDOM_LEN)
}

/// The hash a store knows the key by.
pub(crate) fn hash(key: impl AsRef<[u8]>) -> KeyHash {
    KeyHash(Sha256::digest(key).into())
}

/// The beginning of a key, for lists.
pub(crate) fn shown_prefix(key: &SecretString) -> String {
    key.expose_secret().chars().take(SHOWN_LEN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_its_prefix_and_43_base62_digits() {
        let key = generate().unwrap();
        let digits = key.expose_secret().strip_prefix(PREFIX).unwrap();
        assert_eq!(digits.len(), RANDOM_LEN);
        assert!(digits.bytes().all(|b| b.is_ascii_alphanumeric()));
        assert_ne!(generate().unwrap().expose_secret(), key.expose_secret());
    }

    #[test]
    fn a_key_shows_only_its_beginning() {
        let key = SecretString::from("fsk_abcdefghij");
        assert_eq!(shown_prefix(&key), "fsk_abcdef");
        assert!(!format!("{key:?}").contains("abc"));
    }

    #[test]
    fn the_hash_is_sha_256_of_the_whole_key() {
        let known = [0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea];
        assert_eq!(hash("abc").0[..8], known);
        assert_eq!(format!("{:?}", hash("abc")), "KeyHash(..)");
    }
}
