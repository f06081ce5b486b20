//! The part of a list that the next run of a sync reads again, because rows can be committed late. Pure.

use std::cmp::Reverse;
use std::collections::HashSet;

use formsvc_protocol::SubmissionId;
use serde::{Deserialize, Serialize};

use crate::row_key::RowKey;

/// The longest delay between `created_at` and the commit of a row that a later run still finds, in
/// microseconds.
const OVERLAP_MICROS: i64 = 5 * 60 * 1_000_000;

/// Length of the part of the overlap that a follow reads in each pass and always keeps. It ends at the newest row
/// and not at the current time, because a service may list rows whose times are far from its clock.
const SHORT_OVERLAP_MICROS: i64 = 10 * 1_000_000;

/// Maximum number of rows kept for the overlap.
pub(super) const MAX_ROWS: usize = 10_000;

/// The upper end of a range of rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    /// The time of the newest row, but not after the first page was read; in microseconds since 1970.
    pub(super) newest: i64,
    /// 5 minutes before the first page was read, but not after `newest`: all rows before this time were
    /// committed.
    pub(super) settled: i64,
    /// Start of the overlap: `settled`, or later if it has too many rows, or earlier in a follow. All known
    /// rows at or after this time are in `rows`.
    pub(super) overlap_start: i64,
    /// The rows of the overlap.
    #[serde(with = "packed")]
    pub(super) rows: Vec<OverlapRow>,
}

/// A row of the overlap: the first 8 bytes of the SHA-256 of its id, and its time. Both are compared, so
/// that two different rows are equal in one of 2⁶⁴ cases, and only if they share a microsecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct OverlapRow(u64, i64);

impl OverlapRow {
    pub(super) fn new(id: &SubmissionId, time: i64) -> Self {
        Self(RowKey::of_id(id.as_str()).first_8_bytes(), time)
    }

    pub(super) fn time(self) -> i64 {
        self.1
    }
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

impl Mark {
    /// Starts the mark of a walk at its first row. Without the limit `read_at`, a row dated in the future
    /// would make later runs skip all rows with earlier times.
    pub(super) fn new(first_row: i64, read_at: i64) -> Self {
        let newest = first_row.min(read_at);
        let settled = newest.min(read_at.saturating_sub(OVERLAP_MICROS));
        Self { newest, settled, overlap_start: settled, rows: Vec::new() }
    }

    pub(super) fn add(&mut self, id: &SubmissionId, time: i64) {
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
    pub(super) fn join(self, older: Option<Self>) -> Self {
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

    /// Moves the start of the overlap forward to the earliest of three times: 5 minutes before `read_at`,
    /// `up_to`, and the start of the short overlap. Never moves it back.
    pub(super) fn settle(&mut self, up_to: i64, read_at: i64) {
        self.settled = self.settled.max(up_to.min(read_at.saturating_sub(OVERLAP_MICROS)));
        self.overlap_start = self.overlap_start.max(self.settled.min(self.short_overlap_start()));
    }

    pub(super) fn short_overlap_start(&self) -> i64 {
        self.newest.saturating_sub(SHORT_OVERLAP_MICROS)
    }

    /// Drops the rows before the overlap, and shortens it unless that would drop rows at `up_to` or later.
    pub(super) fn prune(&mut self, up_to: i64) {
        self.rows.retain(|row| row.time() >= self.overlap_start);
        let earlier = self.rows.iter().filter(|row| row.time() < up_to).count();
        if self.rows.len() - earlier <= MAX_ROWS {
            self.shorten();
        }
    }

    pub(super) fn is_shortened(&self) -> bool {
        self.overlap_start > self.settled
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn mark(rows: impl IntoIterator<Item = (usize, i64)>) -> Mark {
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
    fn mark_of_future_rows_ends_at_the_current_time() {
        let now = 2_000_000_000;
        let mut mark = Mark::new(now + 9, now);
        for number in 0..=MAX_ROWS {
            mark.add(&SubmissionId::new(&format!("sub_{number}")).unwrap(), now + 9);
        }
        assert_eq!((mark.newest, mark.overlap_start), (now, now + 1));
    }
}
