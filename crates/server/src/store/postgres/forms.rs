//! Forms, in SQL.

use deadpool_postgres::GenericClient;
use formsvc_protocol::limits::FORMS_LISTED_MAX;
use formsvc_protocol::{Form, FormId, FormStatus, PublicId, UserId};
use tokio_postgres::Row;

use super::rows::{Params, column, execute, query, query_opt, text_id, timestamp};
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
    "SELECT f.id, f.public_id, f.title, f.status, f.created_us, f.updated_us, f.fields, f.origins,
        f.revision
    FROM forms f";

fn form_at(row: &Row) -> Result<Form, StoreError> {
    let (title, status): (String, &str) = (column(row, 2)?, column(row, 3)?);
    Ok(Form::new(
        text_id(row, 0, FormId::new)?,
        text_id(row, 1, PublicId::new)?,
        title,
        FormStatus::from(status),
        timestamp(row, 4)?,
        timestamp(row, 5)?,
    ))
}

pub(super) async fn add_form(
    db: &impl GenericClient,
    new: &NewForm,
    ready: Ready,
    now: Option<i64>,
) -> Result<(), StoreError> {
    let status = known_status(&new.status)?;
    let user_no = user_no(db, &new.user).await?;
    let sql = "INSERT INTO forms (id, user_no, public_id, title, status, ready, created_us,
            updated_us, last_seq)
        SELECT $1, $2, $3, $4, $5, $6, n.us, n.us, 0 FROM (SELECT now_us($7) AS us) n
        ON CONFLICT DO NOTHING";
    let (id, public_id) = (new.id.as_str(), new.public_id.as_str());
    let is_staged = ready == Ready::NotYet;
    if is_staged && has_public_id(db, public_id).await? {
        return Err(StoreError::Exists { what: "public id", value: public_id.into() });
    }
    let kept = if is_staged { staged_public_id(new) } else { public_id.to_owned() };
    let params: Params<'_> = &[&id, &user_no, &kept, &new.title, &status, &!is_staged, &now];
    if execute(db, sql, params).await? == 1 {
        return Ok(());
    }
    let taken = has_public_id(db, public_id).await?;
    let (what, value) = if taken { ("public id", public_id) } else { ("form id", id) };
    Err(StoreError::Exists { what, value: value.into() })
}

/// Whether a form has a public id.
pub(super) async fn has_public_id(
    db: &impl GenericClient,
    public_id: &str,
) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM forms WHERE public_id = $1";
    Ok(query_opt(db, sql, &[&public_id]).await?.is_some())
}

/// The number of a form that can be seen.
pub(super) async fn form_no(db: &impl GenericClient, id: &FormId) -> Result<i64, StoreError> {
    let sql = "SELECT form_no FROM forms WHERE id = $1 AND ready";
    let found = query_opt(db, sql, &[&id.as_str()]).await?;
    column(&found.ok_or_else(|| no_form(id))?, 0)
}

pub(super) async fn public_form(
    db: &impl GenericClient,
    id: &PublicId,
) -> Result<Option<PublicForm>, StoreError> {
    let sql = format!("{FORM} WHERE f.public_id = $1 AND f.ready");
    let Some(row) = query_opt(db, &sql, &[&id.as_str()]).await? else { return Ok(None) };
    let origins: Option<&str> = column(&row, 7)?;
    let origins = origins.map(serde_json::from_str).transpose();
    let origins = origins.map_err(|error| StoreError::Internal(Box::new(error)))?;
    let (form, fields, revision) = (form_at(&row)?, column(&row, 6)?, Revision(column(&row, 8)?));
    Ok(Some(PublicForm { form, revision, fields, origins }))
}

/// Changes what is given; setting what is set already changes nothing.
pub(super) async fn change(
    db: &impl GenericClient,
    id: &FormId,
    change: &FormChange,
    now: Option<i64>,
) -> Result<Form, StoreError> {
    if let Some(Revision(thought_of)) = change.revision {
        let sql = "SELECT revision FROM forms WHERE id = $1 AND ready FOR UPDATE";
        let found = query_opt(db, sql, &[&id.as_str()]).await?.ok_or_else(|| no_form(id))?;
        if column::<i64>(&found, 0)? != thought_of {
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
            "UPDATE forms SET {column} = $2, revision = revision + 1,
                updated_us = greatest(now_us($3), updated_us)
             WHERE id = $1 AND ready AND {column} IS DISTINCT FROM $2"
        );
        execute(db, &sql, &[&id.as_str(), &value, &now]).await?;
    }
    form(db, id).await
}

/// A form that can be seen, by its id.
pub(super) async fn form(db: &impl GenericClient, id: &FormId) -> Result<Form, StoreError> {
    form_by_id(db, id).await?.ok_or_else(|| no_form(id))
}

pub(super) async fn form_by_id(
    db: &impl GenericClient,
    id: &FormId,
) -> Result<Option<Form>, StoreError> {
    let sql = format!("{FORM} WHERE f.id = $1 AND f.ready");
    query_opt(db, &sql, &[&id.as_str()]).await?.as_ref().map(form_at).transpose()
}

pub(super) async fn form_by_public_id(
    db: &impl GenericClient,
    id: &PublicId,
) -> Result<Option<Form>, StoreError> {
    let sql = format!("{FORM} WHERE f.public_id = $1 AND f.ready");
    query_opt(db, &sql, &[&id.as_str()]).await?.as_ref().map(form_at).transpose()
}

pub(super) async fn forms(db: &impl GenericClient, user: &UserId) -> Result<Vec<Form>, StoreError> {
    let sql = format!(
        "{FORM} JOIN users u USING (user_no) WHERE u.id = $1 AND f.ready
         ORDER BY f.created_us DESC, f.form_no DESC LIMIT {FORMS_LISTED_MAX}"
    );
    query(db, &sql, &[&user.as_str()]).await?.iter().map(form_at).collect()
}

pub(super) async fn set_status(
    db: &impl GenericClient,
    id: &FormId,
    status: &FormStatus,
    now: Option<i64>,
) -> Result<Form, StoreError> {
    // Setting what is set already changes nothing, not even the time of the last change.
    let sql = "UPDATE forms SET status = $2, revision = revision + 1,
            updated_us = greatest(now_us($3), updated_us)
        WHERE id = $1 AND ready AND status <> $2";
    execute(db, sql, &[&id.as_str(), &known_status(status)?, &now]).await?;
    form(db, id).await
}

pub(super) async fn owner(
    db: &impl GenericClient,
    id: &FormId,
) -> Result<Option<UserId>, StoreError> {
    let sql = "SELECT u.id FROM forms f JOIN users u USING (user_no) WHERE f.id = $1 AND f.ready";
    let row = query_opt(db, sql, &[&id.as_str()]).await?;
    row.map(|row| text_id(&row, 0, UserId::new)).transpose()
}

/// How many submissions each of a user's forms has, as the forms are listed.
pub(super) async fn totals(
    db: &impl GenericClient,
    user: &UserId,
) -> Result<Vec<(FormId, u64)>, StoreError> {
    let sql = format!(
        "SELECT f.id, f.last_seq - f.pruned FROM forms f JOIN users u USING (user_no)
         WHERE u.id = $1 AND f.ready
         ORDER BY f.created_us DESC, f.form_no DESC LIMIT {FORMS_LISTED_MAX}"
    );
    let rows = query(db, &sql, &[&user.as_str()]).await?;
    let total = |row| Ok((text_id(row, 0, FormId::new)?, column::<i64>(row, 1)?.unsigned_abs()));
    rows.iter().map(total).collect()
}
