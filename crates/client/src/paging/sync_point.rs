//! The state between two runs of a sync, and the decisions of a run. Pure, except for the file that
//! keeps the state.

use std::cmp::Reverse;
use std::collections::HashSet;

use formsvc_protocol::{FormId, Submission, SubmissionId, Timestamp};
use serde::{Deserialize, Serialize};

use super::ResumeToken;
use super::known_rows::RowKey;
use super::sealed_text::{ListId, sealed_text};
use crate::Client;
use crate::completeness::Completeness;

/// The longest delay between `created_at` and the commit of a row that a later run still finds, in
/// microseconds.
const OVERLAP_MICROS: i64 = 5 * 60 * 1_000_000;

/// The part of the overlap that a follow reads in each pass, and always keeps: this long before the newest row,
/// also if the times of the rows have nothing to do with the clock.
const SHORT_OVERLAP_MICROS: i64 = 10 * 1_000_000;

/// Maximum number of rows kept for the overlap.
const MAX_ROWS: usize = 10_000;

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

/// The upper end of a range of rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Mark {
    /// The time of the newest row, but not after the first page was read; in microseconds since 1970.
    newest: i64,
    /// 5 minutes before the first page was read, but not after `newest`: all rows before this time were
    /// committed.
    settled: i64,
    /// Start of the overlap: `settled`, or later if it has too many rows. All known rows at or after this
    /// time are in `rows`.
    overlap_start: i64,
    /// The rows of the overlap.
    #[serde(with = "packed")]
    rows: Vec<OverlapRow>,
}

/// A row of the overlap: the first 8 bytes of the SHA-256 of its id, and its time. Both are compared, so
/// that two different rows are equal in one of 2⁶⁴ cases, and only if they share a microsecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct OverlapRow(u64, i64);

impl OverlapRow {
    fn new(id: &SubmissionId, time: i64) -> Self {
        Self(RowKey::of_id(id.as_str()).first_8_bytes(), time)
    }

    fn time(self) -> i64 {
        self.1
    }
}

/// A walk that has not reached the complete range yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Unfinished {
    token: ResumeToken,
    head: Mark,
}

/// Rows as the base64url text of 16 bytes each.
mod packed {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use serde::{Deserialize, Deserializer, Serializer, de};

    use super::OverlapRow;

