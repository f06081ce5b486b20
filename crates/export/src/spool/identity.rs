//! The identity of an export, which decides when its spool is complete.

use serde::Serialize;

use crate::store::RowRange;

/// Version of [`SpoolIdentity`].
const VERSION: u32 = 1;

/// Which submissions an export of a form selects, stored as JSON in its spool. An export completes the
/// spool of an earlier one with the same identity.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SpoolIdentity {
    version: u32,
    /// The caller's name of a start that moves with the clock, such as `7d`.
    start_name: Option<String>,
    /// The start without such a name, in microseconds since 1970.
    since: Option<i64>,
    until: Option<i64>,
    limit: Option<u64>,
}

impl SpoolIdentity {
    pub(crate) fn new(range: RowRange, start_name: Option<String>, limit: Option<u64>) -> Self {
        let since = Some(range.since).filter(|since| *since > i64::MIN && start_name.is_none());
        let until = Some(range.until).filter(|until| *until < i64::MAX);
        Self { version: VERSION, start_name, since, until, limit }
    }

    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("numbers and texts are valid JSON")
    }
}
