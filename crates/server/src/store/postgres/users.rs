//! Users and their keys, in SQL.

use deadpool_postgres::GenericClient;
use formsvc_protocol::{FormInstant, KeyId, User, UserId};
use tokio_postgres::Row;

use super::rows::{column, execute, instant_opt, query, query_opt, text_id, timestamp};
use crate::store::rules::{email_key, no_user};
use crate::store::{Authenticated, KeyHash, KeyRecord, NewKey, StoreError, UserRecord};

pub(super) async fn add_user(
    db: &impl GenericClient,
    user: UserRecord,
    now: Option<i64>,
) -> Result<User, StoreError> {
    let key = email_key(&user.email);
    let sql = "INSERT INTO users (id, email, email_key, name, created_us)
        VALUES ($1, $2, $3, $4, now_us($5)) ON CONFLICT DO NOTHING";
    let added = execute(db, sql, &[&user.id.as_str(), &user.email, &key, &user.name, &now]).await?;
    if added == 0 {
        let taken = query_opt(db, "SELECT 1 FROM users WHERE email_key = $1", &[&key]).await?;
        let (what, value) = match taken {
            Some(_) => ("e-mail address", key),
            None => ("user id", user.id.as_str().into()),
        };
        return Err(StoreError::Exists { what, value });
    }
    Ok(User::new(user.id, user.email, user.name))
}

pub(super) async fn user_by_email(
    db: &impl GenericClient,
    email: &str,
) -> Result<Option<User>, StoreError> {
    let sql = "SELECT id, email, name FROM users WHERE email_key = $1";
    let found = query_opt(db, sql, &[&email_key(email)]).await?;
    found.map(|row| user_at(&row, 0)).transpose()
}

pub(super) async fn user(db: &impl GenericClient, id: &UserId) -> Result<Option<User>, StoreError> {
    let sql = "SELECT id, email, name FROM users WHERE id = $1";
    query_opt(db, sql, &[&id.as_str()]).await?.map(|row| user_at(&row, 0)).transpose()
}

/// All users, oldest first.
pub(super) async fn users(db: &impl GenericClient) -> Result<Vec<User>, StoreError> {
    let rows = query(db, "SELECT id, email, name FROM users ORDER BY user_no", &[]).await?;
    rows.iter().map(|row| user_at(row, 0)).collect()
}

/// The user in three columns: id, email, name.
pub(super) fn user_at(row: &Row, first: usize) -> Result<User, StoreError> {
    let (email, name): (String, String) = (column(row, first + 1)?, column(row, first + 2)?);
    Ok(User::new(text_id(row, first, UserId::new)?, email, name))
}

/// The number of a user.
pub(super) async fn user_no(db: &impl GenericClient, user: &UserId) -> Result<i64, StoreError> {
    let found = query_opt(db, "SELECT user_no FROM users WHERE id = $1", &[&user.as_str()]).await?;
    column(&found.ok_or_else(|| no_user(user))?, 0)
}

const KEY: &str = "SELECT k.id, u.id, k.name, k.prefix, k.created_us, k.revoked_us, k.used_us
    FROM api_keys k JOIN users u USING (user_no)";

fn key_record(row: &Row) -> Result<KeyRecord, StoreError> {
    Ok(KeyRecord {
        id: text_id(row, 0, KeyId::new)?,
        user: text_id(row, 1, UserId::new)?,
        name: column(row, 2)?,
        prefix: column(row, 3)?,
        created_at: timestamp(row, 4)?,
        revoked_at: instant_opt(row, 5)?.map(FormInstant::to_timestamp),
        last_used_at: instant_opt(row, 6)?.map(FormInstant::to_timestamp),
    })
}

pub(super) async fn key_by_id(
    db: &impl GenericClient,
    id: &KeyId,
) -> Result<Option<KeyRecord>, StoreError> {
    let found = query_opt(db, &format!("{KEY} WHERE k.id = $1"), &[&id.as_str()]).await?;
    found.as_ref().map(key_record).transpose()
}

async fn key(db: &impl GenericClient, id: &KeyId) -> Result<KeyRecord, StoreError> {
    let none = || StoreError::NotFound { what: "key", value: id.as_str().into() };
    key_by_id(db, id).await?.ok_or_else(none)
}

pub(super) async fn add_key(
    db: &impl GenericClient,
    new: &NewKey,
    now: Option<i64>,
) -> Result<KeyRecord, StoreError> {
    let user_no = user_no(db, &new.user).await?;
    let sql = "INSERT INTO api_keys (id, user_no, name, prefix, hash, created_us)
        VALUES ($1, $2, $3, $4, $5, now_us($6)) ON CONFLICT DO NOTHING";
    let hash = &new.hash.0[..];
    let params: super::rows::Params<'_> =
        &[&new.id.as_str(), &user_no, &new.name, &new.prefix, &hash, &now];
    if execute(db, sql, params).await? == 0 {
        return Err(StoreError::Exists { what: "key", value: new.id.as_str().into() });
    }
    key(db, &new.id).await
}

pub(super) async fn revoke_key(
    db: &impl GenericClient,
    id: &KeyId,
    now: Option<i64>,
) -> Result<KeyRecord, StoreError> {
    let sql = "UPDATE api_keys SET revoked_us = now_us($2) WHERE id = $1 AND revoked_us IS NULL";
    execute(db, sql, &[&id.as_str(), &now]).await?;
    key(db, id).await
}

pub(super) async fn keys(
    db: &impl GenericClient,
    user: &UserId,
) -> Result<Vec<KeyRecord>, StoreError> {
    let sql = format!("{KEY} WHERE u.id = $1 ORDER BY k.created_us DESC, k.key_no DESC");
    query(db, &sql, &[&user.as_str()]).await?.iter().map(key_record).collect()
}

/// Notes when keys were used last.
pub(super) async fn note_key_uses(
    db: &impl GenericClient,
    uses: &[(KeyId, FormInstant)],
) -> Result<(), StoreError> {
    let ids: Vec<_> = uses.iter().map(|(key, _)| key.as_str()).collect();
    let times: Vec<_> = uses.iter().map(|(_, at)| at.micros()).collect();
    // Locked in one order, so that no two processes wait for each other.
    let sql =
        "WITH n AS (SELECT id, max(at) AS at FROM unnest($1::text[], $2::bigint[]) AS u (id, at)
            GROUP BY id),
        k AS MATERIALIZED (SELECT key_no, n.at FROM api_keys JOIN n USING (id)
            WHERE used_us IS NULL OR used_us < n.at ORDER BY key_no FOR NO KEY UPDATE OF api_keys)
        UPDATE api_keys a SET used_us = greatest(a.used_us, k.at) FROM k WHERE a.key_no = k.key_no";
    execute(db, sql, &[&ids, &times]).await.map(drop)
}

/// The keys with some hashes, with their owners.
pub(super) const BY_HASHES: &str =
    "SELECT k.id, k.hash, k.revoked_us IS NOT NULL, u.id, u.email, u.name
    FROM api_keys k JOIN users u USING (user_no) WHERE k.hash = ANY($1)";

/// A row of [`BY_HASHES`].
pub(super) fn authenticated(row: &Row) -> Result<Authenticated, StoreError> {
    let stored: &[u8] = column(row, 1)?;
    let stored = stored.try_into().map_err(|error| StoreError::Internal(Box::new(error)))?;
    Ok(Authenticated {
        key: text_id(row, 0, KeyId::new)?,
        hash: KeyHash(stored),
        revoked: column(row, 2)?,
        user: user_at(row, 3)?,
        counted: None,
    })
}
