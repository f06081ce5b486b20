//! Conversions between [`Timestamp`] and the instants of jiff, chrono and time, exact to the
//! nanosecond. The text of a timestamp may be normalised (`+00:00` to `Z`, `.12` to `.120`).

use super::Timestamp;
use crate::error_text::error_text;

/// The instant is outside the range of the target type: the years 0 to 9999 for a timestamp; jiff's
/// range ends some hours before the year 9999 does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfRange(());

error_text!(OutOfRange, |_| "the instant is out of range");

fn from_nanos(nanos: i128) -> Result<Timestamp, OutOfRange> {
    Timestamp::from_unix_nanos(nanos).ok_or(OutOfRange(()))
}

#[cfg(feature = "jiff")]
impl TryFrom<&Timestamp> for jiff::Timestamp {
    type Error = OutOfRange;
    fn try_from(time: &Timestamp) -> Result<Self, OutOfRange> {
        Self::from_nanosecond(time.unix_nanos()).map_err(|_| OutOfRange(()))
    }
}

#[cfg(feature = "jiff")]
impl TryFrom<jiff::Timestamp> for Timestamp {
    type Error = OutOfRange;
    fn try_from(time: jiff::Timestamp) -> Result<Self, OutOfRange> {
        from_nanos(time.as_nanosecond())
    }
}

#[cfg(feature = "chrono")]
impl From<&Timestamp> for chrono::DateTime<chrono::Utc> {
    fn from(time: &Timestamp) -> Self {
        let nanos = time.unix_nanos();
        let secs = i64::try_from(nanos.div_euclid(1_000_000_000));
        let rest = u32::try_from(nanos.rem_euclid(1_000_000_000)).expect("below 10⁹");
        secs.ok()
            .and_then(|secs| Self::from_timestamp(secs, rest))
            .expect("chrono's years go far beyond 0 to 9999")
    }
}

/// A leap second becomes the second after it.
#[cfg(feature = "chrono")]
impl<Z: chrono::TimeZone> TryFrom<chrono::DateTime<Z>> for Timestamp {
    type Error = OutOfRange;
    fn try_from(time: chrono::DateTime<Z>) -> Result<Self, OutOfRange> {
        let rest = i128::from(time.timestamp_subsec_nanos());
        from_nanos(i128::from(time.timestamp()) * 1_000_000_000 + rest)
    }
}

#[cfg(feature = "time")]
impl From<&Timestamp> for time::OffsetDateTime {
    fn from(time: &Timestamp) -> Self {
        Self::from_unix_timestamp_nanos(time.unix_nanos())
            .expect("the years of `time` go from -9999 to 9999")
    }
}

#[cfg(feature = "time")]
impl TryFrom<time::OffsetDateTime> for Timestamp {
    type Error = OutOfRange;
    fn try_from(time: time::OffsetDateTime) -> Result<Self, OutOfRange> {
        from_nanos(time.unix_timestamp_nanos())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Converts the time to each crate's type and back.
    fn through_every_crate(time: &Timestamp) -> Vec<Timestamp> {
        let mut back = vec![Timestamp::from_unix_nanos(time.unix_nanos()).unwrap()];
        #[cfg(feature = "jiff")]
        if let Ok(theirs) = jiff::Timestamp::try_from(time) {
            back.push(theirs.try_into().unwrap());
        }
        #[cfg(feature = "chrono")]
        {
            let theirs = chrono::DateTime::<chrono::Utc>::from(time);
            back.push(theirs.try_into().unwrap());
            let east = chrono::FixedOffset::east_opt(7_200).unwrap();
            back.push(theirs.with_timezone(&east).try_into().unwrap());
        }
        #[cfg(feature = "time")]
        back.push(time::OffsetDateTime::from(time).try_into().unwrap());
        back
    }

    proptest! {
        #[test]
        fn instant_survives_each_conversion(
            nanos in -62_167_219_200_000_000_000_i128..253_402_300_800_000_000_000,
            cut in prop::sample::select(vec![1_i128, 1_000, 1_000_000]),
        ) {
            let nanos = nanos - nanos.rem_euclid(cut);
            let time = Timestamp::from_unix_nanos(nanos).unwrap();
            prop_assert_eq!(time.unix_nanos(), nanos);
            for back in through_every_crate(&time) {
                prop_assert_eq!(back.as_str(), time.as_str());
            }
        }
    }

    #[cfg(feature = "jiff")]
    #[test]
    fn instant_outside_years_0_to_9999_is_refused() {
        let error = Timestamp::try_from(jiff::Timestamp::MIN).unwrap_err();
        assert_eq!(error.to_string(), "the instant is out of range");
        let late: Timestamp = "9999-12-31T23:59:59.999Z".parse().unwrap();
        assert_eq!(jiff::Timestamp::try_from(&late), Err(error));
        // An offset can move an instant out of the years 0 to 9999; it still converts.
        let early: Timestamp = "0000-01-01T00:00:00+01:00".parse().unwrap();
        assert_eq!(jiff::Timestamp::try_from(&early).unwrap().as_second(), -62_167_222_800);
        #[cfg(feature = "chrono")]
        assert_eq!(chrono::DateTime::from(&early).timestamp(), -62_167_222_800);
        #[cfg(feature = "time")]
        assert_eq!(time::OffsetDateTime::from(&early).year(), -1);
    }
}
