//! What has to be tidied up now and then.

use std::sync::Arc;
use std::time::Duration;

use crate::causes::on_one_line;
use crate::store::Store;

/// How often old idempotency keys are forgotten.
const EVERY: Duration = Duration::from_secs(600);

/// Tidies up for as long as it is left running. What fails is tried again the next time.
pub(super) async fn keep_tidy(store: Arc<dyn Store>) {
    loop {
        tokio::time::sleep(EVERY).await;
        loop {
            match store.forget_idempotency_keys().await {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    let cause = on_one_line(&error);
                    tracing::warn!(cause, "old idempotency keys could not be forgotten");
                    break;
                }
            }
        }
    }
}
