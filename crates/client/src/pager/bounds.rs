//! Where a list ends before the service's does, and which rows it leaves out. Pure; times and rows
//! go in, a cut comes out.

use std::fmt;
use std::sync::Arc;

use formsvc_protocol::Timestamp;

use super::Row;

type StopWhen = Arc<dyn Fn(Row<'_>) -> bool + Send + Sync>;

/// The bounds of a list; by default none.
#[derive(Clone, Default)]
pub(super) struct Bounds {
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    stop_when: Option<StopWhen>,
}

/// What the bounds make of the rows of one page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cut {
    /// Rows at the front that are too new: walked over, but not handed on.
    pub(super) skipped: usize,
    /// Rows to keep, from the first, the skipped ones included.
    pub(super) kept: usize,
    /// Whether the list ends after them.
    pub(super) ended: bool,
}

impl Bounds {
    pub(super) fn since(&mut self, time: Timestamp) {
        self.since = Some(time);
    }

    pub(super) fn until(&mut self, time: Timestamp) {
        self.until = Some(time);
    }

    pub(super) fn stop_when(&mut self, stop: impl Fn(Row<'_>) -> bool + Send + Sync + 'static) {
        self.stop_when = Some(Arc::new(stop));
    }

    /// Says what is wrong when no time can lie within.
    pub(super) fn check(&self) -> Result<(), String> {
        match (&self.since, &self.until) {
            (Some(since), Some(until)) if since >= until => {
                Err(format!("`since` is `{since}`, which is not before `until`, `{until}`"))
            }
            _ => Ok(()),
        }
    }

    /// Looks at the rows of a page in their order, newest first, up to the one that ends the list.
    pub(super) fn cut<'p>(&self, rows: impl ExactSizeIterator<Item = Row<'p>>) -> Cut {
        let (since, until) = (micros(self.since.as_ref()), micros(self.until.as_ref()));
        let mut cut = Cut::default();
        if since.is_none() && until.is_none() && self.stop_when.is_none() {
            return Cut { kept: rows.len(), ..cut };
        }
        for row in rows {
            let time = row.unix_micros();
            if since.is_some_and(|since| time < since)
                || self.stop_when.as_ref().is_some_and(|stop| stop(row))
            {
                cut.ended = true;
                break;
            }
            cut.kept += 1;
            if until.is_some_and(|until| time >= until) {
                cut.skipped = cut.kept;
            }
        }
        cut
    }
}

fn micros(time: Option<&Timestamp>) -> Option<i64> {
    time.map(Timestamp::unix_micros)
}

impl fmt::Debug for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bounds")
            .field("since", &self.since)
            .field("until", &self.until)
            .field("stop_when", &self.stop_when.is_some())
            .finish()
    }
}
