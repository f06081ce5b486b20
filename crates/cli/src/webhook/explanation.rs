//! Explanations of signatures that do not match, for the inspector. The search takes a while, so it runs
//! on request only.

use formsvc_contract::explain::{ExplainRequest, Explanation, Found, Proof, explain};
use formsvc_protocol::limits::SIGNATURE_TOLERANCE;
use serde::Serialize;

use super::capture::Received;
use super::secrets::Secrets;

/// An explanation in words.
#[derive(Debug, Serialize)]
pub(crate) struct Explained {
    /// The result in a sentence.
    pub(crate) what: String,
    pub(crate) found: Vec<ShownFound>,
    /// What to check if nothing is proven.
    pub(crate) clues: Vec<&'static str>,
}

/// A cause that applies.
#[derive(Debug, Serialize)]
pub(crate) struct ShownFound {
    pub(crate) means: &'static str,
    /// May contain the name of a header, which is untrusted.
    pub(crate) detail: Option<String>,
    pub(crate) fix: &'static str,
}

/// Explains the signature of a request by these secrets. Takes a while.
pub(crate) fn explanation(received: &Received, secrets: &Secrets) -> Explained {
    render(search(received, secrets))
}

fn search(received: &Received, secrets: &Secrets) -> Explanation {
    let headers = received.headers.iter();
    // The age at arrival: every stored delivery is old by now.
    let received_at = u64::try_from(received.at.as_second()).unwrap_or_default();
    explain(&ExplainRequest {
        headers: headers.map(|(name, value)| (name.as_str(), value.as_bytes())).collect(),
        body: &received.body,
        secrets: &secrets.0,
        api_key: None,
        now: received_at,
        tolerance: Some(SIGNATURE_TOLERANCE),
    })
}

fn render(explanation: Explanation) -> Explained {
    let Explanation { found, proof, secret, mut clues, limit, .. } = explanation;
    clues.splice(0..0, limit);
    let of = secret.map(|name| format!(" with the secret of {name}")).unwrap_or_default();
    let what = match (proof, found.is_empty()) {
        (Proof::Signature, true) => format!("The signature matches{of}."),
        (Proof::Signature, false) => format!("The signature matches{of} once this is fixed."),
        (Proof::Fact, _) => {
            "This prevents any signature from matching; there may be other causes.".to_owned()
        }
        (Proof::None, _) => {
            "No known cause applies: most likely it was signed with another secret.".to_owned()
        }
    };
    let shown = |found: Found| {
        let row = found.cause.row();
        ShownFound { means: row.means, detail: found.detail, fix: row.fix }
    };
    Explained { what, found: found.into_iter().map(shown).collect(), clues }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use formsvc_protocol::signature::{HEADER, SigningSecret, sign};
    use http::{HeaderMap, HeaderValue, Method};
    use jiff::Timestamp;

    use super::*;
    use crate::webhook::capture::{Arrival, Source};
    use crate::webhook::verdict::{Verdict, VerdictCode};

    const SECRET: &str = "whsec_of_a_test_of_explaining";

    fn received(signed: &'static [u8], body: &'static [u8]) -> Received {
        let secret = SigningSecret::new(SECRET).unwrap();
        let value = HeaderValue::try_from(sign([&secret], 1_700_000_000, signed)).unwrap();
        Received {
            at: Timestamp::from_second(1_700_000_001).unwrap(),
            source: Source::Poll,
            method: Method::POST,
            request_target: "/".to_owned(),
            headers: HeaderMap::from_iter([(HEADER.parse().unwrap(), value)]),
            body: Bytes::from_static(body),
            verdict: Verdict { code: VerdictCode::NoMatch, secret: None, age: None },
            event: None,
            submission_id: None,
            form_id: None,
            arrival: Arrival { number: 1, gap: None, duplicate: false },
        }
    }

    #[test]
    fn explanation_has_causes_and_no_secrets() {
        let secrets = Secrets(vec![("new".into(), SECRET.into())]);
        let found = render(search(&received(b"{\"a\":1}", b"{\"a\":1}\n"), &secrets));
        assert!(found.what.contains("with the secret of new"), "{}", found.what);
        assert_eq!(found.found.len(), 1, "{found:?}");
        assert!(!format!("{found:?}").contains(SECRET));
        let other = Secrets(vec![("old".into(), "whsec_of_another_endpoint".into())]);
        let none = render(search(&received(b"{}", b"{}"), &other));
        assert!(none.found.is_empty() && none.what.contains("another secret"), "{none:?}");
    }
}
