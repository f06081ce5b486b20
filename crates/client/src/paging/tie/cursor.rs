//! Cursors as instants, and cursors in the service's format.

use formsvc_protocol::{Cursor, FormInstant};

/// Returns the time of a cursor in microseconds since 1970; `None` if it is not a time.
pub(super) fn instant_of(cursor: &Cursor) -> Option<i64> {
    FormInstant::parse_cursor(cursor.as_str()).ok().map(FormInstant::micros)
}

/// Formats `instant` like the service's cursor, because some services accept only their own format. It
/// has as many fraction digits as the service's cursor, or more if `instant` needs them. The zone is
/// UTC: `+00:00` if the service writes that, else `Z`.
pub(super) fn cursor_like(service: &Cursor, instant: FormInstant) -> Cursor {
    let usual = instant.to_cursor();
    let Some((seconds, fraction)) = usual.as_str().trim_end_matches('Z').split_once('.') else {
        return usual;
    };
    let service = service.as_str();
    let digits = service
        .rsplit_once('.')
        .map_or(0, |(_, rest)| rest.bytes().take_while(u8::is_ascii_digit).count().min(9));
    let fraction = if fraction.bytes().all(|digit| digit == b'0') { "" } else { fraction };
    let zone = if service.ends_with("+00:00") { "+00:00" } else { "Z" };
    let digits = digits.max(fraction.len());
    let dot = if digits > 0 { "." } else { "" };
    Cursor::new(format!("{seconds}{dot}{fraction:0<digits$}{zone}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_cursor_keeps_the_format_of_the_service() {
        for (service, micros, own) in [
            ("2026-01-01T00:00:00Z", 1_000_000, "1970-01-01T00:00:01Z"),
            ("2026-01-01T00:00:00Z", 1_001_000, "1970-01-01T00:00:01.001Z"),
            ("2026-01-01T00:00:00.000Z", 1_000_000, "1970-01-01T00:00:01.000Z"),
            ("2026-01-01T00:00:00.000Z", 1_000_001, "1970-01-01T00:00:01.000001Z"),
            ("2026-01-01T00:00:00.000000+00:00", 2_000, "1970-01-01T00:00:00.002000+00:00"),
            ("2026-01-01T02:00:00+02:00", 2_000_000, "1970-01-01T00:00:02Z"),
        ] {
            let cursor = cursor_like(&Cursor::new(service), FormInstant::from_micros(micros));
            assert_eq!(cursor.as_str(), own);
            assert_eq!(instant_of(&cursor), Some(micros));
        }
    }
}
