//! The state between two runs of a sync, and the decisions of a run. Pure, except for the file that
//! keeps the state.

use std::collections::HashSet;

use formsvc_protocol::{FormId, Submission, Timestamp};
use serde::{Deserialize, Serialize};

use super::ResumeToken;
use super::overlap::{MAX_ROWS, Mark, OverlapRow};
use super::sealed_text::{ListId, sealed_text};
use crate::Client;
use crate::completeness::Completeness;

/// The position up to which the submissions of a form were read: the state between two runs of
/// [`SubmissionQuery::sync_from`](super::SubmissionQuery::sync_from).
///
/// Contains hashes of the ids of the submissions that were younger than 5 minutes when they were read (at
/// most 10,000), and the position of an interrupted walk. The time of the reading is
/// [`SubmissionPages::first_read_at`](super::SubmissionPages::first_read_at). If a clock is set back, the
/// stored times stay as they are.
///
/// The text is one line of visible ASCII with a checksum, which detects damage. It is no signature:
/// a text that was changed on purpose can be valid. A point of another form or another service is
/// refused. The text contains no API key and no answers.
///
/// ```no_run
/// # async fn example(client: formsvc_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use formsvc_client::SyncPoint;
/// let point = SyncPoint::load_if_exists("contact.sync")?.unwrap_or_default();
/// let mut new = client.form("frm_1").submissions().sync_from(&point);
/// while let Some(submission) = new.try_next().await? {
///     println!("{}", submission.id);
/// }
/// new.sync_point().save("contact.sync")?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncPoint(Content);

sealed_text!(SyncPoint, SyncPointError, "fsp2_", "sync point");

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Content {
    /// `None` until the first run.
    list: Option<ListId>,
    complete: Option<Mark>,
    unfinished: Option<Unfinished>,
}

/// A walk that has not reached the complete range yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Unfinished {
    token: ResumeToken,
    head: Mark,
}

impl SyncPoint {
    /// Creates the point of a form of which nothing was read yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the form; `None` before the first run.
    pub fn form_id(&self) -> Option<&FormId> {
        self.0.list.as_ref()?.form.as_ref()
    }

    /// Returns the point for the same form after the service moved to the base URL of this client. The
    /// service must still have the same submissions, with the same ids and times.
    #[must_use]
    pub fn rebind(mut self, client: &Client) -> Self {
        if let Some(list) = &mut self.0.list {
            list.rebind(client);
        }
        if let Some(unfinished) = &mut self.0.unfinished {
            unfinished.token = unfinished.token.clone().rebind(client);
        }
        self
    }

    /// Returns an error that names both lists if the point is for another one.
    pub(super) fn check(&self, list: &ListId) -> Result<(), String> {
        self.0.list.as_ref().map_or(Ok(()), |own| own.check(list, "sync point"))
    }

    /// Creates the point of a form of which all submissions before this time were read.
    pub(super) fn since(time: &Timestamp) -> Self {
        let micros = time.unix_micros();
        let mark =
            Mark { newest: micros, settled: micros, overlap_start: micros, rows: Vec::new() };
        Self(Content { complete: Some(mark), ..Content::default() })
    }

    /// Returns true if a walk was interrupted. The next run finishes it first.
    pub fn is_unfinished(&self) -> bool {
        self.0.unfinished.is_some()
    }
}

/// The next walk of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NextWalk {
    /// Continue the interrupted walk.
    Resume(ResumeToken),
    /// Start at the newest row.
    Newest,
    /// The interrupted walk, if any, and the walk from the newest row are finished.
    None,
}

/// The decisions of one run: the next walk, its end, and which of its rows are new.
#[derive(Debug)]
pub(super) struct SyncRun {
    list: Option<ListId>,
    complete: Option<Mark>,
    /// The rows of the complete range's overlap.
    known: HashSet<OverlapRow>,
    /// Mark of the current or interrupted walk; `None` before its first row.
    head: Option<Mark>,
    next: NextWalk,
}

impl SyncRun {
    /// Starts a run of this list. Without one, its point stays as it is.
    pub(super) fn start(point: SyncPoint, list: Option<ListId>) -> Self {
        let Content { list: known, complete, unfinished } = point.0;
        let (head, next) = match unfinished {
            Some(Unfinished { token, head }) => (Some(head), NextWalk::Resume(token)),
            None => (None, NextWalk::Newest),
        };
        let list = list.or(known);
        let mut run = Self { list, complete: None, known: HashSet::new(), head, next };
        run.set_complete(complete);
        run
    }

    fn set_complete(&mut self, complete: Option<Mark>) {
        self.known = complete.iter().flat_map(|mark| &mark.rows).copied().collect();
        self.complete = complete;
    }

    pub(super) fn next_walk(&self) -> &NextWalk {
        &self.next
    }

    /// Returns the completeness of the walk to resume.
    pub(super) fn completeness(&self) -> Completeness {
        match &self.next {
            NextWalk::Resume(token) => token.completeness(),
            NextWalk::Newest | NextWalk::None => Completeness::Proven,
        }
    }

    /// Returns the oldest time that a walk reads: it ends at the first older row. `None` reads to the end
    /// of the list.
    pub(super) fn lower_bound(&self) -> Option<Timestamp> {
        self.complete.as_ref().and_then(|mark| time(mark.overlap_start))
    }

    /// Returns the oldest time of a walk that reads the short overlap.
    pub(super) fn short_lower_bound(&self) -> Option<Timestamp> {
        let mark = self.complete.as_ref()?;
        time(mark.overlap_start.max(mark.short_overlap_start()))
    }

