//! Fields that listeners, lists and pages tell alike.

use std::collections::BTreeMap;
use std::time::Duration;

use http::HeaderMap;

use super::mask;

/// Milliseconds, to the microsecond.
pub(crate) fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

/// All values of each header field, in order.
pub(crate) type Headers<'a> = BTreeMap<&'a str, Vec<String>>;

/// Header fields, masked unless everything is revealed.
pub(crate) fn headers(headers: &HeaderMap, reveal: bool) -> Headers<'_> {
    let mut shown = Headers::new();
    for (name, value) in headers {
        let value = if reveal { value.clone() } else { mask::value(name, value) };
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        shown.entry(name.as_str()).or_default().push(value);
    }
    shown
}
