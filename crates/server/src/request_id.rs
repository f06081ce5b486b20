//! Request ids: what a client quotes and the log is searched for.
//!
//! A submission that came by a request has the request's digits: `sub_…` for `req_…`. So whoever has one
//! of them has the other, and what became of the submission's deliveries, and nothing more is stored.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use formsvc_protocol::SubmissionId;
use http::HeaderValue;

const PREFIX: &str = "req_";
const DIGITS: usize = 32;
/// Set in what a process draws. Where it stands, ids that are made without a request, UUIDs of version 7,
/// have a 7 as their digit.
const OF_A_REQUEST: u32 = 1 << 31;

/// The id of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestId([u8; 16]);

impl RequestId {
    /// Reads an id as the header and the log have it; `None` for what is none of ours.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX).filter(|digits| digits.len() == DIGITS)?;
        let submission = SubmissionId::new(&[SubmissionId::PREFIX, digits].concat()).ok()?;
        Self::of_submission(&submission)
    }

    /// The id of the submission that the request makes, if it makes one.
    pub fn submission(self) -> SubmissionId {
        SubmissionId::from_bits(self.0)
    }

    /// The request that made a submission; `None` when none did.
    pub fn of_submission(id: &SubmissionId) -> Option<Self> {
        let bits = id.to_bits()?;
        (bits[6] & 0x80 != 0).then_some(Self(bits))
    }

    /// Its digits, as bits.
    #[cfg(feature = "otel")]
    pub(crate) fn bits(self) -> [u8; 16] {
        self.0
    }

    /// As it goes into the header.
    pub(crate) fn header(self) -> HeaderValue {
        let mut text = Vec::with_capacity(PREFIX.len() + DIGITS);
        text.extend_from_slice(PREFIX.as_bytes());
        text.resize(PREFIX.len() + DIGITS, 0);
        hex::encode_to_slice(self.0, &mut text[PREFIX.len()..]).expect("two digits a byte");
        HeaderValue::from_maybe_shared(Bytes::from(text)).expect("hex digits can stand in a header")
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        f.write_str(&hex::encode(self.0))
    }
}

/// Makes request ids: `req_`, then 12 hex digits of Unix milliseconds, 8 that are drawn once per
/// process, the first of them 8 or more, and 12 that count up.
///
/// They sort by time and repeat in no process and, but for one chance in two billion, between no
/// two. They are names, not secrets. A client's own `X-Request-Id` is ignored: it could repeat, or
/// be made to look like another's.
#[derive(Debug)]
pub(crate) struct RequestIds {
    process: u32,
    next: AtomicU64,
}

impl RequestIds {
    /// Ids that begin with a fresh draw.
    pub(crate) fn new() -> Self {
        // The standard library seeds this from the system; ids need no better randomness.
        let drawn = RandomState::new().hash_one(std::process::id());
        let process = u32::try_from(drawn >> 32).unwrap_or_default() | OF_A_REQUEST;
        Self { process, next: AtomicU64::new(0) }
    }

    /// The next id.
    pub(crate) fn next(&self) -> RequestId {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let millis = now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX));
        let count = self.next.fetch_add(1, Ordering::Relaxed);
        let mut bits = [0; 16];
        // The last six bytes of each, which are all for some thousand years, and longer.
        bits[..6].copy_from_slice(&millis.to_be_bytes()[2..]);
        bits[6..10].copy_from_slice(&self.process.to_be_bytes());
        bits[10..].copy_from_slice(&count.to_be_bytes()[2..]);
        RequestId(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_distinct_and_sort_by_time() {
        let ids = RequestIds::new();
        let made: Vec<_> = (0..1000).map(|_| ids.next().to_string()).collect();
        assert!(made.is_sorted_by(|a, b| a < b));
        for id in made {
            let digits = id.strip_prefix("req_").unwrap();
            assert!(digits.len() == 32 && digits.bytes().all(|b| b.is_ascii_hexdigit()), "{id}");
        }
    }

    #[test]
    fn two_processes_draw_differently() {
        assert_ne!(RequestIds::new().process, RequestIds::new().process);
    }

    #[test]
    fn a_request_and_its_submission_name_each_other() {
        let id = RequestIds::new().next();
        assert_eq!(RequestId::of_submission(&id.submission()), Some(id));
        assert_eq!(RequestId::parse(&id.to_string()), Some(id));
        assert_eq!(id.header(), id.to_string());
        assert_eq!(id.submission().as_str()[4..], id.to_string()[4..]);
    }

    #[test]
    fn what_no_request_made_names_none() {
        for _ in 0..100 {
            let id = SubmissionId::from_bits(crate::admin::new_id());
            assert_eq!(RequestId::of_submission(&id), None, "{id}");
        }
        assert_eq!(RequestId::of_submission(&SubmissionId::new("42").unwrap()), None);
        let id = RequestIds::new().next().to_string();
        for text in ["", "req_", &id[..35], &id.to_uppercase(), &id.replace("req", "sub")] {
            assert_eq!(RequestId::parse(text), None, "{text}");
        }
    }
}