    pub(super) fn serialize<S: Serializer>(
        rows: &[OverlapRow],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let pack = |OverlapRow(id, time): &OverlapRow| [id.to_be_bytes(), time.to_be_bytes()];
        let bytes = rows.iter().flat_map(pack).flatten().collect::<Vec<u8>>();
        serializer.serialize_str(&URL_SAFE_NO_PAD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<OverlapRow>, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let bytes = URL_SAFE_NO_PAD.decode(&*text).map_err(de::Error::custom)?;
        let (words, rest) = bytes.as_chunks::<8>();
        let (rows, odd) = words.as_chunks::<2>();
        if !rest.is_empty() || !odd.is_empty() {
            return Err(de::Error::custom("a row has 16 bytes"));
        }
        let unpack = |[id, time]: &[[u8; 8]; 2]| {
            OverlapRow(u64::from_be_bytes(*id), i64::from_be_bytes(*time))
        };
        Ok(rows.iter().map(unpack).collect())
    }
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

impl Mark {
    /// Starts the mark of a walk at its first row. Without the limit `read_at`, a row dated in the future
    /// would make later runs skip all rows with earlier times.
    fn new(first_row: i64, read_at: i64) -> Self {
        let newest = first_row.min(read_at);
        let settled = newest.min(read_at.saturating_sub(OVERLAP_MICROS));
        Self { newest, settled, overlap_start: settled, rows: Vec::new() }
    }

    fn add(&mut self, id: &SubmissionId, time: i64) {
        if time >= self.overlap_start {
            self.rows.push(OverlapRow::new(id, time));
            self.shorten();
        }
    }

    /// Raises the start of the overlap until it contains at most [`MAX_ROWS`] rows. Rows with
    /// the same time are removed together, because a walk ends at a time and not between two rows.
    /// Rows after the newest time are always read again.
    fn shorten(&mut self) {
        if self.rows.len() > MAX_ROWS {
            self.rows.sort_by_key(|row| Reverse(row.time()));
            let dropped = self.rows[MAX_ROWS].time();
            self.rows.retain(|row| row.time() > dropped);
            self.overlap_start = dropped.min(self.newest).saturating_add(1);
        }
    }

    /// Joins the mark of a finished walk with the older range that the walk has reached.
    fn join(self, older: Option<Self>) -> Self {
        let Some(older) = older else { return self };
        let newest = self.newest.max(older.newest);
        let settled = self.settled.max(older.settled);
        let overlap_start = self.overlap_start.max(older.overlap_start);
        let mut seen = HashSet::new();
        let rows = self.rows.into_iter().chain(older.rows);
        let rows = rows.filter(|row| row.time() >= overlap_start && seen.insert(*row));
        let mut joined = Self { newest, settled, overlap_start, rows: rows.collect() };
        joined.shorten();
        joined
    }

    /// Moves the start of the overlap to 5 minutes before `read_at`, but not after `up_to`, and not after the
    /// start of the short overlap.
    fn settle(&mut self, up_to: i64, read_at: i64) {
        self.settled = self.settled.max(up_to.min(read_at.saturating_sub(OVERLAP_MICROS)));
        self.overlap_start = self.overlap_start.max(self.settled.min(self.short_overlap_start()));
    }

    fn short_overlap_start(&self) -> i64 {
        self.newest.saturating_sub(SHORT_OVERLAP_MICROS)
    }

    /// Drops the rows before the overlap, and shortens it unless rows at `up_to` or later are still to come.
    fn prune(&mut self, up_to: i64) {
        self.rows.retain(|row| row.time() >= self.overlap_start);
        let earlier = self.rows.iter().filter(|row| row.time() < up_to).count();
        if self.rows.len() - earlier <= MAX_ROWS {
            self.shorten();
        }
    }

    fn is_shortened(&self) -> bool {
        self.overlap_start > self.settled
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
    list: ListId,
    complete: Option<Mark>,
    /// The rows of the complete range's overlap.
    known: HashSet<OverlapRow>,
    /// Mark of the current or interrupted walk; `None` before its first row.
    head: Option<Mark>,
    next: NextWalk,
}

impl SyncRun {
    /// Starts a run. Returns an error that names both lists if the point is for another one.
    pub(super) fn start(point: &SyncPoint, list: ListId) -> Result<Self, String> {
        let Content { list: other, complete, unfinished } = point.0.clone();
        other.map_or(Ok(()), |other| other.check(&list, "sync point"))?;
        let (head, next) = match unfinished {
            Some(Unfinished { token, head }) => (Some(head), NextWalk::Resume(token)),
            None => (None, NextWalk::Newest),
        };
        let mut run = Self { head, next, ..Self::new(list) };
        run.set_complete(complete);
        Ok(run)
    }

    /// Starts a run of a list of which nothing was read.
    pub(super) fn new(list: ListId) -> Self {
        Self { list, complete: None, known: HashSet::new(), head: None, next: NextWalk::Newest }
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

    /// Records a row of a walk whose rows are yielded oldest first: all older ones were yielded. If the walk
    /// reads the whole overlap, this moves its start.
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
        SyncPoint(Content {
            list: Some(self.list.clone()),
            complete: self.complete.clone(),
            unfinished,
        })
    }
}

fn time(micros: i64) -> Option<Timestamp> {
    Timestamp::from_unix_nanos(i128::from(micros) * 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(rows: impl IntoIterator<Item = (usize, i64)>) -> Mark {
        let mut rows = rows.into_iter().peekable();
        let newest = rows.peek().unwrap().1;
        let mut mark = Mark::new(newest, newest);
        for (number, time) in rows {
            mark.add(&SubmissionId::new(&format!("sub_{number}")).unwrap(), time);
        }
        mark
    }

    #[test]
    fn overlap_over_the_maximum_drops_whole_times() {
        // Two rows of each time: the maximum lies within a time.
        let rows = |rows: usize| (0..rows).map(|n| (n, -i64::try_from(n.div_ceil(2)).unwrap()));
        let full = mark(rows(MAX_ROWS));
        assert_eq!((full.rows.len(), full.is_shortened()), (MAX_ROWS, false));
        let long = mark(rows(MAX_ROWS + 500));
        assert_eq!((long.rows.len(), long.is_shortened()), (MAX_ROWS - 1, true));
        assert!(long.rows.iter().all(|row| row.time() >= long.overlap_start));
        let joined = mark(rows(MAX_ROWS)).join(Some(mark((0..9).map(|n| (MAX_ROWS + n, -1)))));
        assert!(joined.is_shortened() && joined.rows.len() <= MAX_ROWS);
    }

    #[test]
    fn join_keeps_the_newest_time_and_the_shorter_overlap() {
        let older = mark([(1, 1_000_000_000), (2, 900_000_000)]);
        // The newest known row was deleted.
        let joined = mark([(3, 950_000_000), (2, 900_000_000)]).join(Some(older.clone()));
        assert_eq!((joined.newest, joined.overlap_start), (older.newest, older.overlap_start));
        let id = |number| SubmissionId::new(&format!("sub_{number}")).unwrap();
        let rows = [(3, 950_000_000), (2, 900_000_000), (1, 1_000_000_000)];
        assert_eq!(joined.rows, rows.map(|(number, time)| OverlapRow::new(&id(number), time)));
    }

    #[test]
    fn overlap_shortened_by_the_joined_walks_is_reported() {
        let list = ListId { base_url: String::new(), form: None };
        let older = mark((0..9).map(|n| (MAX_ROWS + n, -1)));
        let point = SyncPoint(Content { complete: Some(older), ..Content::default() });
        let mut run = SyncRun::start(&point, list).unwrap();
        run.head = Some(mark((0..MAX_ROWS).map(|n| (n, 0))));
        assert!(!run.head.as_ref().unwrap().is_shortened());
        assert!(run.finish_walk());
        // A walk without new rows reports it no second time.
        run.head = run.complete.clone();
        assert!(run.complete.as_ref().unwrap().is_shortened() && !run.finish_walk());
    }

    #[test]
    fn mark_of_future_rows_ends_at_the_current_time() {
        let now = 2_000_000_000;
        let mut mark = Mark::new(now + 9, now);
        for number in 0..=MAX_ROWS {
            mark.add(&SubmissionId::new(&format!("sub_{number}")).unwrap(), now + 9);
        }
        assert_eq!((mark.newest, mark.overlap_start), (now, now + 1));
    }

    #[test]
    fn clock_that_goes_back_changes_no_mark() {
        let known = mark([(2, 2_000_000_000), (1, 1_900_000_000)]);
        let list = ListId { base_url: String::new(), form: None };
        let point = SyncPoint(Content { complete: Some(known.clone()), ..Content::default() });
        let mut run = SyncRun::start(&point, list).unwrap();
        let row =
            serde_json::from_str(r#"{"id":"sub_3","data":{},"created_at":"1970-01-01T00:33:21Z"}"#);
        assert!(run.accept(&row.unwrap(), Timestamp::from_unix_nanos(0).as_ref()));
        assert_eq!(run.head.as_ref().unwrap().newest, known.newest);
        assert!(!run.finish_walk());
        let complete = run.complete.unwrap();
        assert_eq!((complete.newest, complete.settled), (known.newest, known.settled));
    }
}
