//! A transaction, and what those whose operations are in it share.

use std::cell::{Cell, RefCell, RefMut};

use rusqlite::{CachedStatement, Connection};

type Result<T> = rusqlite::Result<T>;

/// A transaction under way. Its statements stay prepared until it ends: to look one up by its text, each
/// time, costs as much as a small one does.
pub(super) struct Tx<'a> {
    db: &'a Connection,
    statements: RefCell<Vec<(&'static str, CachedStatement<'a>)>>,
    /// The fencing numbers: the greatest when it was first looked at, and now.
    fences: Cell<Option<(i64, i64)>>,
}

impl<'a> Tx<'a> {
    /// What is done within a transaction that has begun on a connection.
    pub(super) fn on(db: &'a Connection) -> Self {
        Self { db, statements: RefCell::default(), fences: Cell::default() }
    }

    #[cfg(test)]
    pub(super) fn db(&self) -> &Connection {
        self.db
    }

    /// A statement, which nobody else runs meanwhile.
    pub(super) fn sql(&self, text: &'static str) -> Result<RefMut<'_, CachedStatement<'a>>> {
        let mut statements = self.statements.borrow_mut();
        // Where it stands in the program tells it from the others: there are few.
        let at = statements.iter().position(|(known, _)| std::ptr::eq(*known, text));
        let at = at.unwrap_or(statements.len());
        if at == statements.len() {
            statements.push((text, self.db.prepare_cached(text)?));
        }
        Ok(RefMut::map(statements, |statements| &mut statements[at].1))
    }

    /// A fencing number that nobody has had. It is nobody's until it is [taken](Self::take_fence).
    pub(super) fn next_fence(&self) -> Result<i64> {
        let (first, last) = if let Some(fences) = self.fences.get() {
            fences
        } else {
            let mut greatest = self.sql("SELECT fence FROM formsvc_inbox")?;
            let greatest = greatest.query_row([], |row| row.get(0))?;
            (greatest, greatest)
        };
        self.fences.set(Some((first, last)));
        Ok(last + 1)
    }

    /// The number that is next is somebody's.
    pub(super) fn take_fence(&self) {
        self.fences.set(self.fences.get().map(|(first, last)| (first, last + 1)));
    }

    /// Writes down which numbers were taken; to be done before it is committed.
    pub(super) fn finish(self) -> Result<()> {
        if let Some((first, last)) = self.fences.get()
            && last > first
        {
            self.sql("UPDATE formsvc_inbox SET fence = ?1")?.execute([last])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    #[test]
    fn numbers_that_were_taken_are_nobody_elses_and_others_are() {
        let dir = tempfile::tempdir().unwrap();
        let db = file::open(&dir.path().join("inbox.db")).unwrap();
        let first = Tx::on(&db);
        let number = first.next_fence().unwrap();
        assert_eq!(first.next_fence().unwrap(), number);
        first.take_fence();
        assert_eq!(first.next_fence().unwrap(), number + 1);
        first.finish().unwrap();
        assert_eq!(Tx::on(&db).next_fence().unwrap(), number + 1);
    }

    #[test]
    fn a_statement_is_prepared_once() {
        let dir = tempfile::tempdir().unwrap();
        let db = file::open(&dir.path().join("inbox.db")).unwrap();
        let tx = Tx::on(&db);
        for text in ["SELECT 1", "SELECT 2", "SELECT 1"] {
            let number = i64::from(text.ends_with('2')) + 1;
            let got: i64 = tx.sql(text).unwrap().query_row([], |row| row.get(0)).unwrap();
            assert_eq!(got, number);
        }
        assert_eq!(tx.statements.borrow().len(), 2);
    }
}
