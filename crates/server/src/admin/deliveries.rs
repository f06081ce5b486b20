//! What the owner of a form does with deliveries: looks at them, and has one made again.

use formsvc_protocol::DeliveryId;

use super::{Admin, AdminError};
use crate::store::{DeliveriesRequest, DeliveryDetail, DeliveryRecord, StoreError};

impl Admin {
    /// Deliveries of a form, newest submission first.
    pub async fn list_deliveries(
        &self,
        request: DeliveriesRequest,
    ) -> Result<Vec<DeliveryRecord>, AdminError> {
        Ok(self.store.deliveries(request).await?)
    }

    /// One delivery with its attempts.
    pub async fn delivery(&self, id: &DeliveryId) -> Result<DeliveryDetail, AdminError> {
        let found = self.store.delivery(id).await?;
        let missing = || StoreError::NotFound { what: "delivery", value: id.as_str().to_owned() };
        found.ok_or_else(|| missing().into())
    }

    /// Has a delivery attempted once more, at once and outside the budget of retries. It can turn
    /// `failed` into `delivered`, and never the other way round. Refused while it is being attempted,
    /// and when its endpoint is not enabled.
    pub async fn resend(&self, id: &DeliveryId) -> Result<DeliveryRecord, AdminError> {
        Ok(self.store.resend(id).await?)
    }
}
