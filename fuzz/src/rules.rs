//! Reference implementation of the rules for ids and times (SPEC §2).

use chrono::DateTime;

/// Parses a time with chrono. Returns nanoseconds since 1970. Refuses forms that only chrono accepts: a
/// space instead of `T`, more than 9 digits of a fraction, and a minus sign that is not ASCII.
pub fn nanos(text: &str) -> Option<i128> {
    let fraction = text.get(19..)?.strip_prefix('.').unwrap_or_default();
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    let shape_holds = text.is_ascii() && !text.contains(' ') && digits <= 9;
    let time = DateTime::parse_from_rfc3339(text).ok().filter(|_| shape_holds)?;
    Some(i128::from(time.timestamp()) * 1_000_000_000 + i128::from(time.timestamp_subsec_nanos()))
}

/// Returns true if a text is a valid id.
pub fn is_id(text: &str) -> bool {
    !text.is_empty() && !text.as_bytes().contains(&0)
}
