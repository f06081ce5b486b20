//! Removals that were begun and not finished.

use deadpool_postgres::GenericClient;

use super::{endpoints, staged};
use crate::store::StoreError;

/// A step of unfinished removals.
pub(super) struct RemovalStep {
    /// Deliveries that were canceled.
    pub(super) canceled: u64,
    /// Whether there may be more to do.
    pub(super) more: bool,
}

/// Takes one step of the first removal that is not finished.
pub(super) async fn step(
    db: &impl GenericClient,
    now: Option<i64>,
) -> Result<RemovalStep, StoreError> {
    if let Some(endpoint) = endpoints::being_removed(db).await? {
        let canceled = endpoints::cancel_some(db, &endpoint, now).await?.deliveries;
        return Ok(RemovalStep { canceled, more: true });
    }
    let given_up = staged::given_up(db, now).await?.pop();
    if let Some(form) = &given_up {
        staged::remove_some(db, form).await?;
    }
    Ok(RemovalStep { canceled: 0, more: given_up.is_some() })
}
