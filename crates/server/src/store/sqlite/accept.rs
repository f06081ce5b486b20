//! Accepting submissions, in SQL.

use std::collections::HashMap;

use formsvc_protocol::{Answers, FormId, FormInstant, FormStatus, SubmissionId};
use rusqlite::{CachedStatement, Connection, OptionalExtension, params};

use super::columns::{StoredId, instant};
use super::queue::{self, Delivering};
use super::repeats;
use super::submissions::SEQ_BITS;
use crate::fault_point::fault_point;
use crate::store::rules::no_form;
use crate::store::{Accepted, EndpointNo, NewSubmission, Revision, StoreError, item};

/// The end of a form, where the next submission goes.
pub(super) struct Tail {
    pub(super) form_no: i64,
    pub(super) seq: i64,
    pub(super) instant: Option<FormInstant>,
}

impl Tail {
    /// Appends a submission at an instant later than the last.
    pub(super) fn append(
        &mut self,
        insert: &mut Insert<'_>,
        id: &SubmissionId,
        answers: &Answers,
        at: FormInstant,
    ) -> Result<(), StoreError> {
        item::check_size(answers)?;
        let item = item::compose(id, answers, at);
        let seq = self.seq + 1;
        let added = insert.0.execute(params![
            self.form_no << SEQ_BITS | seq,
            self.form_no,
            at.micros(),
            StoredId::new(id),
            item
        ])?;
        if added == 0 {
            return Err(StoreError::Exists { what: "submission id", value: id.as_str().into() });
        }
        (self.seq, self.instant) = (seq, Some(at));
        Ok(())
    }

    /// The key of the last submission.
    fn key(&self) -> i64 {
        self.form_no << SEQ_BITS | self.seq
    }

    /// Keeps the end in the form's row.
    pub(super) fn save(&self, db: &Connection) -> Result<(), StoreError> {
        db.prepare_cached(
            "UPDATE forms SET last_seq = ?2, last_instant_us = ?3 WHERE form_no = ?1",
        )?
        .execute(params![
            self.form_no,
            self.seq,
            self.instant.map(FormInstant::micros)
        ])?;
        Ok(())
    }
}

/// The statement that inserts submissions.
pub(super) struct Insert<'db>(CachedStatement<'db>);

impl<'db> Insert<'db> {
    pub(super) fn new(db: &'db Connection) -> Result<Self, StoreError> {
        Ok(Self(db.prepare_cached(
            "INSERT INTO submissions (key, form_no, instant_us, id, item)
             VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (id) DO NOTHING",
        )?))
    }
}

/// A form that submissions are made to in the transaction under way.
struct Open {
    tail: Tail,
    status: FormStatus,
    revision: Revision,
    title: String,
    /// Its enabled endpoints.
    endpoints: Vec<EndpointNo>,
    changed: bool,
}

impl Open {
    fn read(db: &Connection, form: &FormId) -> Result<Self, StoreError> {
        let found = db
            .prepare_cached(
                "SELECT form_no, last_seq, last_instant_us, status, title, revision
                 FROM forms
                 WHERE id = ?1 AND ready",
            )?
            .query_row([form.as_str()], |row| {
                let last: Option<i64> = row.get(2)?;
                let tail =
                    Tail { form_no: row.get(0)?, seq: row.get(1)?, instant: last.map(instant) };
                let status = FormStatus::from(row.get_ref(3)?.as_str()?);
                Ok((tail, status, row.get(4)?, Revision(row.get(5)?)))
            })
            .optional()?;
        let (tail, status, title, revision) = found.ok_or_else(|| no_form(form))?;
        let endpoints = queue::enabled_endpoints(db, tail.form_no)?;
        Ok(Self { tail, status, revision, title, endpoints, changed: false })
    }
}

/// Accepts submissions, one after another. What they need to know of their forms is read once, and the
/// forms' ends are written once: between [`new`](Self::new) and [`finish`](Self::finish) nobody else
/// may write.
pub(super) struct Accepting<'db> {
    db: &'db Connection,
    insert: Insert<'db>,
    delivering: Delivering<'db>,
    forms: HashMap<FormId, Open>,
}

impl<'db> Accepting<'db> {
    pub(super) fn new(db: &'db Connection) -> Result<Self, StoreError> {
        let (insert, delivering) = (Insert::new(db)?, Delivering::new(db)?);
        Ok(Self { db, insert, delivering, forms: HashMap::new() })
    }

    /// Accepts a submission and makes its deliveries.
    pub(super) fn accept(
        &mut self,
        new: &NewSubmission,
        now: FormInstant,
    ) -> Result<Accepted, StoreError> {
        if !self.forms.contains_key(&new.form) {
            self.forms.insert(new.form.clone(), Open::read(self.db, &new.form)?);
        }
        let open = self.forms.get_mut(&new.form).expect("it was inserted if it was not there");
        let changed = new.revision.is_some_and(|revision| revision != open.revision);
        if let Some(idempotency) = &new.idempotency {
            // Also when the form was changed or closed meanwhile: a repeat is told what the first was
            // told.
            match repeats::find(self.db, open.tail.form_no, idempotency, now) {
                Ok(None) => {}
                Ok(Some(accepted)) => return Ok(accepted),
                // By the form as it is now, what was sent may make the same answers as the first.
                Err(StoreError::KeyReused) if changed => {}
                Err(error) => return Err(error),
            }
        }
        if changed {
            return Err(StoreError::Changed { form: new.form.clone() });
        }
        if open.status != FormStatus::Published {
            let status = open.status.clone();
            return Err(StoreError::Closed { form: new.form.clone(), status });
        }
        let at = FormInstant::next(now, open.tail.instant);
        open.tail.append(&mut self.insert, &new.id, &new.answers, at)?;
        open.changed = true;
        let key = open.tail.key();
        if let Some(idempotency) = &new.idempotency {
            repeats::keep(self.db, open.tail.form_no, idempotency, key, now)?;
        }
        fault_point!(InSubmit);
        for endpoint in &open.endpoints {
            self.delivering.deliver(*endpoint, key, &open.title, at)?;
        }
        Ok(Accepted { id: new.id.clone(), instant: at, repeated: false })
    }

    /// Writes the ends of the forms, and says which endpoints got deliveries.
    pub(super) fn finish(self) -> Result<Vec<EndpointNo>, StoreError> {
        let mut endpoints = Vec::new();
        for open in self.forms.into_values().filter(|open| open.changed) {
            open.tail.save(self.db)?;
            endpoints.extend(open.endpoints);
        }
        Ok(endpoints)
    }
}
