//! Parking: a delivery that cannot be read rests, so that what stands behind it goes on.
//!
//! Somebody may have changed a row by hand, or a disk may have forgotten it. Nothing is removed: once
//! the row is as it should be, its delivery is still in the queue.

use std::error::Error;
use std::time::Duration;

use formsvc_protocol::FormInstant;
use rusqlite::{Connection, params};

use super::leases::Held;
use super::queue::{Entry, insert};
use crate::causes::on_one_line;
use crate::store::{DeliveryKey, Lane, StoreError};

/// How long it rests, until it is looked at again.
pub(super) const REST: Duration = Duration::from_secs(3_600);

/// Why a delivery cannot be read. Says nothing of what is in the row.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("it, or its submission, is missing")]
    Missing,
    #[error("its submission is not of the form it is stored in")]
    NotAnItem,
    #[error("a column has a value that it cannot have")]
    Column(#[from] rusqlite::Error),
}

/// Whether what failed is a row, and not the database: other rows may do.
pub(super) fn is_of_a_row(error: &rusqlite::Error) -> bool {
    match error.sqlite_error_code() {
        None => true,
        Some(code) => code == rusqlite::ErrorCode::ConstraintViolation,
    }
}

/// Puts a delivery that stands nowhere in the queue, for when it has rested.
pub(super) fn park(
    db: &Connection,
    key: DeliveryKey,
    held: Held,
    now: FormInstant,
    why: &(dyn Error + 'static),
) -> Result<(), StoreError> {
    let (delivery, cause) = (key.id(), on_one_line(why));
    tracing::error!(%delivery, cause, "a delivery cannot be read; it rests");
    let at = now.plus(REST);
    let Held { submission, retries, claims, resend, .. } = held;
    let (endpoint, lane) = (key.endpoint, Lane::Late);
    insert(db, &Entry { endpoint, lane, at, submission, retries, claims, resend })?;
    db.prepare_cached(
        "UPDATE deliveries SET next_us = ?3 WHERE submission = ?1 AND endpoint_no = ?2",
    )?
    .execute(params![submission, endpoint.0, at.micros()])?;
    Ok(())
}
