//! Passwords, sessions and one-time links, in SQL.
//!
//! Whatever changes a user's password locks the user first and links after, so that no two wait for
//! each other.

use std::time::Duration;

use deadpool_postgres::GenericClient;
use formsvc_protocol::{FormInstant, User, UserId};

use super::rows::{Params, column, execute, instant, query_opt};
use super::users::{add_user, user_at, user_no};
use crate::store::rules::{
    EXPIRED_AT_ONCE, Redeemed, email_key, no_link, no_user, password_changed, redeemed,
};
use crate::store::{
    Credentials, LinkRecord, NewLink, NewSession, PasswordHash, Redemption, SessionRecord,
    StoreError, TokenHash,
};

pub(super) async fn credentials(
    db: &impl GenericClient,
    email: &str,
) -> Result<Option<Credentials>, StoreError> {
    // A text here cannot have that character, and so nobody does.
    if email.contains('\0') {
        return Ok(None);
    }
    let sql = "SELECT id, email, name, password FROM users WHERE email_key = $1";
    let Some(row) = query_opt(db, sql, &[&email_key(email)]).await? else { return Ok(None) };
    let password = column::<Option<String>>(&row, 3)?.map(PasswordHash::new);
    Ok(Some(Credentials { user: user_at(&row, 0)?, password }))
}

/// Whether any user has a password.
pub(super) async fn can_sign_in(db: &impl GenericClient) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM users WHERE password IS NOT NULL LIMIT 1";
    Ok(query_opt(db, sql, &[]).await?.is_some())
}

pub(super) async fn set_password(
    db: &impl GenericClient,
    user: &UserId,
    password: &PasswordHash,
) -> Result<(), StoreError> {
    put_password(db, user_no(db, user).await?, password).await
}

/// Whoever had got in by the old password, or could by a link, cannot any more.
async fn put_password(
    db: &impl GenericClient,
    user_no: i64,
    password: &PasswordHash,
) -> Result<(), StoreError> {
    let sql = "UPDATE users SET password = $2 WHERE user_no = $1";
    execute(db, sql, &[&user_no, &password.expose()]).await?;
    execute(db, "DELETE FROM sessions WHERE user_no = $1", &[&user_no]).await?;
    execute(db, "DELETE FROM links WHERE user_no = $1", &[&user_no]).await?;
    Ok(())
}

fn micros(lifetime: Duration) -> i64 {
    // Centuries are for ever; a sum with the time of day must stay a number.
    i64::try_from(lifetime.as_micros()).unwrap_or(i64::MAX).min(i64::MAX / 2)
}

pub(super) async fn add_session(
    db: &impl GenericClient,
    new: &NewSession,
    now: Option<i64>,
) -> Result<SessionRecord, StoreError> {
    // Locked, so that a change of the password at the same time ends this session or comes before it.
    let sql = "SELECT user_no, password FROM users WHERE id = $1 FOR NO KEY UPDATE";
    let row = query_opt(db, sql, &[&new.user.as_str()]).await?;
    let row = row.ok_or_else(|| no_user(&new.user))?;
    let user_no: i64 = column(&row, 0)?;
    if column::<Option<String>>(&row, 1)?.map(PasswordHash::new) != new.password {
        return Err(password_changed(&new.user));
    }
    let sql = "INSERT INTO sessions (token, user_no, created_us, expires_us)
        SELECT $1, $2, n.us, n.us + $4 FROM (SELECT now_us($3) AS us OFFSET 0) n
        RETURNING created_us, expires_us";
    let params: Params<'_> = &[&&new.token.0[..], &user_no, &now, &micros(new.lifetime)];
    let row = query_opt(db, sql, params).await?;
    let row = row.ok_or_else(|| StoreError::Internal("a statement without a row".into()))?;
    Ok(SessionRecord {
        user: user_of(db, user_no).await?,
        created_at: instant(&row, 0)?,
        expires_at: instant(&row, 1)?,
    })
}

async fn user_of(db: &impl GenericClient, user_no: i64) -> Result<User, StoreError> {
    let sql = "SELECT id, email, name FROM users WHERE user_no = $1";
    let row = query_opt(db, sql, &[&user_no]).await?;
    user_at(&row.ok_or_else(|| StoreError::Internal("a user is gone".into()))?, 0)
}

pub(super) async fn session(
    db: &impl GenericClient,
    token: &TokenHash,
    now: Option<i64>,
) -> Result<Option<SessionRecord>, StoreError> {
    let sql = "SELECT u.id, u.email, u.name, s.created_us, s.expires_us
        FROM sessions s JOIN users u USING (user_no)
        WHERE s.token = $1 AND s.expires_us > now_us($2)";
    let Some(row) = query_opt(db, sql, &[&&token.0[..], &now]).await? else { return Ok(None) };
    let (created_at, expires_at) = (instant(&row, 3)?, instant(&row, 4)?);
    Ok(Some(SessionRecord { user: user_at(&row, 0)?, created_at, expires_at }))
}

