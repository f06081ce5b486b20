//! Signing secrets of webhook endpoints: made here, never derived from anything.

use secrecy::SecretString;

use crate::random::{self, NoRandomness};

/// How every signing secret begins.
pub(crate) const PREFIX: &str = "whsec_";
/// Random characters after the prefix: 43 of base 62 hold 256 bits.
const RANDOM_LEN: usize = 43;

/// A new signing secret: `whsec_` and 43 base62 digits. The whole text is the HMAC key (SPEC §5).
pub fn generate() -> Result<SecretString, NoRandomness> {
    random::base62(PREFIX, RANDOM_LEN)
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn a_signing_secret_is_its_prefix_and_43_base62_digits() {
        let secret = generate().unwrap();
        let digits = secret.expose_secret().strip_prefix("whsec_").unwrap();
        assert_eq!(digits.len(), 43);
        assert!(digits.bytes().all(|b| b.is_ascii_alphanumeric()));
        assert_ne!(generate().unwrap().expose_secret(), secret.expose_secret());
        assert!(!format!("{secret:?}").contains(digits));
    }
}
