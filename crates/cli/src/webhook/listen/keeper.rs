//! Where deliveries are kept.

use std::sync::Arc;

use crate::webhook::capture::{CaptureNumber, Outcome, Received};

/// Where deliveries are kept.
#[derive(Clone, Debug)]
pub(crate) enum Keeper {
    /// Nowhere: they have no numbers.
    Nowhere,
}

impl Keeper {
    /// Keeps a request; returns once it would survive the end of this process. The error is for people.
    #[expect(clippy::unused_async, reason = "a store answers once it has written")]
    pub(super) async fn keep(&self, _: &Arc<Received>) -> Result<Option<CaptureNumber>, String> {
        match self {
            Self::Nowhere => Ok(None),
        }
    }

    /// Keeps what was made of it, some time soon.
    pub(super) fn settle(&self, _: CaptureNumber, _: &Arc<Outcome>) {
        match self {
            Self::Nowhere => {}
        }
    }
}
