//! Copying a service from one database to another, of the same or of another kind.
//!
//! The source stands still meanwhile, and what it holds is counted and digested before anything is
//! written. Rows are copied in the order of their keys, some thousand in one transaction together with a
//! note of how far that is: a copy that was killed goes on where it was, as long as the source still has
//! the same digests. At the end the destination is read back, counted and digested the same way. Until
//! all of it is the same the note stays, and no server opens the destination.

mod error;
mod table;

use serde::{Deserialize, Serialize};

#[cfg(feature = "postgres")]
use crate::store::postgres::PostgresSide;
use crate::store::sqlite::SqliteSide;

use crate::secrets::Vault;

pub(crate) use error::CopyError;
use table::Counting;
pub(crate) use table::{Census, EMPTIED, Row, TABLES, Table, Value};

/// Where the note of how far a copy is stands in the destination. Gone when the copy is finished.
pub(crate) const NOTE_TABLE: &str = "unfinished_copy";
/// Bytes of long columns that are read at a time, or one row.
pub(crate) const BYTES_AT_ONCE: usize = 8 << 20;

/// What a database is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Source,
    Destination,
}

impl Role {
    /// As people are told of it.
    #[cfg(feature = "postgres")]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Source => "the source",
            Self::Destination => "the destination",
        }
    }
}

/// A database that is copied from or into, which nobody else uses.
pub(crate) enum Side {
    File(SqliteSide),
    #[cfg(feature = "postgres")]
    Server(PostgresSide),
}

macro_rules! on_either {
    ($side:expr, $it:ident => $file:expr, $server:expr) => {
        match $side {
            Side::File($it) => $file,
            #[cfg(feature = "postgres")]
            Side::Server($it) => $server,
        }
    };
}

#[cfg_attr(
    not(feature = "postgres"),
    expect(clippy::unused_async, reason = "a file is read and written at once")
)]
impl Side {
    /// At most so many rows after a key, in the order of the key; none when there are no more.
    async fn read(
        &mut self,
        table: &Table,
        after: Option<&Row>,
        rows: usize,
    ) -> Result<Vec<Row>, CopyError> {
        on_either!(self, it => it.read(table, after, rows), it.read(table, after, rows).await)
    }

    async fn note(&mut self) -> Result<Option<String>, CopyError> {
        on_either!(self, it => it.note(), it.note().await)
    }

    /// Makes the note.
    async fn begin(&mut self, note: &str) -> Result<(), CopyError> {
        on_either!(self, it => it.begin(note), it.begin(note).await)
    }

    /// Adds rows and changes the note, in one transaction.
    async fn write(&mut self, table: &Table, rows: &[Row], note: &str) -> Result<(), CopyError> {
        on_either!(self, it => it.write(table, rows, note), it.write(table, rows, note).await)
    }

    /// Removes the note, and leaves all as a server expects it.
    async fn finish(&mut self) -> Result<(), CopyError> {
        on_either!(self, it => it.finish(), it.finish().await)
    }
}

/// How far a copy is, and of what.
#[derive(Serialize, Deserialize)]
struct Note {
    source: Vec<Census>,
    /// The table under way.
    table: usize,
    /// The key of the last row of it that was copied.
    after: Option<Row>,
    /// Its rows that were copied.
    rows: u64,
}

impl Note {
    fn text(&self) -> String {
        serde_json::to_string(self).expect("numbers and texts are written as JSON")
    }
}

