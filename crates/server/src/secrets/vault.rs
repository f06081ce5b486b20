//! Encryption at rest: XChaCha20-Poly1305 under the server's key.
//!
//! A sealed secret is bytes: a version (1), the first 4 bytes of the key's SHA-256, a random nonce of
//! 24 bytes, the ciphertext, a tag of 16 bytes. The version, the key's id and the context are
//! authenticated with it, so that a secret moved to another row does not open. The nonce is long
//! enough to be drawn at random for every secret a server will ever keep.

use std::fmt;
use std::sync::Arc;

use chacha20poly1305::XChaCha20Poly1305;
use chacha20poly1305::aead::{Aead, AeadInOut, KeyInit, Payload};
use secrecy::zeroize::Zeroize;
use secrecy::{ExposeSecret, SecretString};

use super::server_key::{ID_LEN, ServerKey, ServerKeyId};
use crate::random::{self, NoRandomness};

/// The layout above.
const VERSION: u8 = 1;
const NONCE_LEN: usize = 24;
const TAG_LEN: usize = 16;
const HEADER_LEN: usize = 1 + ID_LEN;

/// Seals and opens secrets. Cheap to clone; the key is overwritten when the last clone is dropped.
#[derive(Clone)]
pub struct Vault(Arc<Inner>);

struct Inner {
    cipher: XChaCha20Poly1305,
    key: ServerKeyId,
}

/// A sealed secret that does not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// It was sealed under another server's key, or before the key was replaced.
    #[error("the secret was sealed under the server key {sealed_under}, and this is {ours}")]
    OtherKey {
        /// The key it needs.
        sealed_under: ServerKeyId,
        /// The key there is.
        ours: ServerKeyId,
    },
    /// It was changed, cut short, or belongs to something else than it is opened for.
    #[error("the sealed secret is damaged, or belongs to something else")]
    Damaged,
    /// It has a layout this release does not know.
    #[error("the secret is sealed in version {0}, and this release knows {VERSION}")]
    UnknownVersion(u8),
}

impl Vault {
    /// A vault under a server's key.
    pub fn new(key: &ServerKey) -> Self {
        let cipher = XChaCha20Poly1305::new(key.bytes().into());
        Self(Arc::new(Inner { cipher, key: key.id() }))
    }

    /// A vault under a key that nobody keeps, for stores that are gone when the process is.
    pub fn ephemeral() -> Result<Self, NoRandomness> {
        Ok(Self::new(&ServerKey::generate()?))
    }

    /// What names its key.
    pub fn key_id(&self) -> ServerKeyId {
        self.0.key
    }

    /// Encrypts a secret for a context, such as the id of the endpoint it belongs to; it opens for
    /// that context only. The same secret never gives the same bytes twice.
    pub fn seal(&self, context: &[u8], secret: &SecretString) -> Result<Vec<u8>, NoRandomness> {
        let mut nonce = [0; NONCE_LEN];
        random::fill(&mut nonce)?;
        let header = self.header();
        let payload =
            Payload { msg: secret.expose_secret().as_bytes(), aad: &[&header, context].concat() };
        let sealed = self.0.cipher.encrypt(&nonce.into(), payload);
        let sealed = sealed.expect("a secret is shorter than the 256 GiB the cipher takes");
        Ok([&header[..], &nonce, &sealed].concat())
    }

    /// Decrypts what was sealed for this context.
    pub fn open(&self, context: &[u8], sealed: &[u8]) -> Result<SecretString, OpenError> {
        match sealed.first() {
            None => return Err(OpenError::Damaged),
            Some(&VERSION) => {}
            Some(&version) => return Err(OpenError::UnknownVersion(version)),
        }
        let (header, rest) = sealed.split_first_chunk::<HEADER_LEN>().ok_or(OpenError::Damaged)?;
        let (nonce, rest) = rest.split_first_chunk::<NONCE_LEN>().ok_or(OpenError::Damaged)?;
        let (ciphertext, tag) = rest.split_last_chunk::<TAG_LEN>().ok_or(OpenError::Damaged)?;
        let [_, id @ ..] = *header;
        if ServerKeyId(id) != self.0.key {
            let sealed_under = ServerKeyId(id);
            return Err(OpenError::OtherKey { sealed_under, ours: self.0.key });
        }
        // As long as the secret, so that making text of it moves nothing.
        let mut secret = ciphertext.to_vec();
        let opened = self.0.cipher.decrypt_inout_detached(
            nonce.into(),
            &[&header[..], context].concat(),
            secret.as_mut_slice().into(),
            tag.into(),
        );
        opened.map_err(|_| OpenError::Damaged)?;
        match String::from_utf8(secret) {
            Ok(text) => Ok(text.into()),
            Err(error) => {
                error.into_bytes().zeroize();
                Err(OpenError::Damaged)
            }
        }
    }

