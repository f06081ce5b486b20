//! Forms, in SQL.

use formsvc_protocol::limits::FORMS_LISTED_MAX;
use formsvc_protocol::{Form, FormId, FormInstant, FormStatus, PublicId, UserId};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::columns::{instant, text_id};
use super::users::user_no;
use crate::store::rules::{known_status, no_form, staged_public_id};
use crate::store::{FormChange, NewForm, PublicForm, Revision, StoreError};

/// Whether a form can be seen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ready {
    Yes,
    /// Under import.
    NotYet,
}

const FORM: &str =
    "SELECT f.id, f.public_id, f.title, f.status, f.created_us, f.updated_us FROM forms f";

fn form_at(row: &Row<'_>) -> rusqlite::Result<Form> {
    let title: String = row.get(2)?;
    Ok(Form::new(
        text_id(row, 0, FormId::new)?,
        text_id(row, 1, PublicId::new)?,
        title,
        FormStatus::from(row.get_ref(3)?.as_str()?),
        instant(row.get(4)?).to_timestamp(),
        instant(row.get(5)?).to_timestamp(),
    ))
}

pub(super) fn add_form(
    db: &Connection,
    new: &NewForm,
    ready: Ready,
    now: FormInstant,
) -> Result<(), StoreError> {
    let status = known_status(&new.status)?;
    let user_no = user_no(db, &new.user)?;
    for (what, column, value) in
        [("public id", "public_id", new.public_id.as_str()), ("form id", "id", new.id.as_str())]
    {
        let sql = format!("SELECT 1 FROM forms WHERE {column} = ?1");
        if db.prepare_cached(&sql)?.exists([value])? {
            return Err(StoreError::Exists { what, value: value.into() });
        }
    }
    let public_id = match ready {
        Ready::Yes => new.public_id.as_str().to_owned(),
        Ready::NotYet => staged_public_id(new),
    };
    db.prepare_cached(
        "INSERT INTO forms (id, user_no, public_id, title, status, ready, created_us, updated_us, last_seq)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, 0)",
    )?
    .execute(params![
        new.id.as_str(),
        user_no,
        public_id,
        new.title,
        status,
        ready == Ready::Yes,
        now.micros()
    ])?;
    Ok(())
}

/// The number of a form that can be seen.
pub(super) fn form_no(db: &Connection, id: &FormId) -> Result<i64, StoreError> {
    db.prepare_cached("SELECT form_no FROM forms WHERE id = ?1 AND ready")?
        .query_row([id.as_str()], |row| row.get(0))
        .optional()?
        .ok_or_else(|| no_form(id))
}

pub(super) fn public_form(
    db: &Connection,
    id: &PublicId,
) -> Result<Option<PublicForm>, StoreError> {
    let found = db
        .prepare_cached(
            "SELECT f.id, f.public_id, f.title, f.status, f.created_us, f.updated_us, f.fields,
                f.origins, f.revision FROM forms f WHERE f.public_id = ?1 AND f.ready",
        )?
        .query_row([id.as_str()], |row| {
            let origins: Option<String> = row.get(7)?;
            Ok((form_at(row)?, row.get(6)?, origins, Revision(row.get(8)?)))
        })
        .optional()?;
    let Some((form, fields, origins, revision)) = found else { return Ok(None) };
    let origins = origins.as_deref().map(serde_json::from_str).transpose();
    let origins = origins.map_err(|error| StoreError::Internal(Box::new(error)))?;
    Ok(Some(PublicForm { form, revision, fields, origins }))
}

