//! HMAC-SHA256 of any bytes, for invalid signatures. Only [`formsvc_protocol::signature`] creates and
//! verifies valid ones.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// An HMAC with its key.
#[derive(Clone)]
pub(crate) struct Keyed(Hmac<Sha256>);

impl Keyed {
    pub(crate) fn new(key: &[u8]) -> Self {
        Self(Hmac::new_from_slice(key).expect("HMAC takes a key of any length"))
    }

    /// Returns the MAC of the concatenated parts.
    pub(crate) fn mac(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = self.0.clone();
        for part in parts {
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }
}
