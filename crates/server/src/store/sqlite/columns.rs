//! Columns read into the types of the protocol.

use formsvc_protocol::{FormInstant, IdError, SubmissionId};
use rusqlite::types::{FromSqlError, ToSqlOutput, Type, Value, ValueRef};
use rusqlite::{Row, ToSql};

/// An instant from its microseconds.
pub(super) fn instant(micros: i64) -> FormInstant {
    FormInstant::from_micros(micros)
}

/// An id from a text column, read by the constructor of its type.
pub(super) fn text_id<T>(
    row: &Row<'_>,
    column: usize,
    new: fn(&str) -> Result<T, IdError>,
) -> rusqlite::Result<T> {
    let text = row.get_ref(column)?.as_str()?;
    new(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(
            column,
            Type::Text,
            Box::new(FromSqlError::Other(Box::new(error))),
        )
    })
}

/// A submission id as stored: 16 bytes when it is of the service's own form, else its text.
pub(super) struct StoredId(Value);

impl StoredId {
    pub(super) fn new(id: &SubmissionId) -> Self {
        Self(match id.to_bits() {
            Some(bits) => Value::Blob(bits.into()),
            None => Value::Text(id.as_str().into()),
        })
    }
}

/// A submission id as it was stored.
pub(super) fn stored_id(row: &Row<'_>, column: usize) -> rusqlite::Result<SubmissionId> {
    match row.get_ref(column)? {
        ValueRef::Blob(bits) => match bits.try_into() {
            Ok(bits) => Ok(SubmissionId::from_bits(bits)),
            Err(_) => Err(rusqlite::Error::InvalidColumnType(column, "id".into(), Type::Blob)),
        },
        _ => text_id(row, column, SubmissionId::new),
    }
}

impl ToSql for StoredId {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::from(&self.0)))
    }
}
