//! The contract of inboxes and queues, as checks that run against every store.

pub(super) mod claims;
pub(super) mod keys;
pub(super) mod leases;
pub(super) mod marks;
pub(super) mod model;
pub(super) mod queue;
mod test_store;

pub(super) use test_store::{ManualClock, TestStore};

macro_rules! checks {
    ($contract:ident: $( $module:ident: $( $name:ident ),+ ; )+) => {
        /// Defines one test for each check. `$open` is an async function that returns an empty store, or
        /// `None` if the store is not installed.
        macro_rules! $contract {
            ($open:path) => {
                $($(
                    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                    async fn $name() {
                        if let Some(store) = $open().await {
                            $crate::inbox::contract::$module::$name(store).await;
                        }
                    }
                )+)+
            };
        }
        pub(super) use $contract;
    };
}

checks! { inbox_contract:
    claims: one_of_100_concurrent_claims_is_acquired,
        claimed_key_is_in_flight,
        released_key_can_be_claimed,
        released_claim_is_lost,
        dropped_claim_ends_with_its_lease;
    leases: expired_claim_is_taken_over,
        claim_taken_over_changes_nothing,
        one_of_100_takeovers_succeeds,
        expired_claim_can_be_completed,
        extended_lease_ends_later,
        shortened_lease_ends_earlier,
        fencing_numbers_increase;
    marks: completed_key_is_a_duplicate,
        completion_can_be_repeated,
        completed_claim_cannot_be_released_or_extended,
        mark_expires_after_ttl,
        prune_deletes_expired_marks_up_to_the_limit;
    model: random_operations_agree_with_model;
    keys: scopes_are_independent,
        any_text_is_a_key,
        long_keys_are_apart_and_empty_is_refused,
        lease_length_is_limited,
        error_contains_no_key;
}

checks! { queue_contract:
    queue: accepted_delivery_is_handled_once,
        one_of_100_concurrent_accepts_is_new,
        payload_is_stored_byte_for_byte,
        oldest_delivery_is_next,
        workers_get_different_deliveries,
        late_worker_loses_its_claim,
        retried_delivery_is_due_after_pause,
        released_delivery_is_due_at_once,
        queued_delivery_does_not_expire,
        claimed_key_is_not_accepted,
        expired_claim_does_not_block_accept,
        accepted_key_is_a_duplicate_for_claims,
        queues_of_scopes_are_independent,
        payload_size_is_limited;
}
