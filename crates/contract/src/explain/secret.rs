//! The keys that may have been used instead of a secret.

use std::sync::Arc;

use base64::Engine;
use formsvc_protocol::signature::{SECRET_PREFIX, SigningSecret};
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};

use super::header::{STANDARD, URL_SAFE};
use super::hypothesis::Hypothesis;
use crate::mac::Keyed;

/// What a setting holds that was never set, in the words of several languages.
const UNSET: [&str; 6] = ["", "undefined", "null", "None", "nil", "false"];
/// White space and its like around a secret.
const AROUND: [(&str, &str); 7] =
    [("", "\n"), ("", "\r\n"), ("", " "), (" ", ""), ("", "\\n"), ("", "\0"), ("\u{feff}", "")];
/// Quotation marks.
const QUOTES: [char; 3] = ['"', '\'', '`'];

/// A key that may have been used.
pub(super) struct Key {
    /// None for a secret as it was given.
    pub(super) hypothesis: Option<Hypothesis>,
    /// The name of the secret that it was made of.
    pub(super) name: Option<Arc<str>>,
    pub(super) bytes: Zeroizing<Vec<u8>>,
    pub(super) keyed: Keyed,
    /// For the verifier, which takes text.
    pub(super) signing: Option<SigningSecret>,
}

impl Key {
    fn new(hypothesis: Option<Hypothesis>, name: Option<&Arc<str>>, bytes: &[u8]) -> Self {
        let text = std::str::from_utf8(bytes).ok();
        Self {
            hypothesis,
            name: name.cloned(),
            bytes: Zeroizing::new(bytes.to_vec()),
            keyed: Keyed::new(bytes),
            signing: text.and_then(|text| SigningSecret::new(&text.into())),
        }
    }
}

/// The secrets as they were given.
pub(super) fn given(secrets: &[(Arc<str>, SecretString)]) -> Vec<Key> {
    let key = |(name, secret): &(Arc<str>, SecretString)| {
        Key::new(None, Some(name), secret.expose_secret().as_bytes())
    };
    secrets.iter().map(key).collect()
}

/// What else may have been used, the likeliest first. None is there twice, nor one that was given.
pub(super) fn instead(
    secrets: &[(Arc<str>, SecretString)],
    api_key: Option<&SecretString>,
) -> Vec<Key> {
    let mut keys = given(secrets);
    let count = keys.len();
    let mut add = |hypothesis, name, bytes: &[u8]| {
        if !keys.iter().any(|key: &Key| key.bytes[..] == *bytes) {
            keys.push(Key::new(Some(hypothesis), name, bytes));
        }
    };
    for (name, secret) in secrets {
        let (text, name) = (secret.expose_secret(), Some(name));
        let bare = text.trim_matches(QUOTES);
        add(Hypothesis::SecretQuoted, name, bare.as_bytes());
        if let Some(rest) = text.strip_prefix(SECRET_PREFIX) {
            add(Hypothesis::SecretPrefixCut, name, rest.as_bytes());
        } else {
            let whole = Zeroizing::new(format!("{SECRET_PREFIX}{text}"));
            add(Hypothesis::SecretPrefixLost, name, whole.as_bytes());
        }
        for (before, after) in AROUND {
            let spaced = Zeroizing::new(format!("{before}{text}{after}"));
            add(Hypothesis::SecretSpaced, name, spaced.as_bytes());
        }
        for quote in QUOTES {
            let quoted = Zeroizing::new(format!("{quote}{text}{quote}"));
            add(Hypothesis::SecretQuoted, name, quoted.as_bytes());
        }
        for text in [text.strip_prefix(SECRET_PREFIX).unwrap_or(text), text] {
            if let Ok(bytes) = hex::decode(text).map(Zeroizing::new) {
                add(Hypothesis::SecretHex, name, &bytes);
            }
            for alphabet in [&STANDARD, &URL_SAFE] {
                if let Ok(bytes) = alphabet.decode(text).map(Zeroizing::new) {
                    add(Hypothesis::SecretBase64, name, &bytes);
                }
            }
        }
    }
    if let Some(key) = api_key {
        add(Hypothesis::SecretApiKey, None, key.expose_secret().as_bytes());
    }
    for unset in UNSET {
        add(Hypothesis::SecretUnset, None, unset.as_bytes());
    }
    keys.split_off(count)
}
