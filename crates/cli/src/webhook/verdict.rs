//! What verification finds of a request.

use std::sync::Arc;

use bytes::Bytes;
use formsvc_protocol::signature::{HEADER, SignatureHeader};
use formsvc_receiver::{Verifier, VerifyError, WebhookEvent, signature_header};
use http::HeaderMap;
use jiff::Timestamp;

use super::tone::Tone;

/// What verification found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) code: VerdictCode,
    /// The name of the secret that signed it.
    pub(crate) secret: Option<Arc<str>>,
    /// Seconds from the signature's time to now; negative when it lies ahead. A stranger's word unless
    /// the signature is right.
    pub(crate) age: Option<i64>,
}

/// What verification found, of a closed set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VerdictCode {
    /// The signature is right, of now, and the body is an event.
    Valid,
    /// There was no secret to verify with.
    Unchecked,
    MissingHeader,
    Malformed,
    NoMatch,
    TooOld,
    InFuture,
    TooLarge,
    /// The signature is right; the body is no event.
    BadEvent,
    /// Another release kept it, by a name that this one does not know.
    Unknown,
}

/// How much a search for what is wrong with a signature (`webhook verify --explain`) can say beyond the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Search {
    /// Nothing.
    Nothing,
    /// Perhaps more.
    More,
    /// All there is to say.
    All,
}

/// A row of the table of verdicts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VerdictRow {
    pub(crate) code: VerdictCode,
    /// The name, in stores and JSON; it never changes.
    pub(crate) name: &'static str,
    /// In a line on a terminal.
    pub(crate) short: &'static str,
    /// In a sentence.
    pub(crate) meaning: &'static str,
    pub(crate) tone: Tone,
    /// What a listener answers by itself; what is not answered 2xx is refused.
    pub(crate) status: u16,
    /// Whether the signature is right, so that its time is no stranger's word.
    pub(crate) is_signed: bool,
    /// Which way that time is off, where it is.
    pub(crate) off: Option<&'static str>,
    /// The rule behind it, and where that stands.
    pub(crate) rule: &'static str,
    /// What to do about it; none where nothing is to be done.
    pub(crate) next: Option<&'static str>,
    pub(crate) search: Search,
}

const SIGNED: &str = "SPEC §5: v1 is the HMAC-SHA256 of “<t>.<raw body>” with the endpoint’s signing secret, \
    compared in constant time.";
const HEADER_RULE: &str = "SPEC §5: each delivery carries X-Service-Signature: t=<unix-seconds>,v1=<64 \
    lower-case hex digits>; without t or v1 it is refused.";
const TIME_RULE: &str = "SPEC §5: a delivery is refused when its t is more than 300 seconds from now, so \
    that nobody can send an old one again.";

/// What a row has unless it says otherwise.
const REFUSED: VerdictRow = VerdictRow {
    code: VerdictCode::Unknown,
    name: "unknown",
    short: "✗ unknown",
    meaning: "another release of formsvc judged it, by a name that this one does not know",
    tone: Tone::Bad,
    status: 401,
    is_signed: false,
    off: None,
    rule: SIGNED,
    next: Some("look at it with the release that kept it"),
    search: Search::More,
};

