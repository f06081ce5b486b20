//! The one form of time that pages are full of, read without a detour: every row of every page has
//! one.

/// Where the digits of `YYYY-MM-DDThh:mm:ss.sssZ` stand, and the marks between them.
const DIGITS: [usize; 17] = [0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18, 20, 21, 22];
const MARKS: [(usize, u8); 7] =
    [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'.'), (23, b'Z')];

/// Microseconds since 1970 of a time in the exact form `YYYY-MM-DDThh:mm:ss.sssZ` (SPEC §2);
/// `None` for every other form, valid or not, and for a leap second.
pub(super) fn micros(text: &str) -> Option<i64> {
    let text: &[u8; 24] = text.as_bytes().try_into().ok()?;
    // Every digit is looked at whatever the others are, which saves the branches.
    let shaped = DIGITS.iter().fold(true, |all, at| all & text[*at].is_ascii_digit())
        && MARKS.iter().all(|(at, mark)| text[*at] == *mark);
    if !shaped {
        return None;
    }
    let one = |at: usize| i64::from(text[at] - b'0');
    let two = |at: usize| one(at) * 10 + one(at + 1);
    let (year, month, day) = (two(0) * 100 + two(2), two(5), two(8));
    let (hour, minute, second) = (two(11), two(14), two(17));
    let milli = two(20) * 10 + one(22);
    if !(1..=12).contains(&month) || day < 1 || day > days_in(year, month) {
        return None;
    }
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    Some((seconds * 1_000 + milli) * 1_000)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01. Years begin in March here, so that the leap day comes last and month
/// lengths follow one formula.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let in_year = (153 * month + 2) / 5 + day - 1;
    // 719 468 days lie between 0000-03-01 and 1970-01-01.
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + in_year
        - 719_468
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::parse_slowly;
    use super::*;

    fn slowly(text: &str) -> Option<i64> {
        let nanos = parse_slowly(text.as_bytes())?.as_nanos();
        i64::try_from(nanos / 1_000).ok()
    }

    proptest! {
        #[test]
        fn it_agrees_with_the_general_reader_or_leaves_it_the_text(
            text in "[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9]\\.[0-9]{3}Z",
        ) {
            let expected = if text[17..19] == *"60" { None } else { slowly(&text) };
            prop_assert_eq!(micros(&text), expected);
        }

        #[test]
        fn it_reads_every_millisecond_as_jiff_does(
            millis in -62_167_219_200_000_i64..=253_402_207_199_999,
        ) {
            let time = jiff::Timestamp::from_millisecond(millis).unwrap();
            prop_assert_eq!(micros(&format!("{time:.3}")), Some(millis * 1_000));
        }
    }

    #[test]
    fn it_knows_the_days_of_every_month() {
        for year in ["1900", "1996", "2000", "2026"] {
            for month in 0..=13 {
                for day in 0..=32 {
                    let text = format!("{year}-{month:02}-{day:02}T12:00:00.000Z");
                    assert_eq!(micros(&text), slowly(&text), "{text}");
                }
            }
        }
    }

    #[test]
    fn every_other_form_is_left_to_the_general_reader() {
        for text in [
            "2026-01-01T00:00:00Z",
            "2026-01-01T00:00:00.000000Z",
            "2026-01-01t00:00:00.000Z",
            "2026-01-01T00:00:00.000z",
            "2026-01-01T00:00:00.0+0Z",
            "",
        ] {
            assert_eq!(micros(text), None, "{text}");
        }
        assert_eq!(micros("1970-01-01T00:00:00.001Z"), Some(1_000));
        assert_eq!(micros("2000-02-29T00:00:00.000Z"), Some(951_782_400_000_000));
    }
}
