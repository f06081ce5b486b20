//! Verdicts: the results of verifying a request's signature.

use std::fmt::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use formsvc_protocol::limits::SIGNATURE_TOLERANCE;
use formsvc_protocol::signature::{HEADER, SignatureHeader};
use formsvc_receiver::{Verifier, VerifyError, signature_header};
use http::HeaderMap;
use jiff::Timestamp;

/// The result of verifying one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub code: VerdictCode,
    /// The name of the secret that made the signature.
    pub secret: Option<Arc<str>>,
    /// Seconds from the signature's time to the request's arrival. Negative if the signature's time is in the future.
    /// The age is untrusted unless [`VerdictRow::has_valid_signature`] is true.
    pub age_secs: Option<i64>,
}

/// The kinds of verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VerdictCode {
    Valid,
    /// The listener has no secret.
    Unchecked,
    MissingSignature,
    MalformedSignature,
    SignatureMismatch,
    SignatureTooOld,
    SignatureInFuture,
    PayloadTooLarge,
    BadEvent,
}

/// Properties of a kind of verdict.
#[derive(Clone, Copy, Debug)]
pub struct VerdictRow {
    pub code: VerdictCode,
    /// Name in JSON, in the store and in flags.
    pub name: &'static str,
    /// A clause: "the request has no X-Service-Signature".
    pub meaning: &'static str,
    /// Status of a receiver's response. With any status but 2xx, the receiver rejects the delivery.
    pub status: u16,
    /// True if a known secret made the signature, so that its time can be trusted.
    pub has_valid_signature: bool,
    /// The rule that was applied, with its section of SPEC.
    pub rule: &'static str,
    /// Advice for the user, as a clause.
    pub advice: Option<&'static str>,
    /// True if an explanation of the signature may find the cause.
    pub is_explainable: bool,
}

const SIGNATURE_RULE: &str = "SPEC §5: v1 is the HMAC-SHA256 of “<t>.<raw body>” with the endpoint’s \
    signing secret.";
const HEADER_RULE: &str = "SPEC §5: each delivery has one header X-Service-Signature: \
    t=<unix seconds>,v1=<64 lower-case hex digits>.";
const TIME_RULE: &str = "SPEC §5: t is at most 300 seconds from now, which prevents replays of old \
    deliveries.";

/// The row of a signature mismatch, from which the other rows take their defaults.
const REJECTED: VerdictRow = VerdictRow {
    code: VerdictCode::SignatureMismatch,
    name: "signature_mismatch",
    meaning: "no known secret made this signature over this body",
    status: 401,
    has_valid_signature: false,
    rule: SIGNATURE_RULE,
    advice: Some(
        "check that the secret is the current one of this endpoint, complete and without \
         whitespace, and that no proxy reformats the JSON body",
    ),
    is_explainable: true,
};