    /// Returns the time at which a walk was read, in microseconds since 1970.
    fn read_at(&self, read_at: Option<&Timestamp>) -> i64 {
        // If the clock was set back, the known newest time is later. Its ids belong to its time.
        let known = self.complete.as_ref().map(|mark| mark.newest);
        known.max(read_at.map(Timestamp::unix_micros)).unwrap_or(i64::MIN)
    }

    /// Records a row of the walk whose first page was read at `read_at`. Returns false for a row of an
    /// earlier run.
    pub(super) fn accept(&mut self, row: &Submission, read_at: Option<&Timestamp>) -> bool {
        let (time, read_at) = (row.created_at.unix_micros(), self.read_at(read_at));
        self.head.get_or_insert_with(|| Mark::new(time, read_at)).add(&row.id, time);
        !self.is_known(row)
    }

    /// Returns true for a row of the overlap.
    pub(super) fn is_known(&self, row: &Submission) -> bool {
        self.known.contains(&OverlapRow::new(&row.id, row.created_at.unix_micros()))
    }

    /// Records a row that counts as read before the run. Returns false if no older row has to be recorded.
    pub(super) fn add_known(&mut self, row: &Submission, read_at: Option<&Timestamp>) -> bool {
        self.accept(row, read_at);
        let start = self.head.as_ref().map_or(i64::MIN, |head| head.overlap_start);
        row.created_at.unix_micros() >= start
    }

    /// Records a row of a walk whose rows are yielded oldest first: all older ones were yielded. `is_full` is
    /// whether the walk reads the whole overlap; then the overlap's start moves forward, to this row at most.
    pub(super) fn cover(&mut self, row: &Submission, read_at: Option<&Timestamp>, is_full: bool) {
        let (time, read_at) = (row.created_at.unix_micros(), self.read_at(read_at));
        let mark = self.complete.get_or_insert_with(|| Mark::new(time, read_at));
        mark.newest = mark.newest.max(time.min(read_at));
        if is_full {
            mark.settle(time, read_at);
        }
        let row = OverlapRow::new(&row.id, time);
        mark.rows.push(row);
        self.known.insert(row);
        // Not after each row, because it takes time in proportion to the rows.
        if mark.rows.len() > MAX_ROWS && mark.rows.len().is_multiple_of(1_000) {
            mark.prune(time);
            self.known = mark.rows.iter().copied().collect();
        }
    }

    /// Records that all rows of a walk that read the whole overlap were covered. Returns true if the overlap
    /// is shorter than 5 minutes because it contains too many rows.
    pub(super) fn settle(&mut self, read_at: Option<&Timestamp>) -> bool {
        let read_at = self.read_at(read_at);
        let Some(mut mark) = self.complete.take() else { return false };
        let known_start = mark.overlap_start;
        mark.settle(mark.newest, read_at);
        mark.prune(i64::MAX);
        let is_shortened = mark.is_shortened() && mark.overlap_start != known_start;
        self.set_complete(Some(mark));
        is_shortened
    }

    /// Records the end of the walk. Returns true if it left an overlap that is shorter than 5 minutes
    /// because it contains too many rows.
    pub(super) fn finish_walk(&mut self) -> bool {
        let mut is_shortened = false;
        if let Some(head) = self.head.take() {
            let known_start = self.complete.as_ref().map(|mark| mark.overlap_start);
            let joined = head.join(self.complete.take());
            is_shortened = joined.is_shortened() && known_start != Some(joined.overlap_start);
            self.set_complete(Some(joined));
        }
        self.next = match self.next {
            NextWalk::Resume(_) => NextWalk::Newest,
            NextWalk::Newest | NextWalk::None => NextWalk::None,
        };
        is_shortened
    }

    /// Returns the point after the rows accepted so far. `token` is the position of the current
    /// walk; without it, the point is the state before the next walk starts.
    pub(super) fn point(&self, token: Option<ResumeToken>) -> SyncPoint {
        let token = token.or_else(|| match &self.next {
            NextWalk::Resume(token) => Some(token.clone()),
            NextWalk::Newest | NextWalk::None => None,
        });
        let unfinished =
            token.zip(self.head.clone()).map(|(token, head)| Unfinished { token, head });
        SyncPoint(Content { list: self.list.clone(), complete: self.complete.clone(), unfinished })
    }
}

fn time(micros: i64) -> Option<Timestamp> {
    Timestamp::from_unix_nanos(i128::from(micros) * 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paging::overlap::tests::mark;

    #[test]
    fn overlap_shortened_by_the_joined_walks_is_reported() {
        let older = mark((0..9).map(|n| (MAX_ROWS + n, -1)));
        let point = SyncPoint(Content { complete: Some(older), ..Content::default() });
        let mut run = SyncRun::start(point, None);
        run.head = Some(mark((0..MAX_ROWS).map(|n| (n, 0))));
        assert!(!run.head.as_ref().unwrap().is_shortened());
        assert!(run.finish_walk());
        // A walk without new rows reports it no second time.
        run.head = run.complete.clone();
        assert!(run.complete.as_ref().unwrap().is_shortened() && !run.finish_walk());
    }

    #[test]
    fn clock_that_goes_back_changes_no_mark() {
        let known = mark([(2, 2_000_000_000), (1, 1_900_000_000)]);
        let point = SyncPoint(Content { complete: Some(known.clone()), ..Content::default() });
        let mut run = SyncRun::start(point, None);
        let row =
            serde_json::from_str(r#"{"id":"sub_3","data":{},"created_at":"1970-01-01T00:33:21Z"}"#);
        assert!(run.accept(&row.unwrap(), Timestamp::from_unix_nanos(0).as_ref()));
        assert_eq!(run.head.as_ref().unwrap().newest, known.newest);
        assert!(!run.finish_walk());
        let complete = run.complete.unwrap();
        assert_eq!((complete.newest, complete.settled), (known.newest, known.settled));
    }
}
