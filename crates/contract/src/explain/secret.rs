//! The keys that the signer may have used.

use std::sync::Arc;

use formsvc_protocol::signature::SECRET_PREFIX;
use secrecy::{ExposeSecret, SecretString};

use super::Found;
use super::cause::Cause;
use super::header::decode_base64;
use crate::mac::Keyed;

/// Text before and after a secret that a file, a shell or a settings page adds.
const AROUND: [(&str, &str); 6] =
    [("", "\n"), ("", "\r\n"), ("", " "), (" ", ""), ("\"", "\""), ("'", "'")];

/// A key that may have been used.
pub(super) struct Key {
    /// How it differs from the given secret.
    pub(super) found: Option<Found>,
    /// The name of that secret.
    pub(super) name: Option<Arc<str>>,
    pub(super) keyed: Keyed,
}

/// Returns the given secrets, then the keys that are made of them by a mistake.
pub(super) fn keys(
    secrets: &[(Arc<str>, SecretString)],
    api_key: Option<&SecretString>,
) -> Vec<Key> {
    let key = |found, name: Option<&Arc<str>>, bytes: &[u8]| Key {
        found,
        name: name.cloned(),
        keyed: Keyed::new(bytes),
    };
    let mut keys: Vec<Key> = secrets
        .iter()
        .map(|(name, secret)| key(None, Some(name), secret.expose_secret().as_bytes()))
        .collect();
    for (name, secret) in secrets {
        let text = secret.expose_secret();
        let mut add = |cause, detail: &str, bytes: &[u8]| {
            keys.push(key(Some(Found::new(cause, Some(detail))), Some(name), bytes));
        };
        let bare = text.trim_matches(['"', '\'', ' ']);
        add(Cause::SecretSpaced, "in the given secret", bare.as_bytes());
        for (before, after) in AROUND {
            let spaced = [before, text, after].concat();
            add(Cause::SecretSpaced, "in the signer's secret", spaced.as_bytes());
        }
        let rest = text.strip_prefix(SECRET_PREFIX);
        if let Some(rest) = rest {
            add(Cause::SecretPrefix, "the signer's secret lacks it", rest.as_bytes());
        } else {
            let whole = [SECRET_PREFIX, text].concat();
            add(Cause::SecretPrefix, "the given secret lacks it", whole.as_bytes());
        }
        for text in [rest.unwrap_or(text), text] {
            if let Ok(bytes) = hex::decode(text) {
                add(Cause::SecretDecoded, "from hex", &bytes);
            }
            if let Some(bytes) = decode_base64(text) {
                add(Cause::SecretDecoded, "from base64", &bytes);
            }
        }
    }
    keys.extend(api_key.map(|api_key| {
        let found = Found::new(Cause::SecretApiKey, None);
        key(Some(found), None, api_key.expose_secret().as_bytes())
    }));
    keys
}
