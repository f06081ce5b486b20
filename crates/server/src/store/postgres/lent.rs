//! Connections lent by the pool, and the time that an answer of the database is waited for: what stands
//! between may take everything and answer nothing, for ever.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use deadpool_postgres::{Object, Pool};

use crate::store::StoreError;

/// A connection that is thrown away, with whatever was begun on it, unless it is given back.
pub(super) struct Lent(Option<Object>);

impl Lent {
    pub(super) async fn by(pool: &Pool) -> Result<Self, StoreError> {
        Ok(Self(Some(pool.get().await?)))
    }

    /// Nothing is under way on it.
    pub(super) fn give_back(mut self) {
        drop(self.0.take());
    }
}

impl Deref for Lent {
    type Target = Object;

    fn deref(&self) -> &Object {
        self.0.as_ref().expect("it is there until it is given back")
    }
}

impl DerefMut for Lent {
    fn deref_mut(&mut self) -> &mut Object {
        self.0.as_mut().expect("it is there until it is given back")
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(object) = self.0.take() {
            drop(Object::take(object));
        }
    }
}

/// Nothing came back.
#[derive(Debug, thiserror::Error)]
#[error("the database did not answer within {} s", .0.as_secs_f32())]
struct NoAnswer(Duration);

/// Waits for the database for a time. When that is over the connections that lie in the pool are thrown
/// away as well, for the way to the database is theirs too.
pub(super) async fn in_time<F: Future>(
    pool: &Pool,
    within: Duration,
    asking: F,
) -> Result<F::Output, StoreError> {
    if let Ok(answered) = tokio::time::timeout(within, asking).await {
        return Ok(answered);
    }
    pool.retain(|_, _| false);
    Err(StoreError::Unavailable(Some(Box::new(NoAnswer(within)))))
}
