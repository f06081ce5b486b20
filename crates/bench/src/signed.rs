//! Signed deliveries (SPEC §6), made up by whoever puts them on a receiver: all of one length, and each
//! of another submission, but for those that come twice.
//!
//! They are signed before they are sent, with the time at which that begins: receivers refuse what is
//! older than five minutes.

use std::time::{SystemTime, UNIX_EPOCH};

use formsvc_protocol::signature::{SigningSecret, sign};

use crate::database;

/// What they are signed with.
pub(crate) const SECRET: &str = "whsec_of_the_benchmark";
/// Bytes of each body.
pub(crate) const BODY: usize = 1_024;
/// One in so many deliveries is of a submission that was delivered before.
pub(crate) const AGAIN_EVERY: usize = 20;
/// So many deliveries ago: long enough that the first was answered.
const AGAIN_AFTER: usize = 2_001;
/// Length of a signature header of one signature.
const SIGNATURE: usize = "t=1700000000,v1=".len() + 64;

const BEFORE_ID: &str = r#"{"event":"submission.created","submission_id":""#;

/// Deliveries, by their place in the order they are sent in.
pub(crate) struct Signed {
    secret: SigningSecret,
    unix_seconds: u64,
    head: [String; 2],
    after_id: String,
    /// The place of the first.
    first: usize,
    /// Signatures of the first of them, one after the other.
    signatures: Vec<u8>,
}

impl Signed {
    /// Signs so many from a place on; those after them are signed when they are sent.
    pub(crate) fn new(first: usize, prepared: usize) -> Self {
        let secret = SigningSecret::new(&SECRET.into()).expect("it is not empty");
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        let unix_seconds = since_1970.map_or(0, |since| since.as_secs());
        let before = "POST /hook HTTP/1.1\r\nHost: localhost\r\nUser-Agent: service-webhooks/1.0\r\n\
                      Content-Type: application/json\r\nX-Service-Event: submission.created\r\n\
                      X-Service-Signature: ";
        let head = [before.to_owned(), format!("\r\nContent-Length: {BODY}\r\n\r\n")];
        let signatures = Vec::with_capacity(prepared * SIGNATURE);
        let after_id = after_id();
        let mut signed = Self { secret, unix_seconds, head, after_id, first, signatures };
        let mut body = Vec::with_capacity(BODY);
        for place in first..first + prepared {
            body.clear();
            signed.body(place, &mut body);
            let signature = sign([&signed.secret], unix_seconds, &body);
            signed.signatures.extend_from_slice(signature.as_bytes());
        }
        signed
    }

    /// Writes a whole request in place of what is there; `sent` were before it.
    pub(crate) fn request(&self, sent: usize, request: &mut Vec<u8>) {
        let place = self.first + sent;
        request.clear();
        let [before, after] = &self.head;
        request.extend_from_slice(before.as_bytes());
        let at = sent * SIGNATURE;
        if let Some(signature) = self.signatures.get(at..at + SIGNATURE) {
            request.extend_from_slice(signature);
        } else {
            let mut body = Vec::with_capacity(BODY);
            self.body(place, &mut body);
            let signature = sign([&self.secret], self.unix_seconds, &body);
            request.extend_from_slice(signature.as_bytes());
        }
        request.extend_from_slice(after.as_bytes());
        self.body(place, request);
    }

    fn body(&self, place: usize, body: &mut Vec<u8>) {
        let id = database::id_at(submission(place) as u64);
        body.extend_from_slice(BEFORE_ID.as_bytes());
        body.extend_from_slice(id.as_str().as_bytes());
        body.extend_from_slice(self.after_id.as_bytes());
    }
}

/// Which submission is delivered.
fn submission(place: usize) -> usize {
    let comes_again = place % AGAIN_EVERY == AGAIN_EVERY - 1;
    if comes_again { place.checked_sub(AGAIN_AFTER).unwrap_or(place) } else { place }
}

/// What follows the id: answers that make the body as long as it is to be.
fn after_id() -> String {
    let answers = database::answers(1);
    let answers = answers.trim_end_matches('}');
    let before = format!(
        r#"","form_id":"frm_bench","form_title":"Bench","data":{answers},"Anything else?":""#
    );
    let after = r#""},"created_at":"2026-01-01T00:00:00.000Z"}"#;
    let id = database::id_at(0).as_str().len();
    let rest = BODY - BEFORE_ID.len() - id - before.len() - after.len();
    let text = "What else there is to say is long. ".repeat(BODY / 30);
    format!("{before}{}{after}", &text[..rest])
}

/// A body, its signature header, and the time it was signed at, in Unix seconds.
pub(crate) fn example() -> (Vec<u8>, String, u64) {
    let signed = Signed::new(0, 0);
    let mut body = Vec::with_capacity(BODY);
    signed.body(0, &mut body);
    let header = sign([&signed.secret], signed.unix_seconds, &body);
    (body, header, signed.unix_seconds)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use formsvc_receiver::{Verifier, WebhookEvent};

    use super::*;

    #[test]
    fn every_request_is_a_delivery_whether_it_was_signed_before_or_not() {
        let signed = Signed::new(7, 2);
        let verifier = Verifier::new(SECRET).unwrap();
        let mut request = Vec::new();
        for place in 0..4 {
            signed.request(place, &mut request);
            let text = std::str::from_utf8(&request).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            let header = head.lines().find_map(|line| line.strip_prefix("X-Service-Signature: "));
            assert_eq!(body.len(), BODY);
            let event = verifier.verify(header.unwrap(), body.to_owned()).unwrap();
            assert!(matches!(event.event(), WebhookEvent::SubmissionCreated(_)), "{text}");
        }
    }

    #[test]
    fn one_in_twenty_comes_again_long_after_the_first_time() {
        let (mut seen, mut again) = (HashSet::new(), 0);
        for place in 0..40_000 {
            let submission = submission(place);
            assert!(submission == place || submission + 2_000 < place);
            again += usize::from(!seen.insert(submission));
        }
        assert_eq!(again, 1_900);
    }
}
