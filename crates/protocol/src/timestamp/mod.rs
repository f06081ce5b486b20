//! Times of resources, as the wire shows them, and form instants, which order submissions.

#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
mod conversions;
mod instant;

use jiff::SignedDuration;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::rfc3339::{self, TimeError};

#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
pub use conversions::OutOfRange;
pub use instant::FormInstant;

/// A time on the wire (SPEC §2): `YYYY-MM-DDThh:mm:ss.sssZ`, kept as the text it arrived in.
///
/// Comparison, order and hash use the instant, to the microsecond, not the text.
///
/// ```
/// use formsvc_protocol::Timestamp;
/// let t: Timestamp = "2026-01-31T09:30:00.120Z".parse()?;
/// assert_eq!(t.as_str(), "2026-01-31T09:30:00.120Z");
/// assert_eq!(t.unix_micros(), 1_769_851_800_120_000);
/// # Ok::<(), formsvc_protocol::TimeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Timestamp {
    text: Box<str>,
    instant: FormInstant,
}

impl Timestamp {
    pub(crate) fn from_parts(text: String, instant: FormInstant) -> Self {
        Self { text: text.into(), instant }
    }

    /// Returns the current time of the system's clock, in milliseconds.
    pub fn now() -> Self {
        FormInstant::from_micros(jiff::Timestamp::now().as_microsecond()).to_timestamp()
    }

    /// Returns the text, unchanged.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns microseconds since 1970-01-01T00:00:00Z; a finer fraction is cut.
    pub fn unix_micros(&self) -> i64 {
        self.instant.micros()
    }

    /// Returns nanoseconds since 1970-01-01T00:00:00Z.
    ///
    /// ```
    /// use formsvc_protocol::Timestamp;
    /// let t: Timestamp = "1970-01-01T00:00:00.000000001Z".parse()?;
    /// assert_eq!((t.unix_nanos(), t.unix_micros()), (1, 0));
    /// # Ok::<(), formsvc_protocol::TimeError>(())
    /// ```
    pub fn unix_nanos(&self) -> i128 {
        rfc3339::parse_nanos(&self.text).expect("the text was parsed before")
    }

    /// Creates a time from nanoseconds since 1970, with as many fraction digits as it needs: 3, 6
    /// or 9. Returns `None` outside the years 0 to 9999.
    ///
    /// ```
    /// use formsvc_protocol::Timestamp;
    /// let text = |nanos| Timestamp::from_unix_nanos(nanos).map(|time| time.to_string());
    /// assert_eq!(text(1_000_000).as_deref(), Some("1970-01-01T00:00:00.001Z"));
    /// assert_eq!(text(1_000).as_deref(), Some("1970-01-01T00:00:00.000001Z"));
    /// assert_eq!(text(i128::MAX), None);
    /// ```
    pub fn from_unix_nanos(nanos: i128) -> Option<Self> {
        let digits = match nanos {
            _ if nanos.rem_euclid(1_000_000) == 0 => 3,
            _ if nanos.rem_euclid(1_000) == 0 => 6,
            _ => 9,
        };
        let secs = i64::try_from(nanos.div_euclid(1_000_000_000)).ok()?;
        let rest = i32::try_from(nanos.rem_euclid(1_000_000_000)).expect("below 10⁹");
        rfc3339::format(SignedDuration::new(secs, rest), digits)?.parse().ok()
    }
}

impl std::str::FromStr for Timestamp {
    type Err = TimeError;
    fn from_str(text: &str) -> Result<Self, TimeError> {
        Ok(Self { text: text.into(), instant: FormInstant::parse_floor(text)? })
    }
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for Timestamp {
    fn eq(&self, other: &Self) -> bool {
        self.instant == other.instant
    }
}

impl Eq for Timestamp {}

impl PartialOrd for Timestamp {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timestamp {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.instant.cmp(&other.instant)
    }
}

impl std::hash::Hash for Timestamp {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.instant.hash(state);
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