/// Copies all of it, or what is left of it; gives what was found in both.
pub(crate) async fn copy(
    from: &mut Side,
    to: &mut Side,
    rows: usize,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<Census>, CopyError> {
    tell("reading the source");
    let source = census(from, rows).await?;
    let note = if let Some(text) = to.note().await? {
        let note: Note = serde_json::from_str(&text).map_err(CopyError::Note)?;
        same_source(&note.source, &source)?;
        tell("going on with an unfinished copy");
        note
    } else {
        refuse_what_is_not_empty(to).await?;
        let note = Note { source, table: 0, after: None, rows: 0 };
        to.begin(&note.text()).await?;
        note
    };
    let source = write_all(from, to, rows, note, tell).await?;
    tell("reading the destination");
    let found = census(to, rows).await?;
    let mut both = source.iter().zip(&found);
    if let Some((expected, found)) = both.find(|(expected, found)| expected != found) {
        return Err(CopyError::Differs {
            table: expected.table.clone(),
            expected: expected.rows,
            found: found.rows,
        });
    }
    to.finish().await?;
    Ok(source)
}

/// Copies what the note says is left; gives the source's census.
async fn write_all(
    from: &mut Side,
    to: &mut Side,
    rows: usize,
    mut note: Note,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<Census>, CopyError> {
    for (number, table) in TABLES.iter().enumerate().skip(note.table) {
        if number > note.table {
            (note.table, note.after, note.rows) = (number, None, 0);
        }
        let all = note.source.get(number).map_or(0, |census| census.rows);
        loop {
            let read = from.read(table, note.after.as_ref(), rows).await?;
            let Some(last) = read.last() else { break };
            note.after = Some(table.key_of(last));
            let before = note.rows;
            note.rows += read.len() as u64;
            to.write(table, &read, &note.text()).await?;
            if is_one_percent_more(before, note.rows, all) {
                tell(&format!("copied {} of {all} rows of {}", note.rows, table.name));
            }
        }
    }
    Ok(note.source)
}

/// Whether people are told how far it is: about a table, at most a hundred times and at its end.
fn is_one_percent_more(before: u64, now: u64, all: u64) -> bool {
    let percent = |rows: u64| rows.saturating_mul(100).checked_div(all);
    percent(before) != percent(now)
}

/// Counts and digests all tables.
async fn census(side: &mut Side, rows: usize) -> Result<Vec<Census>, CopyError> {
    let mut all = Vec::with_capacity(TABLES.len());
    for table in TABLES {
        let (mut counting, mut after) = (Counting::new(), None);
        loop {
            let read = side.read(table, after.as_ref(), rows).await?;
            let Some(last) = read.last() else { break };
            after = Some(table.key_of(last));
            for row in &read {
                counting.add(row);
            }
        }
        all.push(counting.done(table));
    }
    Ok(all)
}

fn same_source(noted: &[Census], found: &[Census]) -> Result<(), CopyError> {
    let mut both = noted.iter().zip(found);
    let differs = match both.find(|(noted, found)| noted != found) {
        Some((noted, _)) => &noted.table,
        None if noted.len() == found.len() => return Ok(()),
        None => NOTE_TABLE,
    };
    Err(CopyError::OtherSource { table: differs.to_owned() })
}

async fn refuse_what_is_not_empty(to: &mut Side) -> Result<(), CopyError> {
    for table in TABLES {
        if !to.read(table, None, 1).await?.is_empty() {
            return Err(CopyError::NotEmpty { table: table.name });
        }
    }
    Ok(())
}

/// The secrets of endpoints, with the ids of these.
pub(crate) async fn sealed_secrets(from: &mut Side) -> Result<Vec<(String, Vec<u8>)>, CopyError> {
    const ROWS: usize = 1_000;
    let endpoints = TABLES.iter().find(|table| table.name == "endpoints");
    let endpoints = endpoints.expect("the table of endpoints is copied");
    let (mut sealed, mut after) = (Vec::new(), None);
    loop {
        let read = from.read(endpoints, after.as_ref(), ROWS).await?;
        let Some(last) = read.last() else { return Ok(sealed) };
        after = Some(endpoints.key_of(last));
        for row in read {
            let mut id = None;
            for (column, value) in endpoints.columns.iter().zip(row) {
                match (*column, value) {
                    ("id", Value::Text(text)) => id = Some(text),
                    // Of a removed endpoint nothing is left.
                    ("secret" | "previous_secret", Value::Bytes(bytes)) if !bytes.is_empty() => {
                        sealed.push((id.clone().unwrap_or_default(), bytes));
                    }
                    _ => {}
                }
            }
        }
    }
}

/// Refuses to copy secrets that could not be signed with.
pub(crate) fn check_secrets(vault: &Vault, sealed: &[(String, Vec<u8>)]) -> Result<(), CopyError> {
    for (id, secret) in sealed {
        vault
            .open(id.as_bytes(), secret)
            .map_err(|source| CopyError::Sealed { endpoint: id.clone(), source })?;
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeSet;

    use super::is_one_percent_more;
    use super::table::{EMPTIED, LEFT, TABLES};

    #[test]
    fn people_are_told_at_most_a_hundred_times_about_a_table_and_at_its_end() {
        for (all, rows, expected) in [(1_000_000, 5_000, 100), (999, 7, 100), (20, 3, 7), (1, 5, 1)]
        {
            let steps =
                (0..all).step_by(rows).map(|before| (before, all.min(before + rows as u64)));
            let told: Vec<_> =
                steps.filter(|(from, to)| is_one_percent_more(*from, *to, all)).collect();
            assert_eq!(told.len(), expected, "{all} rows, {rows} at a time");
            assert_eq!(told.last().map(|(_, to)| *to), Some(all));
        }
    }

    /// Types of columns that rows can be read by, as backends call them.
    const KEY_TYPES: [&str; 6] = ["INTEGER", "BLOB", "smallint", "integer", "bigint", "bytea"];

    /// Checks the names of all tables of a backend and their columns, with the types of these.
    pub(crate) fn assert_complete(found: Vec<(String, String, String)>) {
        for (table, column, kind) in &found {
            let copied = TABLES.iter().find(|copied| copied.name == table);
            if copied.is_some_and(|copied| copied.key.contains(&column.as_str())) {
                assert!(KEY_TYPES.contains(&kind.as_str()), "{table}.{column} is {kind}");
            }
        }
        let found = found.into_iter().map(|(table, column, _)| (table, column));
        let is_left = |table: &str| EMPTIED.contains(&table) || LEFT.contains(&table);
        let found: BTreeSet<_> = found.filter(|(table, _)| !is_left(table)).collect();
        let copied = TABLES.iter().flat_map(|table| {
            table.columns.iter().map(|column| (table.name.to_owned(), (*column).to_owned()))
        });
        let copied: BTreeSet<_> = copied.collect();
        let differ: Vec<_> = found.symmetric_difference(&copied).collect();
        assert!(differ.is_empty(), "{differ:?}");
    }
}
