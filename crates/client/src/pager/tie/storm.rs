//! More rows in one millisecond than can be told apart.

use formsvc_protocol::{FormInstant, Timestamp};

/// What a [tie-safe](crate::ListSubmissions::tie_safe) list does at a tie storm: where rows of one
/// millisecond fill a page, and the service's cursor cannot tell them apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnTieStorm {
    /// Ends the list with an [`ErrorKind::TieStorm`](crate::ErrorKind::TieStorm).
    #[default]
    Fail,
    /// Goes on below the millisecond, tells an
    /// [`Event::TieStorm`](crate::Event::TieStorm), and adds the millisecond to the list's
    /// [`tie_storms`](crate::SubmissionPages::tie_storms).
    Report,
}

/// A millisecond whose submissions could not be proven complete.
#[derive(Clone, Debug, PartialEq)]
pub struct TieStorm {
    created_at: Timestamp,
    rows: u64,
}

impl TieStorm {
    /// The millisecond: the `created_at` of its submissions.
    pub fn created_at(&self) -> &Timestamp {
        &self.created_at
    }

    /// Submissions of it that this list handed on; those handed on before a resume do not count.
    pub fn rows(&self) -> u64 {
        self.rows
    }
}

/// The same as numbers: the millisecond since 1970 and the rows handed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Storm {
    pub(crate) ms: i64,
    pub(crate) rows: u64,
}

impl From<Storm> for TieStorm {
    fn from(storm: Storm) -> Self {
        let instant = FormInstant::from_micros(storm.ms.saturating_mul(1_000));
        Self { created_at: instant.to_timestamp(), rows: storm.rows }
    }
}
