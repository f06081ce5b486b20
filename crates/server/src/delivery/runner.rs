//! Who attempts: one delivery, and then the next that waits for the same endpoint, as long as slots are
//! plenty.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::at_hand::Held;
use super::attempt::not_made;
use super::code::AttemptCode;
use super::desk::{Desk, Outcome, Slot};
use super::errand::Errand;
use super::guard::{Obstacle, Target};
use super::outcome::{Hindrance, Standing, hindered};
use super::running::Equipment;
use crate::causes::on_one_line;

/// Pause of an endpoint that cannot be read, and least pause of a delivery whose secret cannot.
pub(super) const UNREADABLE_WAIT: Duration = Duration::from_secs(60);
/// Pause of a delivery whose attempts ended with the process, time and again. Most likely it was only
/// under way when something else ended the process, so it is not failed at once.
const INTERRUPTED_WAIT: Duration = Duration::from_secs(3_600);

/// Attempts a delivery, and what else waits for its endpoint.
pub(super) async fn run(held: Held, slot: Slot) {
    let mut next = Some((held, slot));
    while let Some((held, mut slot)) = next {
        let timeout = slot.desk().equipment.options.timeout;
        if !held.lasts_for(timeout, Instant::now()) {
            slot.desk().give_back(vec![held]).await;
            next = slot.go_on();
            continue;
        }
        let admitted = slot.desk().books().guard.admit(&held.claimed);
        match admitted {
            Ok(target) => attempt(held, target, &mut slot).await,
            Err(obstacle) => stumble(slot.desk(), &held, &obstacle).await,
        }
        next = slot.go_on();
    }
}

async fn attempt(held: Held, target: Arc<Target>, slot: &mut Slot) {
    let desk = Arc::clone(slot.desk());
    Errand::new(held, target, &desk).run(&mut slot.over).await;
}

/// Settles a delivery that cannot be attempted.
async fn stumble(desk: &Desk, held: &Held, obstacle: &Obstacle) {
    let (claimed, cause) = (&held.claimed, on_one_line(obstacle));
    let delivery = claimed.key.id();
    let (code, hindrance) = match obstacle {
        Obstacle::Url(_) => (AttemptCode::UrlRefused, Hindrance::Final),
        Obstacle::Interrupted(_) => {
            (AttemptCode::Interrupted, Hindrance::Ours { wait: INTERRUPTED_WAIT })
        }
        Obstacle::Secret { .. } | Obstacle::EmptySecret(_) => {
            (AttemptCode::SecretUnreadable, Hindrance::Ours { wait: UNREADABLE_WAIT })
        }
    };
    let Equipment { options, random, metrics, clock, .. } = &desk.equipment;
    let standing = Standing::of(claimed);
    let verdict = hindered(standing, hindrance, &options.schedule, random());
    let own_fault = hindrance != Hindrance::Final;
    let attempt = if own_fault && !standing.own_fault_uses_attempt() {
        None
    } else {
        metrics.attempt_not_made(code);
        Some(not_made(claimed, clock(), code, cause.clone()))
    };
    // A fault that lasts is logged when it begins, and each time it uses an attempt.
    if attempt.is_some() || standing.own_fault_for.is_zero() {
        tracing::error!(%delivery, cause, "a delivery cannot be attempted");
    }
    desk.settle(claimed, Outcome { verdict, attempt, own_fault }, held.lease_end).await;
}