pub(super) async fn end_session(
    db: &impl GenericClient,
    token: &TokenHash,
) -> Result<(), StoreError> {
    execute(db, "DELETE FROM sessions WHERE token = $1", &[&&token.0[..]]).await.map(drop)
}

pub(super) async fn end_sessions(
    db: &impl GenericClient,
    user: &UserId,
    except: Option<TokenHash>,
) -> Result<u64, StoreError> {
    let user_no = user_no(db, user).await?;
    let sql = "DELETE FROM sessions WHERE user_no = $1 AND token IS DISTINCT FROM $2";
    execute(db, sql, &[&user_no, &except.as_ref().map(|token| &token.0[..])]).await
}

pub(super) async fn add_link(
    db: &impl GenericClient,
    new: &NewLink,
    now: Option<i64>,
) -> Result<LinkRecord, StoreError> {
    let number = match &new.user {
        Some(user) => Some(user_no(db, user).await?),
        None => None,
    };
    // Each user has one, and so has the first owner: of two made at once the later stays.
    let sql = "INSERT INTO links (token, user_no, expires_us) VALUES ($1, $2, now_us($3) + $4)
        ON CONFLICT ((coalesce(user_no, 0)))
            DO UPDATE SET token = excluded.token, expires_us = excluded.expires_us
        RETURNING expires_us";
    let params: Params<'_> = &[&&new.token.0[..], &number, &now, &micros(new.lifetime)];
    let row = query_opt(db, sql, params).await?;
    let row = row.ok_or_else(|| StoreError::Internal("a statement without a row".into()))?;
    let user = match number {
        Some(number) => Some(user_of(db, number).await?),
        None => None,
    };
    Ok(LinkRecord { user, expires_at: instant(&row, 0)? })
}

/// Whose password a link sets, and until when; none when it cannot be used.
async fn usable(
    db: &impl GenericClient,
    token: &TokenHash,
    now: Option<i64>,
) -> Result<Option<(Option<i64>, FormInstant)>, StoreError> {
    let sql = "SELECT user_no, expires_us FROM links WHERE token = $1 AND expires_us > now_us($2)";
    let Some(row) = query_opt(db, sql, &[&&token.0[..], &now]).await? else { return Ok(None) };
    let user: Option<i64> = column(&row, 0)?;
    if user.is_none() && can_sign_in(db).await? {
        return Ok(None);
    }
    Ok(Some((user, instant(&row, 1)?)))
}

pub(super) async fn link(
    db: &impl GenericClient,
    token: &TokenHash,
    now: Option<i64>,
) -> Result<Option<LinkRecord>, StoreError> {
    let Some((number, expires_at)) = usable(db, token, now).await? else { return Ok(None) };
    let user = match number {
        Some(number) => Some(user_of(db, number).await?),
        None => None,
    };
    Ok(Some(LinkRecord { user, expires_at }))
}

pub(super) async fn redeem_link(
    db: &impl GenericClient,
    token: &TokenHash,
    redemption: Redemption,
    now: Option<i64>,
) -> Result<User, StoreError> {
    let (user, _) = usable(db, token, now).await?.ok_or_else(no_link)?;
    if let Some(user_no) = user {
        let sql = "SELECT 1 FROM users WHERE user_no = $1 FOR NO KEY UPDATE";
        query_opt(db, sql, &[&user_no]).await?;
    }
    // Somebody else may have redeemed it since: of all of them one finds it here.
    if execute(db, "DELETE FROM links WHERE token = $1", &[&&token.0[..]]).await? == 0 {
        return Err(no_link());
    }
    let number = match redeemed(user, redemption.new_user)? {
        Redeemed::Of(number) => number,
        Redeemed::New(new) => {
            let added = add_user(db, new, now).await?;
            user_no(db, &added.id).await?
        }
    };
    put_password(db, number, &redemption.password).await?;
    user_of(db, number).await
}

/// Forgets some sessions and links that have ended; `true` when there may be more.
pub(super) async fn forget_expired(
    db: &impl GenericClient,
    now: Option<i64>,
) -> Result<bool, StoreError> {
    let mut more = false;
    for table in ["sessions", "links"] {
        let sql = format!(
            "DELETE FROM {table} WHERE token IN (SELECT token FROM {table}
                WHERE expires_us <= (SELECT now_us($1)) LIMIT $2 FOR UPDATE SKIP LOCKED)"
        );
        let forgotten = execute(db, &sql, &[&now, &EXPIRED_AT_ONCE]).await?;
        more |= i64::try_from(forgotten).unwrap_or(i64::MAX) >= EXPIRED_AT_ONCE;
    }
    Ok(more)
}
