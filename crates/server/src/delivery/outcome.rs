//! What an attempt means for its delivery (SPEC §3).

use std::time::Duration;

use formsvc_protocol::RetrySchedule;

use crate::store::{Claimed, DeliveryState, Verdict};

/// How long faults of this service may prevent attempts at a delivery. Each later one uses an
/// attempt, so that every delivery ends.
const OWN_FAULTS_MAX: Duration = Duration::from_secs(3_600);
/// Longest pause after a fault of this service, unless the fault asks for a longer one.
const OWN_FAULT_PAUSE_MAX: Duration = Duration::from_secs(600);

/// How an attempt ended, as far as the delivery is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The endpoint answered 2xx in time.
    Success,
    /// Anything else: another status, silence, no connection.
    Failure {
        /// How long the endpoint asked to be left alone, with a 429 or 503.
        retry_after: Option<Duration>,
    },
    /// This service could not make the attempt.
    Ours,
}

/// Where the delivery stood before the attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    /// Its state.
    pub state: DeliveryState,
    /// Retries used.
    pub retries: u32,
    /// Whether a person asked for this attempt.
    pub resend: bool,
    /// How long only faults of this service have prevented attempts.
    pub own_fault_for: Duration,
}

impl Standing {
    pub(super) fn of(claimed: &Claimed) -> Self {
        let Claimed { state, retries, resend, own_fault_for, .. } = *claimed;
        Self { state, retries, resend, own_fault_for }
    }

    /// Returns true if a fault of this service uses an attempt, as one of the endpoint does.
    pub(super) fn own_fault_uses_attempt(self) -> bool {
        self.own_fault_for >= OWN_FAULTS_MAX
    }
}

/// What becomes of a delivery. `random` is between 0 and 1.
pub(super) fn verdict(
    standing: Standing,
    ending: Ending,
    schedule: &RetrySchedule,
    random: f64,
) -> Verdict {
    let retry_after = match ending {
        Ending::Success => return Verdict::Delivered,
        Ending::Failure { retry_after } => retry_after,
        Ending::Ours => {
            let hindrance = Hindrance::Ours { wait: schedule.base };
            return hindered(standing, hindrance, schedule, random);
        }
    };
    let retry =
        |retries| Verdict::Retry { after: schedule.pause(retries, random, retry_after), retries };
    match standing.state {
        // A finished delivery stays what it was: what failed for good is not retried by itself.
        DeliveryState::Delivered | DeliveryState::Failed | DeliveryState::Canceled => {
            Verdict::Unchanged
        }
        // The retry that the resend came before is still to come, and stays where it was: the pause is for
        // one whose place nobody knows any more.
        DeliveryState::Retrying if standing.resend => retry(standing.retries),
        DeliveryState::Pending | DeliveryState::Retrying => {
            if standing.retries < schedule.retries {
                retry(standing.retries + 1)
            } else {
                Verdict::Failed
            }
        }
    }
}

/// Why a delivery could not be attempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hindrance {
    /// It never can be.
    Final,
    /// Something is wrong with this service, and nothing with the endpoint.
    Ours {
        /// How long to wait until it may be right.
        wait: Duration,
    },
}

