//! Users and their keys, in SQL.

use formsvc_protocol::{FormInstant, KeyId, User, UserId};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::columns::{instant, text_id};
use crate::store::rules::{email_key, no_user};
use crate::store::{Authenticated, KeyHash, KeyRecord, NewKey, StoreError, UserRecord};

pub(super) fn add_user(
    db: &Connection,
    user: UserRecord,
    now: FormInstant,
) -> Result<User, StoreError> {
    let taken = |what, column, value: &str| {
        let sql = format!("SELECT 1 FROM users WHERE {column} = ?1");
        if db.prepare_cached(&sql)?.exists([value])? {
            return Err(StoreError::Exists { what, value: value.into() });
        }
        Ok(())
    };
    let key = email_key(&user.email);
    taken("e-mail address", "email_key", &key)?;
    taken("user id", "id", user.id.as_str())?;
    db.prepare_cached(
        "INSERT INTO users (id, email, email_key, name, created_us) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![user.id.as_str(), user.email, key, user.name, now.micros()])?;
    Ok(User::new(user.id, user.email, user.name))
}

pub(super) fn user_by_email(db: &Connection, email: &str) -> Result<Option<User>, StoreError> {
    Ok(db
        .prepare_cached("SELECT id, email, name FROM users WHERE email_key = ?1")?
        .query_row([email_key(email)], |row| user_at(row, 0))
        .optional()?)
}

pub(super) fn user(db: &Connection, id: &UserId) -> Result<Option<User>, StoreError> {
    Ok(db
        .prepare_cached("SELECT id, email, name FROM users WHERE id = ?1")?
        .query_row([id.as_str()], |row| user_at(row, 0))
        .optional()?)
}

pub(super) fn all(db: &Connection) -> Result<Vec<User>, StoreError> {
    let mut statement = db.prepare("SELECT id, email, name FROM users ORDER BY user_no")?;
    let rows = statement.query_map([], |row| user_at(row, 0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The user in three columns: id, email, name.
pub(super) fn user_at(row: &Row<'_>, first: usize) -> rusqlite::Result<User> {
    let (email, name): (String, String) = (row.get(first + 1)?, row.get(first + 2)?);
    Ok(User::new(text_id(row, first, UserId::new)?, email, name))
}

/// The number of a user.
pub(super) fn user_no(db: &Connection, user: &UserId) -> Result<i64, StoreError> {
    db.prepare_cached("SELECT user_no FROM users WHERE id = ?1")?
        .query_row([user.as_str()], |row| row.get(0))
        .optional()?
        .ok_or_else(|| no_user(user))
}

const KEY: &str = "SELECT k.id, u.id, k.name, k.prefix, k.created_us, k.revoked_us, k.used_us
    FROM api_keys k JOIN users u USING (user_no)";

fn key_record(row: &Row<'_>) -> rusqlite::Result<KeyRecord> {
    Ok(KeyRecord {
        id: text_id(row, 0, KeyId::new)?,
        user: text_id(row, 1, UserId::new)?,
        name: row.get(2)?,
        prefix: row.get(3)?,
        created_at: instant(row.get(4)?).to_timestamp(),
        revoked_at: row.get::<_, Option<i64>>(5)?.map(|us| instant(us).to_timestamp()),
        last_used_at: row.get::<_, Option<i64>>(6)?.map(|us| instant(us).to_timestamp()),
    })
}

pub(super) fn key_by_id(db: &Connection, id: &KeyId) -> Result<Option<KeyRecord>, StoreError> {
    let sql = format!("{KEY} WHERE k.id = ?1");
    Ok(db.prepare_cached(&sql)?.query_row([id.as_str()], key_record).optional()?)
}

fn key(db: &Connection, id: &KeyId) -> Result<KeyRecord, StoreError> {
    let none = || StoreError::NotFound { what: "key", value: id.as_str().into() };
    key_by_id(db, id)?.ok_or_else(none)
}

pub(super) fn add_key(
    db: &Connection,
    new: &NewKey,
    now: FormInstant,
) -> Result<KeyRecord, StoreError> {
    let user_no = user_no(db, &new.user)?;
    let added = db
        .prepare_cached(
            "INSERT INTO api_keys (id, user_no, name, prefix, hash, created_us)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            new.id.as_str(),
            user_no,
            new.name,
            new.prefix,
            new.hash.0,
            now.micros()
        ])?;
    if added == 0 {
        return Err(StoreError::Exists { what: "key", value: new.id.as_str().into() });
    }
    key(db, &new.id)
}

pub(super) fn revoke_key(
    db: &Connection,
    id: &KeyId,
    now: FormInstant,
) -> Result<KeyRecord, StoreError> {
    db.prepare_cached("UPDATE api_keys SET revoked_us = ?2 WHERE id = ?1 AND revoked_us IS NULL")?
        .execute(params![id.as_str(), now.micros()])?;
    key(db, id)
}

pub(super) fn keys(db: &Connection, user: &UserId) -> Result<Vec<KeyRecord>, StoreError> {
    let sql = format!("{KEY} WHERE u.id = ?1 ORDER BY k.created_us DESC, k.key_no DESC");
    let mut statement = db.prepare_cached(&sql)?;
    let rows = statement.query_map([user.as_str()], key_record)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Notes when keys were used last.
pub(super) fn note_key_uses(
    db: &Connection,
    uses: &[(KeyId, FormInstant)],
) -> Result<(), StoreError> {
    let mut note = db.prepare_cached(
        "UPDATE api_keys SET used_us = ?2 WHERE id = ?1 AND (used_us IS NULL OR used_us < ?2)",
    )?;
    for (key, at) in uses {
        note.execute(params![key.as_str(), at.micros()])?;
    }
    Ok(())
}

/// What every request begins with.
pub(super) const AUTHENTICATE: &str =
    "SELECT k.id, k.hash, k.revoked_us IS NOT NULL, u.id, u.email, u.name
    FROM api_keys k JOIN users u USING (user_no) WHERE k.hash = ?1";

pub(super) fn authenticate(
    db: &Connection,
    hash: &KeyHash,
) -> Result<Option<Authenticated>, StoreError> {
    let found = db.prepare_cached(AUTHENTICATE)?.query_row([&hash.0], |row| {
        Ok(Authenticated {
            key: text_id(row, 0, KeyId::new)?,
            hash: KeyHash(row.get(1)?),
            revoked: row.get(2)?,
            user: user_at(row, 3)?,
            counted: None,
        })
    });
    Ok(found.optional()?)
}
