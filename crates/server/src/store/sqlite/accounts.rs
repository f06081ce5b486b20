//! Passwords, sessions and one-time links, in SQL.

use formsvc_protocol::{FormInstant, User, UserId};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::columns::instant;
use super::users::{add_user, user_at, user_no};
use crate::store::rules::{
    EXPIRED_AT_ONCE, Redeemed, email_key, no_link, password_changed, redeemed,
};
use crate::store::{
    Credentials, LinkRecord, NewLink, NewSession, PasswordHash, Redemption, SessionRecord,
    StoreError, TokenHash,
};

pub(super) fn credentials(db: &Connection, email: &str) -> Result<Option<Credentials>, StoreError> {
    Ok(db
        .prepare_cached("SELECT id, email, name, password FROM users WHERE email_key = ?1")?
        .query_row([email_key(email)], |row| {
            let password = row.get::<_, Option<String>>(3)?.map(PasswordHash::new);
            Ok(Credentials { user: user_at(row, 0)?, password })
        })
        .optional()?)
}

/// Whether any user has a password.
pub(super) fn can_sign_in(db: &Connection) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM users WHERE password IS NOT NULL LIMIT 1";
    Ok(db.prepare_cached(sql)?.exists([])?)
}

pub(super) fn set_password(
    db: &Connection,
    user: &UserId,
    password: &PasswordHash,
) -> Result<(), StoreError> {
    put_password(db, user_no(db, user)?, password)
}

/// Whoever had got in by the old password, or could by a link, cannot any more.
fn put_password(db: &Connection, user_no: i64, password: &PasswordHash) -> Result<(), StoreError> {
    db.prepare_cached("UPDATE users SET password = ?2 WHERE user_no = ?1")?
        .execute(params![user_no, password.expose()])?;
    db.prepare_cached("DELETE FROM sessions WHERE user_no = ?1")?.execute([user_no])?;
    db.prepare_cached("DELETE FROM links WHERE user_no = ?1")?.execute([user_no])?;
    Ok(())
}

pub(super) fn add_session(
    db: &Connection,
    new: &NewSession,
    now: FormInstant,
) -> Result<SessionRecord, StoreError> {
    let (user_no, expires) = (user_no(db, &new.user)?, now.plus(new.lifetime));
    let password = new.password.as_ref().map(PasswordHash::expose);
    let sql = "SELECT 1 FROM users WHERE user_no = ?1 AND password IS ?2";
    if !db.prepare_cached(sql)?.exists(params![user_no, password])? {
        return Err(password_changed(&new.user));
    }
    db.prepare_cached(
        "INSERT INTO sessions (token, user_no, created_us, expires_us) VALUES (?1, ?2, ?3, ?4)",
    )?
    .execute(params![new.token.0, user_no, now.micros(), expires.micros()])?;
    let user = user_of(db, user_no)?;
    Ok(SessionRecord { user, created_at: now, expires_at: expires })
}

fn user_of(db: &Connection, user_no: i64) -> Result<User, StoreError> {
    Ok(db
        .prepare_cached("SELECT id, email, name FROM users WHERE user_no = ?1")?
        .query_row([user_no], |row| user_at(row, 0))?)
}

/// What every page of the dashboard begins with.
pub(super) const SESSION: &str = "SELECT u.id, u.email, u.name, s.created_us, s.expires_us
    FROM sessions s JOIN users u USING (user_no) WHERE s.token = ?1 AND s.expires_us > ?2";

pub(super) fn session(
    db: &Connection,
    token: &TokenHash,
    now: FormInstant,
) -> Result<Option<SessionRecord>, StoreError> {
    let found = db.prepare_cached(SESSION)?.query_row(params![token.0, now.micros()], |row| {
        let (created_at, expires_at) = (instant(row.get(3)?), instant(row.get(4)?));
        Ok(SessionRecord { user: user_at(row, 0)?, created_at, expires_at })
    });
    Ok(found.optional()?)
}

