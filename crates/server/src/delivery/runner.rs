//! Who attempts: one delivery, and then the next that waits for the same endpoint, as long as slots are
//! plenty.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::at_hand::Held;
use super::attempt::not_made;
use super::code::AttemptCode;
use super::desk::{Desk, Slot};
use super::errand::Errand;
use super::guard::{Obstacle, Target};
use super::outcome::{Hindrance, Standing, hindered};
use crate::causes::on_one_line;
use crate::store::{Claimed, Verdict};

/// How long an endpoint is left alone that cannot be read, or whose secret cannot.
pub(super) const UNREADABLE_WAIT: Duration = Duration::from_secs(60);
/// How long a delivery rests whose attempts ended with the process, time and again. Most likely it only
/// stood near what ended it: so it is not given up, and cannot make the process end all the time.
const UNFINISHED_WAIT: Duration = Duration::from_secs(3_600);

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
    let Claimed { state, retries, resend, .. } = *claimed;
    let standing = Standing { state, retries, resend };
    let delivery = claimed.key.id();
    let (hindrance, record) = match obstacle {
        Obstacle::Url(_) => {
            let code = AttemptCode::UrlRefused;
            desk.equipment.metrics.attempt_not_made(code);
            let record = not_made(claimed, (desk.equipment.clock)(), code, cause.clone());
            (Hindrance::Final, Some(record))
        }
        Obstacle::Unfinished(_) => (Hindrance::Ours { wait: UNFINISHED_WAIT }, None),
        Obstacle::Secret { .. } | Obstacle::EmptySecret(_) => {
            let until = Instant::now() + UNREADABLE_WAIT;
            let put_off = Hindrance::Ours { wait: UNREADABLE_WAIT };
            // Others that are at hand follow one by one, and are not told of; the rest stay where they are.
            if !desk.books().board.block(claimed.key.endpoint, until) {
                let verdict: Verdict = hindered(standing, put_off);
                return desk.settle(claimed, verdict, None, held.lease_end).await;
            }
            (put_off, None)
        }
    };
    tracing::error!(%delivery, cause, "a delivery cannot be attempted");
    desk.settle(claimed, hindered(standing, hindrance), record, held.lease_end).await;
}