/// Every verdict there is. Names of refusals are those of the receiver's answers.
pub(crate) const VERDICTS: &[VerdictRow] = &[
    VerdictRow {
        code: VerdictCode::Valid,
        name: "valid",
        short: "✓ signed",
        meaning: "the signature is right and of now",
        tone: Tone::Good,
        status: 200,
        is_signed: true,
        next: None,
        search: Search::Nothing,
        ..REFUSED
    },
    VerdictRow {
        code: VerdictCode::Unchecked,
        name: "unchecked",
        short: "? unchecked",
        meaning: "there was no secret to verify with",
        tone: Tone::Open,
        status: 200,
        next: Some("start the listener with --secret-file, or with FORMSVC_SIGNING_SECRET"),
        search: Search::Nothing,
        ..REFUSED
    },
    VerdictRow {
        code: VerdictCode::MissingHeader,
        name: "missing_signature",
        short: "✗ unsigned",
        meaning: "the request has no X-Service-Signature",
        rule: HEADER_RULE,
        next: Some(
            "was it the service that sent it? A proxy on the way may drop headers it does not know",
        ),
        ..REFUSED
    },
    VerdictRow {
        code: VerdictCode::Malformed,
        name: "malformed_signature",
        short: "✗ malformed",
        meaning: "X-Service-Signature is not t=<digits>,v1=<64 lower-case hex digits>, or came twice",
        rule: HEADER_RULE,
        next: Some(
            "it must be t=<digits>,v1=<64 lower-case hex digits>, once: no spaces, capitals or base64",
        ),
        ..REFUSED
    },
    VerdictRow {
        code: VerdictCode::NoMatch,
        name: "signature_mismatch",
        short: "✗ mismatch",
        meaning: "no signature of the header was made with a secret given here over this body",
        next: Some(
            "is the secret that of this endpoint, whole and of now? A proxy that writes the JSON anew \
             breaks signatures, too",
        ),
        search: Search::All,
        ..REFUSED
    },
    VerdictRow {
        code: VerdictCode::TooOld,
        name: "signature_too_old",
        short: "✗ stale",
        meaning: "the signature is right, and older than 300 seconds",
        is_signed: true,
        off: Some("old"),
        rule: TIME_RULE,
        next: Some("a replay needs a fresh signature; or one of the two clocks is wrong"),
        ..REFUSED
    },
    VerdictRow {
        code: VerdictCode::InFuture,
        name: "signature_in_future",
        short: "✗ future",
        meaning: "the signature is right, and more than 300 seconds ahead of this machine's clock",
        is_signed: true,
        off: Some("ahead"),
        rule: TIME_RULE,
        next: Some("one of the two clocks is wrong: this machine's or the sender's"),
        ..REFUSED
    },
    // Of what is made here (`--poll`), and of what a listener took that had a larger cap.
    VerdictRow {
        code: VerdictCode::TooLarge,
        name: "payload_too_large",
        short: "✗ too large",
        meaning: "the body is over the cap",
        status: 413,
        rule: "What is over the cap is not judged.",
        next: Some("start the listener with a larger --max-body"),
        search: Search::Nothing,
        ..REFUSED
    },
    VerdictRow {
        code: VerdictCode::BadEvent,
        name: "bad_event",
        short: "✗ no event",
        meaning: "the signature is right, and the body is no event",
        status: 400,
        is_signed: true,
        rule: "SPEC §6: the body is a JSON object with event, submission_id, form_id, form_title, data and \
               created_at.",
        next: Some("look at the body: whoever signed it has the secret"),
        search: Search::Nothing,
        ..REFUSED
    },
];

impl VerdictRow {
    /// Whether a receiver refuses what has it.
    pub(crate) fn is_refusal(&self) -> bool {
        !(200..300).contains(&self.status)
    }
}

impl VerdictCode {
    /// Its row.
    pub(crate) fn row(self) -> &'static VerdictRow {
        if self == Self::Unknown {
            return &REFUSED;
        }
        VERDICTS.iter().find(|row| row.code == self).expect("every verdict has a row")
    }

    /// Whether a receiver refuses what has it.
    pub(crate) fn is_refusal(self) -> bool {
        self.row().is_refusal()
    }

    /// Whether the service sent it, as far as anybody can know here. What else comes anybody can send; what
    /// is too old was signed once.
    pub(crate) fn is_proven(self) -> bool {
        let row = self.row();
        row.is_signed || !row.is_refusal()
    }

    /// Why a body that has it is no event, without any text of it; none of another verdict.
    pub(crate) fn lack(self, body: &Bytes) -> Option<String> {
        if self != Self::BadEvent {
            return None;
        }
        Some(WebhookEvent::from_json(body.clone()).err()?.to_string())
    }

    /// The verdict of a name.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        VERDICTS.iter().find(|row| row.name == name).map(|row| row.code)
    }
}

