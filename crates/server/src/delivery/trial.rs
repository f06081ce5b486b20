//! A delivery that is made once, for a person who waits for it, and is recorded nowhere.

use std::time::Duration;

use bytes::Bytes;
use formsvc_protocol::FormInstant;

use super::attempt::{self, Carrier, Times};
use super::guard::Guard;
use crate::secrets::Vault;
use crate::store::{Attempt, ClaimedEndpoint};

/// A trial that was not made: the endpoint's URL breaks a rule, or its secret cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the endpoint cannot be tried: {0}")]
pub struct TrialError(String);

/// Sends a body to an endpoint as a delivery is sent: signed with its secrets, over the same guard.
/// `now` is the wall's clock.
pub async fn trial(
    carrier: &dyn Carrier,
    vault: &Vault,
    endpoint: &ClaimedEndpoint,
    body: Bytes,
    now: FormInstant,
    timeout: Duration,
) -> Result<Attempt, TrialError> {
    let target = Guard::new(vault.clone()).target(endpoint);
    let target = target.map_err(|obstacle| TrialError(obstacle.to_string()))?;
    let times = Times::beginning(now, timeout);
    Ok(attempt::attempt(carrier, &target, body, false, times).await.record)
}
