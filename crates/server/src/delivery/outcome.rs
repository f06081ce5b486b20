//! What an attempt means for its delivery (SPEC §3).

use std::time::Duration;

use formsvc_protocol::RetrySchedule;

use crate::store::{DeliveryState, Verdict};

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
        Ending::Ours => return hindered(standing, Hindrance::Ours { wait: schedule.base }),
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

/// Why a delivery was not attempted.
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

/// What becomes of a delivery that was not attempted.
pub(super) fn hindered(standing: Standing, hindrance: Hindrance) -> Verdict {
    match hindrance {
        // No retry is spent.
        Hindrance::Ours { wait } => Verdict::Retry { after: wait, retries: standing.retries },
        Hindrance::Final if standing.state.is_unfinished() => Verdict::Failed,
        Hindrance::Final => Verdict::Unchanged,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILURE: Ending = Ending::Failure { retry_after: None };

    fn fails(state: DeliveryState, retries: u32, resend: bool) -> Verdict {
        verdict(Standing { state, retries, resend }, FAILURE, &RetrySchedule::default(), 0.0)
    }

    fn retry(seconds: u64, retries: u32) -> Verdict {
        Verdict::Retry { after: Duration::from_secs(seconds), retries }
    }

    #[test]
    fn a_success_delivers_whatever_came_before() {
        for (state, _) in DeliveryState::ALL {
            let standing = Standing { state, retries: 3, resend: true };
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
    fn what_cannot_be_attempted_fails_unless_it_was_finished_and_waits_when_it_is_our_fault() {
        for (state, _) in DeliveryState::ALL {
            let standing = Standing { state, retries: 2, resend: true };
            let expected = if state.is_unfinished() { Verdict::Failed } else { Verdict::Unchanged };
            assert_eq!(hindered(standing, Hindrance::Final), expected);
            let wait = Duration::from_secs(60);
            assert_eq!(hindered(standing, Hindrance::Ours { wait }), retry(60, 2));
        }
    }

    #[test]
    fn what_this_service_could_not_do_spends_no_retry() {
        let standing = Standing { state: DeliveryState::Retrying, retries: 3, resend: false };
        let outcome = verdict(standing, Ending::Ours, &RetrySchedule::default(), 0.0);
        assert_eq!(outcome, retry(10, 3));
    }

    #[test]
    fn an_endpoint_that_asks_for_time_gets_it() {
        let asks = Ending::Failure { retry_after: Some(Duration::from_secs(100)) };
        let standing = Standing { state: DeliveryState::Pending, retries: 0, resend: false };
        assert_eq!(verdict(standing, asks, &RetrySchedule::default(), 0.0), retry(100, 1));
    }
}