    fn header(&self) -> [u8; HEADER_LEN] {
        let ServerKeyId(id) = self.0.key;
        let mut header = [VERSION; HEADER_LEN];
        header[1..].copy_from_slice(&id);
        header
    }
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Vault({})", self.0.key)
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    fn vault() -> Vault {
        Vault::ephemeral().unwrap()
    }

    #[test]
    fn what_was_sealed_opens_for_its_context_and_no_other() {
        let vault = vault();
        for secret in ["whsec_1Ja0vTGXn2LQ6Zt9c4Kp8RbY3mDsWfHuEoAiPxNkVgB", "", "schlüssel"] {
            let sealed = vault.seal(b"wep_1", &secret.into()).unwrap();
            assert_eq!(vault.open(b"wep_1", &sealed).unwrap().expose_secret(), secret);
            for other in [&b"wep_2"[..], b"", b"wep_", b"wep_11"] {
                assert_eq!(vault.open(other, &sealed).unwrap_err(), OpenError::Damaged);
            }
        }
    }

    #[test]
    fn one_secret_is_never_sealed_to_the_same_bytes() {
        let (vault, secret) = (vault(), "whsec_x".into());
        let [first, second] = [(); 2].map(|()| vault.seal(b"wep_1", &secret).unwrap());
        let nonce = HEADER_LEN..HEADER_LEN + NONCE_LEN;
        assert_ne!(first[nonce.clone()], second[nonce]);
        assert_ne!(first[HEADER_LEN + NONCE_LEN..], second[HEADER_LEN + NONCE_LEN..]);
    }

    #[test]
    fn a_change_of_any_bit_and_a_cut_anywhere_are_noticed() {
        let vault = vault();
        let sealed = vault.seal(b"wep_1", &"whsec_x".into()).unwrap();
        for at in 0..sealed.len() {
            for bit in 0..8 {
                let mut tampered = sealed.clone();
                tampered[at] ^= 1 << bit;
                let error = vault.open(b"wep_1", &tampered).unwrap_err();
                match at {
                    0 => assert_eq!(error, OpenError::UnknownVersion(tampered[0])),
                    1..HEADER_LEN => assert!(matches!(error, OpenError::OtherKey { .. }), "{at}"),
                    _ => assert_eq!(error, OpenError::Damaged, "byte {at}"),
                }
            }
            assert_eq!(vault.open(b"wep_1", &sealed[..at]).unwrap_err(), OpenError::Damaged);
        }
        let longer = [&sealed[..], b"\0"].concat();
        assert_eq!(vault.open(b"wep_1", &longer).unwrap_err(), OpenError::Damaged);
    }

    #[test]
    fn another_key_is_named() {
        let (ours, theirs) = (vault(), vault());
        let sealed = theirs.seal(b"wep_1", &"whsec_x".into()).unwrap();
        let error = ours.open(b"wep_1", &sealed).unwrap_err();
        let (sealed_under, ours) = (theirs.key_id(), ours.key_id());
        assert_eq!(error, OpenError::OtherKey { sealed_under, ours });
        let told = error.to_string();
        assert!(told.contains(&sealed_under.to_string()) && told.contains(&ours.to_string()));
    }

    #[test]
    fn a_vault_shows_the_name_of_its_key_only() {
        let vault = Vault::new(&ServerKey::parse(&[b"fsvk_", &[b'0'; 64][..]].concat()).unwrap());
        assert_eq!(format!("{vault:?}"), "Vault(66687aad)");
    }

    /// Made by fixtures/secrets/make_vectors.py, which knows nothing of this code.
    #[derive(Deserialize)]
    struct Vector {
        key: String,
        context_hex: String,
        secret: String,
        sealed_hex: String,
    }

    #[test]
    fn what_another_implementation_sealed_opens() {
        let text = include_str!("../../../../fixtures/secrets/sealed.json");
        let vectors: Vec<Vector> = serde_json::from_str(text).unwrap();
        assert!(vectors.len() >= 4);
        for vector in vectors {
            let vault = Vault::new(&ServerKey::parse(vector.key.as_bytes()).unwrap());
            let context = hex::decode(&vector.context_hex).unwrap();
            let sealed = hex::decode(&vector.sealed_hex).unwrap();
            let opened = vault.open(&context, &sealed).unwrap();
            assert_eq!(opened.expose_secret(), vector.secret, "{}", vector.sealed_hex);
        }
    }
}