/// All kinds of verdicts. The name of a rejecting verdict is also the error code of a receiver's response.
pub const VERDICTS: [VerdictRow; 9] = [
    VerdictRow {
        code: VerdictCode::Valid,
        name: "valid",
        meaning: "the signature is valid and recent",
        status: 200,
        has_valid_signature: true,
        advice: None,
        is_explainable: false,
        ..REJECTED
    },
    VerdictRow {
        code: VerdictCode::Unchecked,
        name: "unchecked",
        meaning: "the listener has no signing secret",
        status: 200,
        advice: Some("store one with `formsvc webhook secret add`, or set FORMSVC_SIGNING_SECRET"),
        is_explainable: false,
        ..REJECTED
    },
    VerdictRow {
        code: VerdictCode::MissingSignature,
        name: "missing_signature",
        meaning: "the request has no header X-Service-Signature",
        rule: HEADER_RULE,
        advice: Some(
            "check that the service sent the request, and that no proxy removes unknown headers",
        ),
        ..REJECTED
    },
    VerdictRow {
        code: VerdictCode::MalformedSignature,
        name: "malformed_signature",
        meaning: "X-Service-Signature does not have the form t=<digits>,v1=<64 hex digits>, or \
                  occurs twice",
        rule: HEADER_RULE,
        advice: Some("send the header once, without spaces, upper-case digits or base64"),
        ..REJECTED
    },
    REJECTED,
    VerdictRow {
        code: VerdictCode::SignatureTooOld,
        name: "signature_too_old",
        meaning: "the signature is valid, but more than 300 seconds old",
        has_valid_signature: true,
        rule: TIME_RULE,
        advice: Some(
            "replay the delivery with a fresh signature, or compare the clocks of both machines",
        ),
        ..REJECTED
    },
    VerdictRow {
        code: VerdictCode::SignatureInFuture,
        name: "signature_in_future",
        meaning: "the signature is valid, but its time is more than 300 seconds in the future",
        has_valid_signature: true,
        rule: TIME_RULE,
        advice: Some("compare the clocks of both machines"),
        ..REJECTED
    },
    VerdictRow {
        code: VerdictCode::PayloadTooLarge,
        name: "payload_too_large",
        meaning: "the body exceeds the size limit",
        status: 413,
        rule: "Bodies over the limit are not verified.",
        advice: Some("send at most 1 MiB, as the service does"),
        is_explainable: false,
        ..REJECTED
    },
    VerdictRow {
        code: VerdictCode::BadEvent,
        name: "bad_event",
        meaning: "the signature is valid, but the body is not an event",
        status: 400,
        has_valid_signature: true,
        rule: "SPEC §6: the body is a JSON object with event, submission_id, form_id, form_title, \
               data and created_at.",
        advice: Some("inspect the body; its sender has the secret"),
        is_explainable: false,
    },
];

impl VerdictRow {
    /// Returns true if a receiver rejects deliveries with this verdict.
    pub fn is_refusal(&self) -> bool {
        !(200..300).contains(&self.status)
    }

    /// Returns the name with spaces: "signature mismatch".
    pub fn label(&self) -> String {
        self.name.replace('_', " ")
    }
}

impl VerdictCode {
    pub fn row(self) -> &'static VerdictRow {
        VERDICTS.iter().find(|row| row.code == self).expect("every code has a row")
    }

    /// Returns the kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        VERDICTS.iter().find(|row| row.name == name).map(|row| row.code)
    }

    /// Returns true if a receiver rejects deliveries with this verdict.
    pub fn is_refusal(self) -> bool {
        self.row().is_refusal()
    }

    /// Returns true for `valid` and `unchecked`: a sender with the secret sent the request, or the listener has no secret
    /// and trusts every request. A valid signature that is too old is not enough, because anyone with one old delivery
    /// can repeat it.
    pub fn is_trusted(self) -> bool {
        !self.is_refusal()
    }
}

impl From<&VerifyError> for VerdictCode {
    fn from(error: &VerifyError) -> Self {
        Self::from_name(error.code()).unwrap_or(Self::SignatureMismatch)
    }
}

impl Verdict {
    /// Describes the verdict in one or two sentences, with the age of a trusted signature.
    pub fn description(&self) -> String {
        let row = self.code.row();
        let mut text = sentence(row.meaning);
        if let Some(age) = self.age_secs.filter(|_| row.has_valid_signature) {
            let secret = self.secret.as_deref().map(|name| format!(" with the secret `{name}`"));
            let side = if age < 0 { "after" } else { "before" };
            let (secs, limit) = (age.unsigned_abs(), SIGNATURE_TOLERANCE.as_secs());
            let unit = if secs == 1 { "second" } else { "seconds" };
            // Writing to a `String` cannot fail.
            let _ = write!(
                text,
                " Signed{} {secs} {unit} {side} it arrived (limit {limit} seconds).",
                secret.unwrap_or_default()
            );
        }
        text
    }
}

/// Returns a clause as a sentence.
pub fn sentence(clause: &str) -> String {
    let mut chars = clause.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", chars.as_str())
}