impl From<&VerifyError> for VerdictCode {
    /// By its name. A reason that a later release of the receiver adds is at least no acceptance.
    fn from(error: &VerifyError) -> Self {
        Self::of_name(error.code()).filter(|code| code.is_refusal()).unwrap_or(Self::Unknown)
    }
}

/// Judges a request by its raw body, as it was when it came; gives the event as well, where it is signed.
pub(crate) fn judge(
    verifier: Option<&Verifier>,
    headers: &HeaderMap,
    body: &Bytes,
    came: Timestamp,
) -> (Verdict, Option<WebhookEvent>) {
    let header = signature_header(headers.get_all(HEADER));
    let claimed =
        header.as_ref().ok().and_then(|header| SignatureHeader::parse(header.as_bytes()).ok());
    let age = claimed
        .and_then(|header| i64::try_from(header.unix_seconds()).ok())
        .map(|signed| came.as_second().saturating_sub(signed));
    let Some(verifier) = verifier else {
        return (Verdict { code: VerdictCode::Unchecked, secret: None, age }, None);
    };
    let found = header.and_then(|header| verifier.verify_at(header, body.clone(), came.into()));
    match found {
        Ok(event) => {
            let secret = Some(event.proof().secret_name().into());
            (Verdict { code: VerdictCode::Valid, secret, age }, Some(event.into_event()))
        }
        Err(error) => (Verdict { code: (&error).into(), secret: None, age }, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_says_what_to_do_and_names_are_used_once() {
        for row in VERDICTS.iter().chain([VerdictCode::Unknown.row()]) {
            assert_eq!(row.code.row().name, row.name);
            assert_eq!(row.next.is_none(), row.code == VerdictCode::Valid, "{}", row.name);
            assert_eq!(row.tone == Tone::Bad, row.is_refusal(), "{}", row.name);
            assert!(row.is_signed || row.off.is_none(), "{}", row.name);
            assert!(row.rule.ends_with('.') && !row.meaning.ends_with('.'), "{}", row.name);
            let same = VERDICTS.iter().filter(|other| other.name == row.name).count();
            assert_eq!(same, usize::from(row.code != VerdictCode::Unknown), "{}", row.name);
        }
    }

    #[test]
    fn what_the_receiver_refuses_has_its_name_and_status() {
        use VerifyError::{InFuture, Malformed, MissingHeader, NoMatch, TooLarge, TooOld};
        let no_event = WebhookEvent::from_json(Bytes::from_static(b"{")).unwrap_err();
        let bad = VerifyError::InvalidEvent(no_event);
        let errors = [MissingHeader, Malformed, NoMatch, TooOld, InFuture, TooLarge, bad];
        let mut rows: Vec<_> = VERDICTS.iter().filter(|row| row.is_refusal()).collect();
        for error in errors {
            let row = VerdictCode::from(&error).row();
            assert_eq!((row.name, row.status), (error.code(), error.status().as_u16()));
            rows.retain(|other| other.code != row.code);
        }
        assert!(rows.is_empty(), "{rows:?}");
    }

    #[test]
    fn of_a_body_that_is_no_event_what_is_missing_is_told_and_no_text_of_it() {
        let lack =
            |body: &'static str| VerdictCode::BadEvent.lack(&Bytes::from_static(body.as_bytes()));
        for (body, told) in [
            ("hunter2", "the body is not JSON (line 1, column 1)"),
            ("", "the body is incomplete JSON (line 1, column 0)"),
            (r#""hunter2""#, "the body is not a JSON object"),
            (r#"["hunter2"]"#, "the body is not a JSON object"),
            ("{}", "`event` is missing"),
            (r#"{"event":"submission.created","submission_id":"hunter2"}"#, "`form_id` is missing"),
        ] {
            assert_eq!(lack(body).as_deref(), Some(told), "{body}");
        }
        assert_eq!(lack(r#"{"event":"of.a.later.release"}"#), None);
        assert_eq!(VerdictCode::NoMatch.lack(&Bytes::from_static(b"hunter2")), None);
    }
}
