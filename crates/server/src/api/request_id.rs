//! Request ids: what a client quotes and the log is searched for.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::HeaderValue;

/// Makes request ids: `req_`, then 12 hex digits of Unix milliseconds, 8 that are drawn once per
/// process, and 12 that count up.
///
/// They sort by time and repeat in no process and, but for one chance in four billion, between no
/// two. They are names, not secrets. A client's own `X-Request-Id` is ignored: it could repeat, or
/// be made to look like another's.
#[derive(Debug)]
pub(super) struct RequestIds {
    process: u32,
    next: AtomicU64,
}

impl RequestIds {
    /// Ids that begin with a fresh draw.
    pub(super) fn new() -> Self {
        // The standard library seeds this from the system; ids need no better randomness.
        let drawn = RandomState::new().hash_one(std::process::id());
        Self { process: u32::try_from(drawn >> 32).unwrap_or_default(), next: AtomicU64::new(0) }
    }

    /// The next id, as it goes into the header and the log.
    pub(super) fn next(&self) -> HeaderValue {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let millis = now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX));
        let mut id = Vec::with_capacity(36);
        id.extend_from_slice(b"req_");
        push_hex(&mut id, millis, 12);
        push_hex(&mut id, u64::from(self.process), 8);
        push_hex(&mut id, self.next.fetch_add(1, Ordering::Relaxed), 12);
        HeaderValue::from_maybe_shared(Bytes::from(id)).expect("hex digits can stand in a header")
    }
}

/// The last `digits` hex digits of a number.
fn push_hex(text: &mut Vec<u8>, number: u64, digits: u32) {
    for digit in (0..digits).rev() {
        let [.., byte] = (number >> (4 * digit)).to_be_bytes();
        text.push(b"0123456789abcdef"[usize::from(byte & 15)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_distinct_and_sort_by_time() {
        let ids = RequestIds::new();
        let made: Vec<_> = (0..1000).map(|_| ids.next().to_str().unwrap().to_owned()).collect();
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
}
