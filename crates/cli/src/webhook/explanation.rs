//! Why a signature is not right, searched for when somebody asks: the search takes a while.

use formsvc_contract::explain::{Case, Explanation, Found, Proof, TOO_DEEP, explain};
use formsvc_protocol::limits::SIGNATURE_TOLERANCE;
use serde::Serialize;

use super::capture::Received;
use super::secrets::Secrets;

/// What was found, in words.
#[derive(Debug, Serialize)]
pub(crate) struct Explained {
    /// What it comes to.
    pub(crate) what: String,
    pub(crate) found: Vec<ShownFound>,
    /// What is worth a look where nothing fits.
    pub(crate) clues: Vec<&'static str>,
}

/// Something that keeps the signature from being right.
#[derive(Debug, Serialize)]
pub(crate) struct ShownFound {
    pub(crate) means: &'static str,
    /// May hold the name of a header, which is a stranger's.
    pub(crate) detail: Option<String>,
    pub(crate) fix: &'static str,
}

/// Explains the signature of a request by these secrets. Takes a while.
pub(crate) fn explanation(received: &Received, secrets: &Secrets) -> Explained {
    told(search(received, secrets))
}

fn search(received: &Received, secrets: &Secrets) -> Explanation {
    let headers = received.headers.iter();
    // Judged as of when it came: that it is old by now is no news.
    let came = u64::try_from(received.at.as_second()).unwrap_or_default();
    explain(&Case {
        headers: headers.map(|(name, value)| (name.as_str(), value.as_bytes())).collect(),
        body: &received.body,
        secrets: &secrets.0,
        api_key: None,
        came: Some(came),
        now: came,
        tolerance: Some(SIGNATURE_TOLERANCE),
    })
}

fn told(explanation: Explanation) -> Explained {
    let Explanation { found, proof, secret, mut clues, too_deep, .. } = explanation;
    if too_deep {
        clues.insert(0, TOO_DEEP);
    }
    let of = secret.map(|name| format!(" by the secret of {name}")).unwrap_or_default();
    let what = match (proof, found.is_empty()) {
        (Proof::Signature, true) => format!("The signature is right{of}."),
        (Proof::Signature, false) => format!("This is what it is; without it the signature is right{of}."),
        (Proof::Fact, _) => {
            "This keeps any signature from being right; what else is wrong is not known.".to_owned()
        }
        (Proof::None, _) => {
            "Nothing that is known to go wrong fits: most likely it was signed with a secret that is \
             none of those given here."
                .to_owned()
        }
    };
    let shown = |found: Found| {
        let row = found.hypothesis.row();
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
        let secret = SigningSecret::new(&SECRET.into()).unwrap();
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
    fn what_fits_is_told_with_what_to_do_and_without_secrets() {
        let secrets = Secrets(vec![("new".into(), SECRET.into())]);
        let found = told(search(&received(b"{\"a\":1}", b"{\"a\":1}\n"), &secrets));
        assert!(found.what.contains("by the secret of new"), "{}", found.what);
        assert_eq!(found.found.len(), 1, "{found:?}");
        assert!(!format!("{found:?}").contains(SECRET));
        let other = Secrets(vec![("old".into(), "whsec_of_somebody_else_altogether".into())]);
        let none = told(search(&received(b"{}", b"{}"), &other));
        assert!(
            none.found.is_empty() && none.what.contains("none of those given here"),
            "{none:?}"
        );
    }
}