/// Changes what is given; setting what is set already changes nothing.
pub(super) fn change(
    db: &Connection,
    id: &FormId,
    change: &FormChange,
    now: FormInstant,
) -> Result<Form, StoreError> {
    let form_no = form_no(db, id)?;
    if let Some(Revision(thought_of)) = change.revision {
        let mut of_form = db.prepare_cached("SELECT revision FROM forms WHERE form_no = ?1")?;
        if of_form.query_row([form_no], |row| row.get::<_, i64>(0))? != thought_of {
            return Err(StoreError::Changed { form: id.clone() });
        }
    }
    let origins = change.origins.as_ref().map(|origins| {
        origins.as_ref().map(|origins| {
            serde_json::to_string(origins).expect("a list of texts is written as JSON")
        })
    });
    let columns = [
        ("title", change.title.clone().map(Some)),
        ("fields", change.fields.clone()),
        ("origins", origins),
    ];
    for (column, value) in columns {
        let Some(value) = value else { continue };
        let sql = format!(
            "UPDATE forms SET {column} = ?2, revision = revision + 1,
                updated_us = max(?3, updated_us)
             WHERE form_no = ?1 AND {column} IS NOT ?2"
        );
        db.prepare_cached(&sql)?.execute(params![form_no, value, now.micros()])?;
    }
    form(db, id)
}

/// A form that can be seen, by its id.
pub(super) fn form(db: &Connection, id: &FormId) -> Result<Form, StoreError> {
    form_by_id(db, id)?.ok_or_else(|| no_form(id))
}

pub(super) fn form_by_id(db: &Connection, id: &FormId) -> Result<Option<Form>, StoreError> {
    Ok(db
        .prepare_cached(&format!("{FORM} WHERE f.id = ?1 AND f.ready"))?
        .query_row([id.as_str()], form_at)
        .optional()?)
}

pub(super) fn form_by_public_id(
    db: &Connection,
    id: &PublicId,
) -> Result<Option<Form>, StoreError> {
    Ok(db
        .prepare_cached(&format!("{FORM} WHERE f.public_id = ?1 AND f.ready"))?
        .query_row([id.as_str()], form_at)
        .optional()?)
}

pub(super) fn forms(db: &Connection, user: &UserId) -> Result<Vec<Form>, StoreError> {
    let sql = format!(
        "{FORM} JOIN users u USING (user_no) WHERE u.id = ?1 AND f.ready
         ORDER BY f.created_us DESC, f.form_no DESC LIMIT {FORMS_LISTED_MAX}"
    );
    let mut statement = db.prepare_cached(&sql)?;
    let rows = statement.query_map([user.as_str()], form_at)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn set_status(
    db: &Connection,
    id: &FormId,
    status: &FormStatus,
    now: FormInstant,
) -> Result<Form, StoreError> {
    // Setting what is set already changes nothing, not even the time of the last change.
    db.prepare_cached(
        "UPDATE forms SET status = ?2, revision = revision + 1, updated_us = max(?3, updated_us)
         WHERE id = ?1 AND ready AND status <> ?2",
    )?
    .execute(params![id.as_str(), known_status(status)?, now.micros()])?;
    form(db, id)
}

pub(super) fn owner(db: &Connection, id: &FormId) -> Result<Option<UserId>, StoreError> {
    let sql = "SELECT u.id FROM forms f JOIN users u USING (user_no) WHERE f.id = ?1 AND f.ready";
    let owner = |row: &Row<'_>| text_id(row, 0, UserId::new);
    Ok(db.prepare_cached(sql)?.query_row([id.as_str()], owner).optional()?)
}

/// How many submissions each of a user's forms has, as the forms are listed.
pub(super) fn totals(db: &Connection, user: &UserId) -> Result<Vec<(FormId, u64)>, StoreError> {
    let sql = format!(
        "SELECT f.id, f.last_seq - f.pruned FROM forms f JOIN users u USING (user_no)
         WHERE u.id = ?1 AND f.ready
         ORDER BY f.created_us DESC, f.form_no DESC LIMIT {FORMS_LISTED_MAX}"
    );
    let mut statement = db.prepare_cached(&sql)?;
    let rows = statement.query_map([user.as_str()], |row| {
        Ok((text_id(row, 0, FormId::new)?, row.get::<_, i64>(1)?.unsigned_abs()))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
