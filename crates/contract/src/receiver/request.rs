//! The requests of the checks.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use formsvc_protocol::Timestamp;
use http::header::{CONNECTION, CONTENT_TYPE};
use http::{HeaderValue, Method};
use url::Url;

use super::bodies::tampered;
use super::check::{SendMode, Step};
use super::signature_kind::Keys;
use crate::send::{Outgoing, SIGNATURE};

/// Prefix of the ids of test submissions.
pub const ID_PREFIX: &str = "sub_check_";
/// Form id of test submissions.
pub const FORM_ID: &str = "frm_check";

/// A request, and the MAC that its answer must not contain.
pub(super) struct CheckRequest {
    pub(super) outgoing: Outgoing,
    pub(super) hidden_mac: Option<String>,
}

/// A submission that exists only in the requests of a check.
#[derive(Clone, Debug)]
pub(super) struct TestSubmission {
    pub(super) id: String,
    /// Fixed at the start of the check: all attempts of a delivery have the same body.
    pub(super) created: SystemTime,
}

impl CheckRequest {
    pub(super) fn new(
        step: Step,
        url: &Url,
        submission: &TestSubmission,
        keys: Keys<'_>,
        now: SystemTime,
    ) -> Self {
        let unix = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let signed = step.body.bytes(&submission.id, &created_at(unix(submission.created)));
        let sent = match step.mode {
            SendMode::Unchanged => signed.clone(),
            SendMode::Tampered => tampered(&signed),
            SendMode::Get => Vec::new(),
        };
        let signature = step.signature.headers(keys, unix(now), &signed, &sent);
        let event = HeaderValue::from_static(step.body.event());
        let empty = HeaderValue::from_static("");
        let mut outgoing = Outgoing::delivery(url.clone(), event, empty, Bytes::from(sent));
        outgoing.headers.remove(SIGNATURE);
        for value in signature.values {
            outgoing.headers.append(SIGNATURE, value);
        }
        if step.mode == SendMode::Get {
            outgoing.method = Method::GET;
            outgoing.headers.remove(CONTENT_TYPE);
        }
        // A connection that one check breaks must not affect the next check.
        outgoing.headers.insert(CONNECTION, HeaderValue::from_static("close"));
        Self { outgoing, hidden_mac: signature.hidden_mac }
    }
}

/// Formats a time as the service does, in milliseconds.
fn created_at(unix: Duration) -> String {
    let nanos = i128::try_from(unix.as_millis()).unwrap_or_default() * 1_000_000;
    Timestamp::from_unix_nanos(nanos).map_or_else(String::new, |time| time.to_string())
}
