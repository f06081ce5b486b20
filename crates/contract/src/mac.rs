//! HMAC-SHA256 over any text, for signatures that are wrong on purpose or were made wrongly. Right ones are
//! made and judged by [`formsvc_protocol::signature`] alone.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// A MAC in progress.
#[derive(Clone)]
pub(crate) struct Keyed(Hmac<Sha256>);

impl Keyed {
    pub(crate) fn new(key: &[u8]) -> Self {
        Self(Hmac::new_from_slice(key).expect("HMAC takes a key of any length"))
    }

    /// The MAC of the parts, one after the other.
    pub(crate) fn mac(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = self.0.clone();
        for part in parts {
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }
}
