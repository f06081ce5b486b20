//! From a step of a check to the request it is.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use formsvc_protocol::Timestamp;
use http::header::{CONNECTION, CONTENT_TYPE};
use http::{HeaderValue, Method};
use url::Url;

use super::bodies::tampered;
use super::check::{Step, Way};
use super::mark::Keys;
use crate::send::{Outgoing, SIGNATURE};

/// How the ids of the submissions begin that checks make up.
pub const ID_PREFIX: &str = "sub_check_";
/// The form that they are said to be made to.
pub const FORM_ID: &str = "frm_check";

/// A request that is ready, and what an answer to it must not hold.
pub(super) struct Made {
    pub(super) outgoing: Outgoing,
    pub(super) hidden: Option<String>,
}

/// A submission that was never made.
#[derive(Clone, Debug)]
pub(super) struct MadeUp {
    pub(super) id: String,
    /// When it is said to have been made: every attempt of a delivery has the same body.
    pub(super) at: SystemTime,
}

/// Makes the request of a step.
pub(super) fn make(step: Step, url: &Url, of: &MadeUp, keys: Keys<'_>, now: SystemTime) -> Made {
    let since = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let signed = step.body.bytes(&of.id, &created_at(since(of.at)));
    let sent = match step.way {
        Way::Whole => signed.clone(),
        Way::Tampered => tampered(&signed),
        Way::Get => Vec::new(),
    };
    let marked = step.mark.on(keys, since(now), &signed, &sent);
    let event = HeaderValue::from_static(step.body.event());
    let unsigned = HeaderValue::from_static("");
    let mut outgoing = Outgoing::delivery(url.clone(), event, unsigned, Bytes::from(sent));
    outgoing.headers.remove(SIGNATURE);
    for value in marked.values {
        outgoing.headers.append(SIGNATURE, value);
    }
    if step.way == Way::Get {
        outgoing.method = Method::GET;
        outgoing.headers.remove(CONTENT_TYPE);
    }
    // What one check does to a connection is not to be held against the next.
    outgoing.headers.insert(CONNECTION, HeaderValue::from_static("close"));
    Made { outgoing, hidden: marked.hidden }
}

/// The time as the service writes it, to the millisecond.
fn created_at(since: Duration) -> String {
    let nanos = i128::try_from(since.as_millis()).unwrap_or_default() * 1_000_000;
    Timestamp::from_unix_nanos(nanos).map_or_else(String::new, |time| time.to_string())
}