/// Verifies a request, with its time of arrival as the current time.
pub fn verify(
    verifier: Option<&Verifier>,
    headers: &HeaderMap,
    body: &Bytes,
    received_at: Timestamp,
) -> Verdict {
    let header = signature_header(headers.get_all(HEADER));
    let parsed =
        header.as_ref().ok().and_then(|header| SignatureHeader::parse(header.as_bytes()).ok());
    let age_secs = parsed
        .and_then(|header| i64::try_from(header.unix_seconds()).ok())
        .map(|signed_at| received_at.as_second().saturating_sub(signed_at));
    let Some(verifier) = verifier else {
        return Verdict { code: VerdictCode::Unchecked, secret: None, age_secs };
    };
    let result =
        header.and_then(|header| verifier.verify_at(header, body.clone(), received_at.into()));
    match result {
        Ok(event) => {
            let secret = Some(event.proof().secret_name().into());
            Verdict { code: VerdictCode::Valid, secret, age_secs }
        }
        Err(error) => Verdict { code: (&error).into(), secret: None, age_secs },
    }
}

#[cfg(test)]
mod tests {
    use formsvc_receiver::WebhookEvent;

    use super::*;

    #[test]
    fn verdict_names_are_unique_and_others_than_valid_have_advice() {
        for row in VERDICTS {
            assert_eq!(row.code.row().name, row.name);
            assert_eq!(VerdictCode::from_name(row.name), Some(row.code));
            assert_eq!(row.advice.is_none(), row.code == VerdictCode::Valid, "{}", row.name);
            assert!(row.rule.ends_with('.') && !row.meaning.ends_with('.'), "{}", row.name);
        }
    }

    #[test]
    fn receiver_errors_have_the_same_name_and_status() {
        use VerifyError::{InFuture, Malformed, MissingHeader, NoMatch, TooLarge, TooOld};
        let not_an_event = WebhookEvent::from_json(Bytes::from_static(b"{")).unwrap_err();
        let bad_event = VerifyError::InvalidEvent(not_an_event);
        let errors = [MissingHeader, Malformed, NoMatch, TooOld, InFuture, TooLarge, bad_event];
        let mut rows: Vec<_> = VERDICTS.iter().filter(|row| row.is_refusal()).collect();
        for error in errors {
            let row = VerdictCode::from(&error).row();
            assert_eq!((row.name, row.status), (error.code(), error.status().as_u16()));
            rows.retain(|other| other.code != row.code);
        }
        assert!(rows.is_empty(), "{rows:?}");
    }

    #[test]
    fn only_valid_and_unchecked_requests_are_trusted() {
        // Anyone with an old delivery can send it again.
        let trusted = VERDICTS.iter().filter(|row| row.code.is_trusted());
        assert_eq!(trusted.map(|row| row.name).collect::<Vec<_>>(), ["valid", "unchecked"]);
    }

    #[test]
    fn description_has_the_age_of_a_trusted_signature() {
        for (code, age, expected) in [
            (
                VerdictCode::Valid,
                1,
                "recent. Signed 1 second before it arrived (limit 300 seconds).",
            ),
            (VerdictCode::SignatureInFuture, -301, "Signed 301 seconds after it arrived"),
            (VerdictCode::SignatureTooOld, i64::MIN, "9223372036854775808 seconds"),
            (VerdictCode::SignatureMismatch, 5, "over this body."),
            (VerdictCode::Unchecked, 5, "no signing secret."),
        ] {
            let text = Verdict { code, secret: None, age_secs: Some(age) }.description();
            assert!(text.contains(expected), "{text}");
        }
        let secret = Some("new".into());
        let verdict = Verdict { code: VerdictCode::Valid, secret, age_secs: Some(7) };
        let text = verdict.description();
        assert!(text.contains("Signed with the secret `new` 7 seconds before"), "{text}");
    }
}