/// Decides about a delivery that could not be attempted. `random` is between 0 and 1.
pub(super) fn hindered(
    standing: Standing,
    hindrance: Hindrance,
    schedule: &RetrySchedule,
    random: f64,
) -> Verdict {
    match hindrance {
        Hindrance::Ours { wait } if standing.own_fault_uses_attempt() => {
            verdict(standing, Ending::Failure { retry_after: Some(wait) }, schedule, random)
        }
        // The pause grows with the time, so that many deliveries that cannot be attempted cost little.
        Hindrance::Ours { wait } => {
            let after = wait.max(standing.own_fault_for.min(OWN_FAULT_PAUSE_MAX));
            Verdict::Retry { after, retries: standing.retries }
        }
        Hindrance::Final if standing.state.is_unfinished() => Verdict::Failed,
        Hindrance::Final => Verdict::Unchanged,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILURE: Ending = Ending::Failure { retry_after: None };

    fn fails(state: DeliveryState, retries: u32, resend: bool) -> Verdict {
        verdict(standing(state, retries, resend), FAILURE, &RetrySchedule::default(), 0.0)
    }

    fn standing(state: DeliveryState, retries: u32, resend: bool) -> Standing {
        Standing { state, retries, resend, own_fault_for: Duration::ZERO }
    }

    /// What follows a fault of this service that asks for a wait.
    fn own_fault(standing: Standing, wait: u64, own_fault_for: u64) -> Verdict {
        let standing = Standing { own_fault_for: Duration::from_secs(own_fault_for), ..standing };
        let hindrance = Hindrance::Ours { wait: Duration::from_secs(wait) };
        hindered(standing, hindrance, &RetrySchedule::default(), 0.0)
    }

    fn retry(seconds: u64, retries: u32) -> Verdict {
        Verdict::Retry { after: Duration::from_secs(seconds), retries }
    }

    #[test]
    fn a_success_delivers_whatever_came_before() {
        for (state, _) in DeliveryState::ALL {
            let standing = standing(state, 3, true);
            let outcome = verdict(standing, Ending::Success, &RetrySchedule::default(), 0.5);
            assert_eq!(outcome, Verdict::Delivered);
        }
    }

    #[test]
    fn the_fourth_failure_is_final() {
        assert_eq!(fails(DeliveryState::Pending, 0, false), retry(10, 1));
        assert_eq!(fails(DeliveryState::Retrying, 1, false), retry(60, 2));
        assert_eq!(fails(DeliveryState::Retrying, 2, false), retry(360, 3));
        assert_eq!(fails(DeliveryState::Retrying, 3, false), Verdict::Failed);
    }

    #[test]
    fn a_resend_spends_no_retry_and_changes_nothing_that_was_final() {
        assert_eq!(fails(DeliveryState::Retrying, 2, true), retry(60, 2));
        assert_eq!(fails(DeliveryState::Failed, 3, true), Verdict::Unchanged);
        assert_eq!(fails(DeliveryState::Delivered, 0, true), Verdict::Unchanged);
        // Before any attempt it is the first.
        assert_eq!(fails(DeliveryState::Pending, 0, true), retry(10, 1));
    }

    #[test]
    fn final_hindrance_fails_unfinished_deliveries_only() {
        for (state, _) in DeliveryState::ALL {
            let expected = if state.is_unfinished() { Verdict::Failed } else { Verdict::Unchanged };
            let standing = standing(state, 2, true);
            let schedule = RetrySchedule::default();
            assert_eq!(hindered(standing, Hindrance::Final, &schedule, 0.0), expected);
        }
    }

    #[test]
    fn own_fault_within_an_hour_uses_no_attempt() {
        for (state, _) in DeliveryState::ALL {
            let standing = standing(state, 3, true);
            for (own_fault_for, pause) in [(0, 60), (59, 60), (61, 61), (3_599, 600)] {
                assert_eq!(own_fault(standing, 60, own_fault_for), retry(pause, 3));
            }
            assert_eq!(
                own_fault(standing, 3_600, 3_599),
                retry(3_600, 3),
                "its own wait is longer"
            );
        }
    }

    #[test]
    fn own_fault_after_an_hour_uses_an_attempt() {
        let unfinished = |state, retries| own_fault(standing(state, retries, false), 60, 3_600);
        assert_eq!(unfinished(DeliveryState::Pending, 0), retry(60, 1));
        assert_eq!(unfinished(DeliveryState::Retrying, 1), retry(60, 2));
        assert_eq!(unfinished(DeliveryState::Retrying, 2), retry(360, 3));
        assert_eq!(unfinished(DeliveryState::Retrying, 3), Verdict::Failed);
        // A resend ends with its one attempt.
        let resent = |state| own_fault(standing(state, 2, true), 60, 3_600);
        assert_eq!(resent(DeliveryState::Failed), Verdict::Unchanged);
        assert_eq!(resent(DeliveryState::Retrying), retry(60, 2));
    }

    /// However long it may wait, no fault of this service repeats for ever.
    #[test]
    fn own_faults_alone_end_every_delivery() {
        let schedule = RetrySchedule::default();
        for wait in [10, 60, 3_600].map(Duration::from_secs) {
            let mut standing = standing(DeliveryState::Pending, 0, false);
            let ended = (0..500).any(|_| {
                let hindrance = Hindrance::Ours { wait };
                let Verdict::Retry { after, retries } =
                    hindered(standing, hindrance, &schedule, 0.0)
                else {
                    return true;
                };
                if standing.own_fault_uses_attempt() {
                    standing.state = DeliveryState::Retrying;
                }
                (standing.retries, standing.own_fault_for) =
                    (retries, standing.own_fault_for + after);
                false
            });
            let waited = standing.own_fault_for;
            assert!(
                ended && waited <= OWN_FAULTS_MAX + 4 * wait.max(OWN_FAULTS_MAX / 6),
                "{waited:?}"
            );
        }
    }

    #[test]
    fn overload_within_an_hour_uses_no_attempt() {
        let standing = standing(DeliveryState::Retrying, 3, false);
        let outcome = verdict(standing, Ending::Ours, &RetrySchedule::default(), 0.0);
        assert_eq!(outcome, retry(10, 3));
    }

    #[test]
    fn an_endpoint_that_asks_for_time_gets_it() {
        let asks = Ending::Failure { retry_after: Some(Duration::from_secs(100)) };
        let standing = standing(DeliveryState::Pending, 0, false);
        assert_eq!(verdict(standing, asks, &RetrySchedule::default(), 0.0), retry(100, 1));
    }
}
