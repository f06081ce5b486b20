//! Deliveries whose rows cannot be read, because of a change by hand or a damaged disk. They fail, so
//! that they end and hold up no others. Once the row is repaired, the delivery can be resent.

use std::error::Error;

use formsvc_protocol::FormInstant;
use rusqlite::{Connection, params};

use crate::causes::on_one_line;
use crate::store::{DeliveryKey, DeliveryState, StoreError};

/// Why a delivery cannot be read. Contains no values of the row.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("it, or its submission, is missing")]
    Missing,
    #[error("its submission is not of the form it is stored in")]
    NotAnItem,
    #[error("a column has a value that it cannot have")]
    Column(#[from] rusqlite::Error),
}

/// Returns true if an error concerns one row, not the database: other rows may be readable.
pub(super) fn is_of_a_row(error: &rusqlite::Error) -> bool {
    match error.sqlite_error_code() {
        None => true,
        Some(code) => code == rusqlite::ErrorCode::ConstraintViolation,
    }
}

/// Marks a delivery that is no longer in the queue as failed. One that was finished stays as it was.
pub(super) fn fail(
    db: &Connection,
    key: DeliveryKey,
    now: FormInstant,
    why: &(dyn Error + 'static),
) -> Result<(), StoreError> {
    let (delivery, cause) = (key.id(), on_one_line(why));
    tracing::error!(%delivery, cause, "delivery is unreadable; marked failed");
    let finished = [DeliveryState::Delivered, DeliveryState::Failed, DeliveryState::Canceled];
    let [delivered, failed, canceled] = finished.map(|state| state as i64);
    db.prepare_cached(
        "UPDATE deliveries SET next_us = NULL, own_fault_us = NULL,
            finished_us = iif(state IN (?4, ?5, ?6), finished_us, ?3),
            state = iif(state IN (?4, ?5, ?6), state, ?5)
         WHERE submission = ?1 AND endpoint_no = ?2",
    )?
    .execute(params![
        key.submission,
        key.endpoint.0,
        now.micros(),
        delivered,
        failed,
        canceled
    ])?;
    Ok(())
}
