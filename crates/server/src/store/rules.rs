//! What every backend decides alike, whatever its statements look like.

use std::time::Duration;

use formsvc_protocol::{FormId, FormInstant, FormStatus, UserId};

use super::{
    Due, EndpointNo, LINK_HAS_USER, LINK_WANTS_USER, Lane, NewForm, StoreError, UserRecord,
};

/// How long an idempotency key is remembered.
pub(super) const REMEMBERED: Duration = Duration::from_secs(24 * 60 * 60);
/// Sessions, and links, forgotten in one transaction once they have ended.
pub(super) const EXPIRED_AT_ONCE: i64 = 500;
/// Where a resend stands in its lane: in the past by any clock. A command that asks for it, and the
/// server that makes it, may not time alike.
pub(super) const AT_ONCE: FormInstant = FormInstant::EPOCH;

/// Where a resend stands, by the place that the delivery had among the late ones: its time, and whether it
/// was being resent already. One that comes before a retry stands as long before all times as the retry is
/// after them, so that it is known where that was.
pub(super) fn place_of_resend(late: Option<(FormInstant, bool)>) -> FormInstant {
    match late {
        Some((retry, false)) => mirrored(retry).min(AT_ONCE),
        // One that was put off knows no more of it.
        Some((resend, true)) => resend.min(AT_ONCE),
        None => AT_ONCE,
    }
}

/// When the retry is due that a resend came before, by the place of that.
pub(super) fn retry_of(resend: FormInstant) -> Option<FormInstant> {
    (resend < AT_ONCE).then(|| mirrored(resend))
}

fn mirrored(at: FormInstant) -> FormInstant {
    FormInstant::from_micros(at.micros().saturating_neg())
}

/// There is no such form, or nobody can see it yet.
pub(super) fn no_form(form: &FormId) -> StoreError {
    StoreError::NotFound { what: "form", value: form.as_str().into() }
}

/// There is no such user.
pub(super) fn no_user(user: &UserId) -> StoreError {
    StoreError::NotFound { what: "user", value: user.as_str().into() }
}

/// A session was to begin by a password that is not the user's any more.
pub(super) fn password_changed(user: &UserId) -> StoreError {
    StoreError::NotFound { what: "user with this password", value: user.as_str().into() }
}

/// A link was used or has expired, or never was. What was asked for is a secret.
pub(super) fn no_link() -> StoreError {
    StoreError::NotFound { what: "link", value: "given".into() }
}

/// Whose password a redeemed link sets.
pub(super) enum Redeemed {
    /// That of the user whose link it is.
    Of(i64),
    /// That of the user who is made with it.
    New(UserRecord),
}

/// A link of a user makes none; the first owner's, which is nobody's yet, makes one.
pub(super) fn redeemed(link: Option<i64>, new: Option<UserRecord>) -> Result<Redeemed, StoreError> {
    let invalid = |rule| StoreError::Invalid { what: "link", value: "given".into(), rule };
    match (link, new) {
        (Some(user_no), None) => Ok(Redeemed::Of(user_no)),
        (None, Some(new)) => Ok(Redeemed::New(new)),
        (Some(_), Some(_)) => Err(invalid(LINK_HAS_USER)),
        (None, None) => Err(invalid(LINK_WANTS_USER)),
    }
}

/// The text of a status that a form can have.
pub(super) fn known_status(status: &FormStatus) -> Result<&str, StoreError> {
    match status {
        FormStatus::Draft | FormStatus::Published | FormStatus::Closed => Ok(status.as_str()),
        other => Err(StoreError::Invalid {
            what: "form status",
            value: other.as_str().into(),
            rule: "is none of draft, published, closed",
        }),
    }
}

/// What e-mail addresses are compared by.
pub(crate) fn email_key(email: &str) -> String {
    email.to_lowercase()
}

/// A front of a lane, as of now.
pub(super) fn due_at(endpoint: EndpointNo, lane: Lane, at: FormInstant, now: FormInstant) -> Due {
    // What was never attempted waits for nothing, whatever the clocks say.
    let after = if lane == Lane::Fresh { Duration::ZERO } else { at.since(now) };
    // A resend stands before all times, and waits since it was asked for.
    let overdue = if at <= AT_ONCE { Duration::ZERO } else { now.since(at) };
    Due { endpoint, lane, after, overdue }
}

/// What stands in place of the public id of a form under import, so that one which was given up keeps
/// nobody from importing again: no public id, which has no space.
pub(super) fn staged_public_id(form: &NewForm) -> String {
    format!("{} {}", form.public_id, form.id)
}

/// What stands in place of the public id of a form under import that is being removed: it may have lost
/// submissions already, so that nobody may go on with it. Statements find such forms by it.
pub(super) fn removed_public_id(id: &FormId) -> String {
    format!(" {id}")
}

/// The public id that a form under import is to have; none when it is being removed.
pub(super) fn wanted_public_id(staged: &str) -> Option<&str> {
    let (public_id, _) = staged.split_once(' ')?;
    Some(public_id).filter(|public_id| !public_id.is_empty())
}
