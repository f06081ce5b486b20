//! The API key: checked once, sent on every request, shown nowhere.

use formsvc_protocol::check_secret_text;
use http::{HeaderMap, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

/// Shorter keys are not looked for in foreign text: removing them would garble it.
const REDACTED_FROM: usize = 8;
const REDACTED: &str = "[api key]";

/// A key that can stand in a header. Its Debug shows nothing of it.
pub(crate) struct ApiKey {
    secret: SecretString,
    authorization: HeaderValue,
}

impl ApiKey {
    /// Checks that the key is visible ASCII and not in quotation marks. The error names the rule and
    /// never contains the key.
    pub(crate) fn check(secret: &SecretString) -> Result<Self, String> {
        let text = secret.expose_secret();
        check_secret_text(text).map_err(|problem| format!("the API key {problem}"))?;
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("the API key has a character that is not visible ASCII".to_owned());
        }
        let mut authorization = HeaderValue::try_from(format!("Bearer {text}"))
            .expect("visible ASCII can stand in a header");
        authorization.set_sensitive(true);
        Ok(Self { secret: secret.clone(), authorization })
    }

    /// The value of `Authorization` (SPEC §5), marked sensitive.
    pub(crate) fn authorization(&self) -> HeaderValue {
        self.authorization.clone()
    }

    pub(crate) fn len(&self) -> usize {
        self.secret.expose_secret().len()
    }

    /// Text from outside without the key, should the service have echoed it.
    pub(crate) fn redact(&self, text: String) -> String {
        let key = self.secret.expose_secret();
        if key.len() >= REDACTED_FROM && text.contains(key) {
            text.replace(key, REDACTED)
        } else {
            text
        }
    }

    /// Bytes from outside without the key.
    pub(crate) fn redact_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let key = self.secret.expose_secret().as_bytes();
        if key.len() < REDACTED_FROM {
            return bytes.to_vec();
        }
        let mut clean = Vec::with_capacity(bytes.len());
        let mut rest = bytes;
        while let Some((first, tail)) = rest.split_first() {
            if rest.starts_with(key) {
                clean.extend_from_slice(REDACTED.as_bytes());
                rest = &rest[key.len()..];
            } else {
                clean.push(*first);
                rest = tail;
            }
        }
        clean
    }

    /// Headers from outside without the key, in whichever of them the service echoed it.
    pub(crate) fn redact_headers(&self, headers: &mut HeaderMap) {
        let key = self.secret.expose_secret();
        if key.len() < REDACTED_FROM {
            return;
        }
        // Names arrive in lower case, which would still show most of a key.
        let lower = key.to_ascii_lowercase();
        let named: Vec<_> =
            headers.keys().filter(|name| name.as_str().contains(&lower)).cloned().collect();
        for name in named {
            headers.remove(name);
        }
        for value in headers.values_mut() {
            let clean = self.redact_bytes(value.as_bytes());
            if clean != value.as_bytes() {
                *value = HeaderValue::from_bytes(&clean)
                    .expect("what could stand in a header still can without the key");
            }
        }
    }
}

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(REDACTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_key_is_refused_by_its_problem_and_not_shown() {
        for (bad, problem) in [
            ("", "is empty"),
            (" ", "U+0020"),
            ("fsk_a b", "not visible ASCII"),
            ("fsk_a\n", "U+000A"),
            ("fsk_é", "not visible ASCII"),
            ("fsk_\u{7f}", "U+007F"),
            ("\tfsk_a", "U+0009"),
            ("fsk_\u{200b}a", "U+200B"),
            ("\"fsk_a\"", "a quotation mark (\")"),
            ("'fsk_a'", "a quotation mark (')"),
        ] {
            let error = ApiKey::check(&SecretString::from(bad)).unwrap_err();
            assert!(error.contains(problem) && !error.contains("fsk"), "{bad:?}: {error}");
        }
    }

    #[test]
    fn the_header_is_sensitive_and_debug_shows_nothing() {
        let key = ApiKey::check(&SecretString::from("fsk_0123456789")).unwrap();
        assert!(key.authorization().is_sensitive());
        let shown = format!("{key:?} {:?}", key.authorization());
        assert!(!shown.contains("0123"), "{shown}");
    }

    #[test]
    fn every_echo_of_the_key_is_removed() {
        let key = ApiKey::check(&SecretString::from("fsk_0123456789")).unwrap();
        let echo = "no such key fsk_0123456789, fsk_0123456789!";
        let clean = "no such key [api key], [api key]!";
        assert_eq!(key.redact(echo.to_owned()), clean);
        assert_eq!(key.redact_bytes(echo.as_bytes()), clean.as_bytes());
    }

    #[test]
    fn headers_lose_the_key_and_nothing_else() {
        let key = ApiKey::check(&SecretString::from("fsk_0123456789ABC")).unwrap();
        let mut headers = HeaderMap::new();
        headers.insert("x-a", HeaderValue::from_static("Bearer fsk_0123456789ABC"));
        headers.append("x-a", HeaderValue::from_static("second"));
        headers.insert("x-b", HeaderValue::from_bytes(b"\xfffsk_0123456789ABC").unwrap());
        headers.insert("x-fsk_0123456789abc", HeaderValue::from_static("1"));
        key.redact_headers(&mut headers);
        let left: Vec<_> =
            headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        let clean: [(_, &[u8]); 3] =
            [("x-a", b"Bearer [api key]"), ("x-a", b"second"), ("x-b", b"\xff[api key]")];
        assert_eq!(left, clean);
    }
}
