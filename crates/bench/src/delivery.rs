//! Signed webhook deliveries of 1 KiB, as the service sends them (SPEC §6).

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use hmac::{Hmac, KeyInit, Mac};
use http::Request;
use http::header::{CONTENT_TYPE, HOST};
use http_body_util::Full;
use sha2::Sha256;

/// Signing secret of the deliveries; its whole text is the HMAC key.
pub(crate) const SECRET: &str = "whsec_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";
/// Bytes of each body.
pub(crate) const BODY_LEN: usize = 1_024;
/// One in this many deliveries repeats an earlier one.
pub(crate) const REPEAT_EVERY: u64 = 20;
/// Distance between a delivery and its repetition: the first one was answered by then.
const REPEAT_DISTANCE: u64 = 2_001;

/// An HMAC-SHA256 state keyed with [`SECRET`].
pub(crate) struct Signer(Hmac<Sha256>);

impl Signer {
    pub(crate) fn new() -> Self {
        Self(Hmac::new_from_slice(SECRET.as_bytes()).expect("HMAC takes keys of any length"))
    }

    /// Returns the digest of `{seconds}.{body}`.
    pub(crate) fn digest(&self, seconds: &str, body: &[u8]) -> [u8; 32] {
        let mut mac = self.0.clone();
        mac.update(seconds.as_bytes());
        mac.update(b".");
        mac.update(body);
        mac.finalize().into_bytes().into()
    }

    /// Returns the value of the signature header, signed at the current time.
    pub(crate) fn header(&self, body: &[u8]) -> String {
        let seconds = unix_seconds();
        format!("t={seconds},v1={}", hex::encode(self.digest(&seconds, body)))
    }

    /// Returns the delivery with a number.
    pub(crate) fn request(&self, number: u64) -> Request<Full<Bytes>> {
        let body = body(number);
        Request::post("/hook")
            .header(HOST, "localhost")
            .header(CONTENT_TYPE, "application/json")
            .header("X-Service-Event", "submission.created")
            .header("X-Service-Signature", self.header(&body))
            .body(Full::new(body.into()))
            .expect("the path and the headers are valid")
    }
}

/// Returns the current time in Unix seconds, as text.
pub(crate) fn unix_seconds() -> String {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    since_1970.map_or(0, |since| since.as_secs()).to_string()
}

/// Returns the body of the delivery with a number.
pub(crate) fn body(number: u64) -> Vec<u8> {
    let submission = submission(number);
    let answers = answers(1);
    let mut body = format!(
        r#"{{"event":"submission.created","submission_id":"sub_{submission:032x}","form_id":"frm_bench","form_title":"Bench","created_at":"2026-01-01T00:00:00.000Z","data":{},"More":""#,
        answers.trim_end_matches('}')
    );
    let end = r#""}}"#;
    let padding = BODY_LEN - body.len() - end.len();
    body.extend(std::iter::repeat_n('x', padding));
    body.push_str(end);
    body.into_bytes()
}

/// Returns the submission that a delivery is about.
fn submission(number: u64) -> u64 {
    let repeats = number % REPEAT_EVERY == REPEAT_EVERY - 1;
    if repeats { number.checked_sub(REPEAT_DISTANCE).unwrap_or(number) } else { number }
}

/// Returns eight answers of about 250 bytes: text, numbers, a date, a choice.
pub(crate) fn answers(number: u64) -> String {
    format!(
        r#"{{"Name":"Participant {number}","E-mail":"user{number}@example.org","Age":{},"Score":{}.{:02},"City":"Ålesund","Visited":"2025-{:02}-{:02}","Recommends":{},"Comment":"The staff were friendly and the wait was short, number {number}."}}"#,
        18 + number % 60,
        number % 100,
        number % 97,
        1 + number % 12,
        1 + number % 28,
        number.is_multiple_of(3),
    )
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn deliveries_have_a_valid_signature() {
        let (signer, verifier) = (Signer::new(), crate::receive::verifier().unwrap());
        for number in [0, 1, 77_777] {
            let body = body(number);
            assert_eq!(body.len(), BODY_LEN);
            let header = signer.header(&body);
            verifier.verify_signature(header.as_bytes(), &body).unwrap();
        }
    }

    #[test]
    fn one_delivery_in_twenty_repeats_a_submission() {
        let mut submissions = HashSet::new();
        let repeats = (0..40_000).filter(|number| !submissions.insert(submission(*number))).count();
        assert_eq!(repeats, 1_900);
    }
}
