//! Secrets made of the operating system's randomness.

use secrecy::SecretString;
use secrecy::zeroize::Zeroizing;

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Bytes from here on would favour the first digits.
const UNBIASED: u8 = 62 * 4;

/// The operating system gave no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("the system has no randomness to make a key of")]
pub struct NoRandomness(#[source] getrandom::Error);

/// Fills a buffer.
pub(crate) fn fill(bytes: &mut [u8]) -> Result<(), NoRandomness> {
    getrandom::fill(bytes).map_err(NoRandomness)
}

/// A prefix and so many random digits of base 62; 43 of them hold 256 bits.
pub(crate) fn base62(prefix: &str, digits: usize) -> Result<SecretString, NoRandomness> {
    // Never grown, so that no copy of it stays behind.
    let mut text = String::with_capacity(prefix.len() + digits);
    text.push_str(prefix);
    let mut bytes = Zeroizing::new([0_u8; 64]);
    while text.len() < prefix.len() + digits {
        fill(&mut *bytes)?;
        let wanted = prefix.len() + digits - text.len();
        text.extend(bytes.iter().filter_map(|&byte| base62_digit(byte)).take(wanted));
    }
    Ok(text.into())
}

/// The digit a random byte stands for; none for the bytes that would make digits unequally likely.
fn base62_digit(byte: u8) -> Option<char> {
    (byte < UNBIASED).then(|| char::from(BASE62[usize::from(byte % 62)]))
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn a_secret_is_its_prefix_and_so_many_digits() {
        for digits in [0, 1, 43, 500] {
            let secret = base62("fsx_", digits).unwrap();
            let random = secret.expose_secret().strip_prefix("fsx_").unwrap();
            assert_eq!(random.len(), digits);
            assert!(random.bytes().all(|b| b.is_ascii_alphanumeric()));
        }
        let again = base62("fsx_", 43).unwrap();
        assert_ne!(base62("fsx_", 43).unwrap().expose_secret(), again.expose_secret());
    }

    #[test]
    fn every_digit_is_equally_likely() {
        let mut counts = [0; 128];
        for digit in (0..=u8::MAX).filter_map(base62_digit) {
            counts[digit as usize] += 1;
        }
        assert!(BASE62.iter().all(|&digit| counts[usize::from(digit)] == 4));
    }
}
