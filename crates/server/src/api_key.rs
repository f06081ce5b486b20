//! API keys: made, hashed, recognised by their beginning.

use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

use crate::store::KeyHash;

/// How every key begins.
pub(crate) const PREFIX: &str = "fsk_";
/// Random characters after the prefix: 43 of base 62 hold 256 bits.
const RANDOM_LEN: usize = 43;
/// Characters kept in the clear, so that an owner can tell keys apart.
const SHOWN_LEN: usize = PREFIX.len() + 6;

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Bytes from here on would favour the first digits.
const UNBIASED: u8 = 62 * 4;

/// The operating system gave no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("the system has no randomness to make a key of")]
pub struct NoRandomness(#[source] getrandom::Error);

/// A new key from the operating system's randomness.
pub(crate) fn generate() -> Result<SecretString, NoRandomness> {
    let mut key = String::with_capacity(PREFIX.len() + RANDOM_LEN);
    key.push_str(PREFIX);
    let mut bytes = [0_u8; 64];
    while key.len() < PREFIX.len() + RANDOM_LEN {
        getrandom::fill(&mut bytes).map_err(NoRandomness)?;
        let wanted = PREFIX.len() + RANDOM_LEN - key.len();
        key.extend(bytes.iter().filter_map(|&byte| base62_digit(byte)).take(wanted));
    }
    Ok(key.into())
}

/// The digit a random byte stands for; none for the bytes that would make digits unequally likely.
fn base62_digit(byte: u8) -> Option<char> {
    (byte < UNBIASED).then(|| char::from(BASE62[usize::from(byte % 62)]))
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
    fn every_digit_is_equally_likely() {
        let mut counts = [0; 128];
        for digit in (0..=u8::MAX).filter_map(base62_digit) {
            counts[digit as usize] += 1;
        }
        assert!(BASE62.iter().all(|&digit| counts[usize::from(digit)] == 4));
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
