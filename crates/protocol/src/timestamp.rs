//! Times as resources show them.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::FormInstant;
use crate::rfc3339::TimeError;

/// A time on the wire (SPEC §2): `YYYY-MM-DDThh:mm:ss.sssZ`, kept as the text it arrived in.
///
/// Ordered and compared by the instant it means, to the microsecond.
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

    /// The text, unchanged.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Microseconds since 1970-01-01T00:00:00Z; a finer fraction is cut.
    pub fn unix_micros(&self) -> i64 {
        self.instant.micros()
    }

    /// What [`unix_micros`](Self::unix_micros) of a text would be, without keeping the text: for
    /// whoever checks many.
    ///
    /// ```
    /// use formsvc_protocol::Timestamp;
    /// assert_eq!(Timestamp::micros_of("1970-01-01T00:00:00.001Z"), Ok(1_000));
    /// assert!(Timestamp::micros_of("1970-01-01").is_err());
    /// ```
    pub fn micros_of(text: &str) -> Result<i64, TimeError> {
        FormInstant::parse_floor(text).map(FormInstant::micros)
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
