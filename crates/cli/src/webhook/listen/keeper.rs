//! Where deliveries are kept.

use std::sync::Arc;

use crate::webhook::capture::{CaptureNumber, Outcome, Received};
use crate::webhook::store::Store;

/// Where deliveries are kept.
#[derive(Clone, Debug)]
pub(crate) struct Keeper(pub(crate) Store);

impl Keeper {
    /// Keeps a request; returns once it would survive the end of this process. The error is for people.
    pub(super) async fn keep(&self, received: &Arc<Received>) -> Result<CaptureNumber, String> {
        self.0.keep(Arc::clone(received)).await.map_err(|error| error.to_string())
    }

    /// Keeps what was made of it, some time soon.
    pub(super) fn settle(&self, number: CaptureNumber, outcome: &Arc<Outcome>) {
        self.0.settle(number, Arc::clone(outcome));
    }
}
