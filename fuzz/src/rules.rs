//! The rules of ids and times (SPEC §2), read another way.

use chrono::DateTime;

/// Nanoseconds since 1970 of a time on the wire, as chrono reads it, where the shape is the one that
/// the wire has: chrono takes a space for the `T`, more than 9 digits of a fraction, and a minus sign
/// that is not ASCII.
pub fn nanos(text: &str) -> Option<i128> {
    let fraction = text.get(19..)?.strip_prefix('.').unwrap_or_default();
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    let shape_holds = text.is_ascii() && !text.contains(' ') && digits <= 9;
    let time = DateTime::parse_from_rfc3339(text).ok().filter(|_| shape_holds)?;
    Some(i128::from(time.timestamp()) * 1_000_000_000 + i128::from(time.timestamp_subsec_nanos()))
}

/// Whether a text can be an id.
pub fn is_id(text: &str) -> bool {
    !text.is_empty() && !text.as_bytes().contains(&0)
}
