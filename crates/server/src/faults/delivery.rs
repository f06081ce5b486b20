//! What faults do to deliveries: a carrier around the one that delivers, and a clock around the one
//! that signatures carry.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::HeaderValue;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::handle::Faults;
use super::table::Fault;
use crate::delivery::Carrier;
use crate::egress::{DeliveryFailure, DeliveryRequest, DeliveryResponse};
use crate::store::Clock;

impl Faults {
    /// A carrier that delivers by another one, with the faults that are set.
    pub fn carrier(&self, by: Arc<dyn Carrier>) -> Arc<dyn Carrier> {
        Arc::new(Faulty { faults: self.clone(), by, held: Mutex::default() })
    }

    /// The clock that deliveries are signed by: another one, and with the fault `stale-timestamp` it
    /// is late. The log of attempts then shows the late time as well.
    pub fn clock(&self, clock: Clock) -> Clock {
        let faults = self.clone();
        Arc::new(move || {
            let late = faults.duration(Fault::StaleTimestamp).unwrap_or_default();
            let late = i64::try_from(late.as_micros()).unwrap_or(i64::MAX);
            let now = clock();
            formsvc_protocol::FormInstant::from_micros(now.micros().saturating_sub(late))
        })
    }
}

struct Faulty {
    faults: Faults,
    by: Arc<dyn Carrier>,
    /// For each URL, what lets the attempt go that waits to be overtaken.
    held: Mutex<HashMap<String, oneshot::Sender<()>>>,
}

impl Carrier for Faulty {
    fn carry<'a>(
        &'a self,
        request: DeliveryRequest<'a>,
    ) -> BoxFuture<'a, Result<DeliveryResponse, DeliveryFailure>> {
        Box::pin(async move {
            let overtaken = match self.faults.duration(Fault::OutOfOrder) {
                Some(patience) => self.overtake_or_wait(&request, patience).await,
                None => None,
            };
            let outcome = self.send(request).await;
            if let Some(overtaken) = overtaken {
                // It may have run out of patience.
                let _ = overtaken.send(());
            }
            outcome
        })
    }
}

impl Faulty {
    async fn send(
        &self,
        mut request: DeliveryRequest<'_>,
    ) -> Result<DeliveryResponse, DeliveryFailure> {
        if self.faults.meets(Fault::WrongSignature) {
            request.signature = not_matching(&request.signature);
        }
        if !self.faults.is_set(Fault::DuplicateDeliveries) {
            return self.by.carry(request).await;
        }
        let outcome = self.by.carry(copy(&request)).await;
        if outcome.is_ok() {
            // What matters is what the first one brought.
            let _ = self.by.carry(request).await;
        }
        outcome
    }

    /// The attempt that waits to be overtaken, to be let go later. Where there is none, this one
    /// waits to be overtaken itself, but never for so long that it has no time left.
    async fn overtake_or_wait(
        &self,
        request: &DeliveryRequest<'_>,
        patience: Duration,
    ) -> Option<oneshot::Sender<()>> {
        let url = request.url.as_str();
        let time_left = request.deadline.saturating_duration_since(Instant::now());
        let overtaken = {
            let mut held = self.held();
            if let Some(waiting) = held.remove(url).filter(|waiting| !waiting.is_closed()) {
                return Some(waiting);
            }
            let (let_go, overtaken) = oneshot::channel();
            held.insert(url.to_owned(), let_go);
            overtaken
        };
        // Both ends are the same for this attempt: somebody overtook it, or nobody did.
        let _ = tokio::time::timeout(patience.min(time_left / 2), overtaken).await;
        None
    }

    fn held(&self) -> MutexGuard<'_, HashMap<String, oneshot::Sender<()>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn copy<'a>(request: &DeliveryRequest<'a>) -> DeliveryRequest<'a> {
    DeliveryRequest {
        url: request.url,
        event: request.event.clone(),
        signature: request.signature.clone(),
        body: request.body.clone(),
        deadline: request.deadline,
    }
}

/// A signature of the same shape and time, every hexadecimal digit of which is another one.
fn not_matching(signature: &HeaderValue) -> HeaderValue {
    let parts = signature.to_str().unwrap_or_default().split(',');
    let wrong = parts.map(|part| match part.strip_prefix("v1=") {
        Some(digits) => format!("v1={}", digits.chars().map(another_digit).collect::<String>()),
        None => part.to_owned(),
    });
    let wrong: Vec<_> = wrong.collect();
    HeaderValue::try_from(wrong.join(",")).unwrap_or_else(|_| signature.clone())
}

fn another_digit(digit: char) -> char {
    if digit == '0' { '1' } else { '0' }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_signature_has_the_shape_and_time_of_the_right_one() {
        let right = format!("t=1767225600,v1={},v1={}", "0f".repeat(32), "00".repeat(32));
        let wrong = not_matching(&HeaderValue::try_from(right).unwrap());
        let expected = format!("t=1767225600,v1={},v1={}", "10".repeat(32), "11".repeat(32));
        assert_eq!(wrong.to_str().unwrap(), expected);
    }

    #[test]
    fn the_clock_is_late_only_while_the_fault_is_set() {
        let faults = Faults::new();
        let clock =
            faults.clock(Arc::new(|| formsvc_protocol::FormInstant::from_micros(10_000_000)));
        assert_eq!(clock().micros(), 10_000_000);
        faults.set("stale-timestamp=4s".parse().unwrap());
        assert_eq!(clock().micros(), 6_000_000);
        faults.clear();
        assert_eq!(clock().micros(), 10_000_000);
    }
}