pub(super) fn end_session(db: &Connection, token: &TokenHash) -> Result<(), StoreError> {
    db.prepare_cached("DELETE FROM sessions WHERE token = ?1")?.execute([token.0])?;
    Ok(())
}

pub(super) fn end_sessions(
    db: &Connection,
    user: &UserId,
    except: Option<TokenHash>,
) -> Result<u64, StoreError> {
    let ended = db
        .prepare_cached("DELETE FROM sessions WHERE user_no = ?1 AND token IS NOT ?2")?
        .execute(params![user_no(db, user)?, except.map(|token| token.0)])?;
    Ok(ended as u64)
}

pub(super) fn add_link(
    db: &Connection,
    new: &NewLink,
    now: FormInstant,
) -> Result<LinkRecord, StoreError> {
    let user_no = new.user.as_ref().map(|user| user_no(db, user)).transpose()?;
    let expires_at = now.plus(new.lifetime);
    db.prepare_cached("DELETE FROM links WHERE user_no IS ?1")?.execute([user_no])?;
    db.prepare_cached("INSERT INTO links (token, user_no, expires_us) VALUES (?1, ?2, ?3)")?
        .execute(params![new.token.0, user_no, expires_at.micros()])?;
    let user = user_no.map(|user_no| user_of(db, user_no)).transpose()?;
    Ok(LinkRecord { user, expires_at })
}

/// Whose password a link sets, and until when; none when it cannot be used.
fn usable(
    db: &Connection,
    token: &TokenHash,
    now: FormInstant,
) -> Result<Option<(Option<i64>, FormInstant)>, StoreError> {
    let read = |row: &Row<'_>| Ok((row.get::<_, Option<i64>>(0)?, instant(row.get(1)?)));
    let found = db
        .prepare_cached(
            "SELECT user_no, expires_us FROM links WHERE token = ?1 AND expires_us > ?2",
        )?
        .query_row(params![token.0, now.micros()], read)
        .optional()?;
    match found {
        Some((None, _)) if can_sign_in(db)? => Ok(None),
        found => Ok(found),
    }
}

pub(super) fn link(
    db: &Connection,
    token: &TokenHash,
    now: FormInstant,
) -> Result<Option<LinkRecord>, StoreError> {
    let Some((user_no, expires_at)) = usable(db, token, now)? else { return Ok(None) };
    let user = user_no.map(|user_no| user_of(db, user_no)).transpose()?;
    Ok(Some(LinkRecord { user, expires_at }))
}

pub(super) fn redeem_link(
    db: &Connection,
    token: &TokenHash,
    redemption: Redemption,
    now: FormInstant,
) -> Result<User, StoreError> {
    let (user, _) = usable(db, token, now)?.ok_or_else(no_link)?;
    let number = match redeemed(user, redemption.new_user)? {
        Redeemed::Of(number) => number,
        Redeemed::New(new) => user_no(db, &add_user(db, new, now)?.id)?,
    };
    put_password(db, number, &redemption.password)?;
    db.prepare_cached("DELETE FROM links WHERE token = ?1")?.execute([token.0])?;
    user_of(db, number)
}

/// Forgets some sessions and links that have ended; `true` when there may be more.
pub(super) fn forget_expired(db: &Connection, now: FormInstant) -> Result<bool, StoreError> {
    let mut more = false;
    for table in ["sessions", "links"] {
        let sql = format!(
            "DELETE FROM {table} WHERE token IN
                (SELECT token FROM {table} WHERE expires_us <= ?1 LIMIT ?2)"
        );
        let forgotten = db.prepare_cached(&sql)?.execute([now.micros(), EXPIRED_AT_ONCE])?;
        more |= i64::try_from(forgotten).unwrap_or(i64::MAX) >= EXPIRED_AT_ONCE;
    }
    Ok(more)
}
