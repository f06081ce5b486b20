//! What any inbox must keep, as checks that run against each store under the same names.

mod claims;
mod keys;
mod leases;
mod marks;
mod model;
mod queue;
mod world;

pub(super) use world::{Clock, World, wait_until};

macro_rules! checks {
    ($contract:ident: $( $module:ident: $( $name:ident ),+ ; )+) => {
        /// One test for each check, on stores that an async function makes; where it gives none, there is
        /// none on this machine.
        macro_rules! $contract {
            ($fresh:path) => {
                $($(
                    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                    async fn $name() {
                        if let Some(world) = $fresh().await {
                            $crate::inbox::contract::checks::$name(world).await;
                        }
                    }
                )+)+
            };
        }
        pub(super) use $contract;
    };
}

/// The checks by their names.
pub(super) mod checks {
    pub(crate) use super::claims::*;
    pub(crate) use super::keys::*;
    pub(crate) use super::leases::*;
    pub(crate) use super::marks::*;
    pub(crate) use super::model::*;
    pub(crate) use super::queue::*;
}

checks! { inbox_contract:
    claims: of_a_hundred_claims_at_once_one_is_acquired,
        a_key_under_way_is_in_flight,
        a_released_key_is_claimed_again,
        a_released_claim_is_worth_nothing,
        an_abandoned_claim_is_released,
        a_claim_whose_caller_has_gone_does_not_stay;
    leases: a_lease_that_ran_out_is_taken_over,
        a_claim_that_was_taken_over_changes_nothing,
        of_a_hundred_that_take_over_one_does,
        a_lease_that_ran_out_completes_while_nobody_took_over,
        an_extended_lease_holds_longer,
        a_shortened_lease_ends_sooner,
        fencing_numbers_grow;
    marks: a_handled_key_is_a_duplicate,
        completing_again_does_no_harm,
        a_handled_key_cannot_be_released_or_extended,
        a_mark_ends_with_its_time_to_live,
        pruning_takes_what_has_ended_and_no_more_than_was_asked,
        a_handled_key_is_a_duplicate_whoever_asks;
    model: any_operations_in_any_order_do_as_the_model_says;
    keys: scopes_do_not_hide_a_key_from_each_other,
        any_text_is_a_key,
        a_key_has_bounds,
        a_lease_has_bounds,
        an_error_shows_no_key;
}

checks! { queue_contract:
    queue: what_was_accepted_is_handled_once,
        of_a_hundred_that_accept_one_key_one_is_new,
        what_was_accepted_is_kept_byte_for_byte,
        the_oldest_is_next,
        workers_take_each_its_own,
        a_worker_that_died_is_succeeded_and_comes_too_late,
        what_is_retried_is_due_after_its_pause,
        what_is_released_is_due_at_once,
        what_is_taken_for_somebody_who_has_gone_is_no_attempt,
        what_is_queued_outlasts_the_time_to_live,
        a_key_that_is_claimed_cannot_be_accepted,
        a_claim_that_ran_out_does_not_keep_a_key_from_being_accepted,
        what_was_accepted_is_a_duplicate_for_a_claim,
        scopes_have_queues_of_their_own,
        a_payload_has_bounds;
}
