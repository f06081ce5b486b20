//! Explains signatures that do not match. The search for causes takes up to seconds, so callers run it only on
//! request, and on a blocking thread.

use std::sync::Arc;
use std::time::Duration;

use formsvc_contract::explain::{self as contract, CAUSES, ExplainRequest, Found, Proof};
use formsvc_protocol::limits::SIGNATURE_TOLERANCE;
use http::HeaderMap;
use jiff::Timestamp;
use secrecy::SecretString;
use serde::Serialize;

use crate::delivery::Delivery;
use crate::secrets::SigningSecrets;

/// The reasons why a signature does not match. Contains neither a secret nor a signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The result, as a sentence.
    pub summary: String,
    /// `signature`, `fact` or `none`: see [`Proof`].
    pub proof: &'static str,
    /// The name of the secret that made the signature, if this is proven.
    pub secret: Option<String>,
    /// The proven causes. If there are several, all of them are needed to explain the mismatch.
    pub found: Vec<ExplainedCause>,
    /// Hints for the user if no cause is proven.
    pub clues: Vec<&'static str>,
    /// The ids of the causes that were tried.
    pub tried: Vec<&'static str>,
    /// The ids of the causes that were not tried.
    pub left_out: Vec<&'static str>,
    /// Advice for the user, the most important first.
    pub advice: Vec<String>,
}

/// A cause of a mismatch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExplainedCause {
    pub id: &'static str,
    pub means: &'static str,
    /// May contain the name of a header, which is untrusted.
    pub detail: Option<String>,
    pub fix: &'static str,
}

impl ExplainedCause {
    /// Returns the cause on one line, with its id.
    pub fn line(&self) -> String {
        let detail = self.detail.as_ref().map(|detail| format!(" ({detail})")).unwrap_or_default();
        format!("{}{detail} [{}]", self.means, self.id)
    }
}

impl From<Found> for ExplainedCause {
    fn from(found: Found) -> Self {
        let row = found.cause.row();
        Self { id: row.id, means: row.means, detail: found.detail, fix: row.fix }
    }
}

/// Explains the signature of a delivery, with its time of arrival as the current time.
pub fn explain(delivery: &Delivery, secrets: &SigningSecrets) -> Explanation {
    let (headers, body) = (&delivery.headers, &delivery.body);
    let at = delivery.summary.received_at;
    explain_request(headers, body, secrets, None, at, Some(SIGNATURE_TOLERANCE))
}

/// Explains the signature of a request, with `at` as the current time. Without a tolerance, any age is accepted. If
/// `api_key` is set, the search also tries the API key as the secret, a common mistake.
pub fn explain_request(
    headers: &HeaderMap,
    body: &[u8],
    secrets: &SigningSecrets,
    api_key: Option<&SecretString>,
    at: Timestamp,
    tolerance: Option<Duration>,
) -> Explanation {
    let secrets: Vec<_> = secrets.names().map(Arc::from).zip(secrets.texts()).collect();
    Explanation::from(contract::explain(&ExplainRequest {
        headers: headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect(),
        body,
        secrets: &secrets,
        api_key,
        now: u64::try_from(at.as_second()).unwrap_or_default(),
        tolerance,
    }))
}

impl From<contract::Explanation> for Explanation {
    fn from(explanation: contract::Explanation) -> Self {
        let contract::Explanation { found, proof, secret, mut clues, untried, limit } = explanation;
        let secret = secret.map(|name| name.to_string());
        let found: Vec<ExplainedCause> = found.into_iter().map(ExplainedCause::from).collect();
        let by =
            secret.as_ref().map(|name| format!(" with the secret `{name}`")).unwrap_or_default();
        let summary = match (proof, found.is_empty()) {
            (Proof::Signature, true) => format!("The signature matches{by}."),
            (Proof::Signature, false) => {
                format!("The signature matches{by} when the causes are fixed.")
            }
            (Proof::Fact, _) => {
                "The causes prevent any signature from matching. There may be other causes."
                    .to_owned()
            }
            (Proof::None, _) => "The request was probably signed with another secret.".to_owned(),
        };
        let tried = CAUSES.iter().filter(|row| !untried.contains(&row.cause)).map(|row| row.id);
        let tried: Vec<&str> = tried.collect();
        let mut advice = Vec::new();
        if proof == Proof::None {
            advice.push(format!("none of {} common causes applies", tried.len()));
        }
        for cause in &found {
            if !advice.iter().any(|known| known == cause.fix) {
                advice.push(cause.fix.to_owned());
            }
        }
        if proof == Proof::Fact {
            advice.push("verify again afterwards: there may be other causes".to_owned());
        }
        clues.splice(0..0, limit);
        let shown = if proof == Proof::None { &clues[..] } else { limit.as_slice() };
        advice.extend(shown.iter().map(|clue| (*clue).to_owned()));
        let left_out = untried.iter().map(|cause| cause.row().id).collect();
        Self { summary, proof: proof.name(), secret, found, clues, tried, left_out, advice }
    }
}

#[cfg(test)]
mod tests {
    use formsvc_contract::send::SIGNATURE;
    use formsvc_protocol::signature::{SigningSecret, sign};
    use http::HeaderValue;

    use super::*;

    const SECRET: &str = "whsec_of_a_test_of_explaining";

    fn explained(secret: &str, body: &[u8], age: i64) -> Explanation {
        let key = SigningSecret::new(SECRET).unwrap();
        let value = HeaderValue::try_from(sign([&key], 1_700_000_000, b"{\"a\":1}")).unwrap();
        let mut secrets = SigningSecrets::default();
        secrets.add("new", secret.into()).unwrap();
        let headers = HeaderMap::from_iter([(SIGNATURE, value)]);
        let at = Timestamp::from_second(1_700_000_000 + age).unwrap();
        explain_request(&headers, body, &secrets, None, at, Some(SIGNATURE_TOLERANCE))
    }

    #[test]
    fn explanation_names_cause_and_secret() {
        let explanation = explained(SECRET, b"{\"a\":1}\n", 1);
        let summary = "The signature matches with the secret `new` when the causes are fixed.";
        assert_eq!((&*explanation.summary, explanation.proof), (summary, "signature"));
        let [cause] = &explanation.found[..] else { panic!("{explanation:?}") };
        assert!(cause.line().ends_with(" (line break added) [body_ends]"), "{}", cause.line());
        assert_eq!(explanation.advice, [cause.fix]);
        assert!(!format!("{explanation:?}").contains(SECRET));
        assert_eq!(explained(SECRET, b"{\"a\":1}", 301).found[0].id, "stale");
        assert_eq!(explained(SECRET, b"{\"a\":1}", 1).found, []);
    }

    #[test]
    fn unproven_explanation_has_clues_and_limit() {
        let none = explained("whsec_of_another_endpoint", b"{\"a\":1}", 1);
        let summary = "The request was probably signed with another secret.";
        assert!(none.found.is_empty() && none.summary == summary, "{none:?}");
        assert!(none.advice[0].starts_with("none of ") && none.advice.len() > 2, "{none:?}");
        let long = explained(SECRET, &vec![b'x'; 1 << 20], 1);
        assert_eq!(long.clues[0], contract::TOO_LONG);
        assert!(long.left_out.contains(&"json_printed") && !long.tried.contains(&"json_printed"));
        let fact = explained(SECRET, b"{ \"a\": 2 }", 1);
        assert_eq!((fact.proof, fact.found[0].id), ("fact", "json_printed"));
        assert!(fact.advice[1].starts_with("verify again"), "{fact:?}");
    }
}
