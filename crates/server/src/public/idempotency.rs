//! What makes a submission a repeat of another.

use formsvc_protocol::Answers;
use http::{HeaderMap, HeaderName};
use sha2::{Digest, Sha256};

use crate::api::Problem;
use crate::store::Idempotency;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Longest key, in characters.
const KEY_MAX: usize = 255;

/// What a client says about repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Repeats {
    /// The key that the client made up: the same key with other answers is a mistake.
    Key(Vec<u8>),
    /// One showing of our page: sent twice with the same answers it is a repeat; going back, editing
    /// and sending again makes something new.
    Page(String),
    /// Nothing: everything is new.
    Unknown,
}

/// The key in the headers of a request, if there is one: 1 to 255 visible characters of ASCII.
pub(super) fn key(headers: &HeaderMap) -> Result<Option<Vec<u8>>, Problem> {
    let mut keys = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(key) = keys.next() else { return Ok(None) };
    let key = key.as_bytes();
    let visible = key.iter().all(u8::is_ascii_graphic);
    if keys.next().is_some() || key.is_empty() || key.len() > KEY_MAX || !visible {
        return Err(Problem::bad_request(
            "`Idempotency-Key` must be one value of 1 to 255 visible ASCII characters",
        ));
    }
    Ok(Some(key.to_vec()))
}

impl Repeats {
    /// What the store tells repeats by.
    pub(super) fn of(&self, answers: &Answers) -> Option<Idempotency> {
        let answers = answers.as_json().as_bytes();
        let key = match self {
            Self::Key(key) => digest(&[key]),
            // A zero byte, which neither a key nor answers have, keeps the parts and kinds apart.
            Self::Page(id) => digest(&[id.as_bytes(), b"\0", answers]),
            Self::Unknown => return None,
        };
        Some(Idempotency { key, fingerprint: digest(&[answers]) })
    }
}

fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part);
    }
    digest.finalize().into()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn of(repeats: &Repeats, answers: &str) -> Idempotency {
        repeats.of(&Answers::parse(answers).unwrap()).unwrap()
    }

    #[test]
    fn a_key_is_the_clients_and_a_page_counts_with_its_answers() {
        let (key, page) = (Repeats::Key(b"k".to_vec()), Repeats::Page("k".into()));
        let [first, second] = [r#"{"a":1}"#, r#"{"a":2}"#];
        assert_eq!(of(&key, first).key, of(&key, second).key);
        assert_ne!(of(&key, first).fingerprint, of(&key, second).fingerprint);
        assert_ne!(of(&page, first).key, of(&page, second).key);
        assert_eq!(of(&page, first), of(&page, first));
        assert_ne!(of(&page, first).key, of(&key, first).key);
        assert_ne!(of(&page, first), of(&Repeats::Page("l".into()), first));
        assert!(Repeats::Unknown.of(&Answers::parse("{}").unwrap()).is_none());
    }

    #[test]
    fn a_key_is_visible_ascii() {
        let read = |values: &[&[u8]]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(IDEMPOTENCY_KEY, HeaderValue::from_bytes(value).unwrap());
            }
            key(&headers)
        };
        assert_eq!(read(&[]).unwrap(), None);
        assert_eq!(read(&[b"!~Az09"]).unwrap().unwrap(), b"!~Az09");
        assert!(read(&[&[b'x'; 255]]).is_ok());
        for bad in [&b""[..], b" ", b"a b", b"a\tb", "é".as_bytes(), b"\xff", &[b'x'; 256]] {
            assert!(read(&[bad]).is_err(), "{bad:?}");
        }
        assert!(read(&[b"a", b"a"]).is_err());
    }
}
