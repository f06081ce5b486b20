//! What any store must keep, as checks that run against a backend. Feature `contract`.
//!
//! A backend's tests say how a fresh store is made and get one test a check:
//!
//! ```
//! use std::sync::Arc;
//! use formsvc_server::store::contract::Fresh;
//! use formsvc_server::store::sqlite::SqliteStore;
//!
//! formsvc_server::store_contract!(in_memory, |clock| {
//!     Box::pin(async {
//!         let store = SqliteStore::in_memory(clock).expect("memory is there");
//!         Fresh { store: Arc::new(store), keep: Box::new(()) }
//!     })
//! });
//! # fn main() {}
//! ```
//!
//! A check panics when the promise is broken.

mod accounts;
mod claims;
#[cfg(feature = "postgres")]
pub mod cluster;
mod data;
mod deliveries;
mod endpoints;
mod forms;
mod keys;
mod leases;
mod life;
mod links;
mod order;
mod outcomes;
mod prune;
mod removals;
mod repeats;
mod resends;
mod spam;
mod staging;
mod worker;
mod world;

pub use world::{Factory, Fresh, ManualClock};

macro_rules! checks {
    ($( $module:ident: $( $name:ident ),+ ; )+) => {
        /// The checks; [`store_contract!`](crate::store_contract) calls them.
        pub mod checks {
            use super::Factory;

            $($(
                #[doc = concat!("Runs the check `", stringify!($name), "`.")]
                pub async fn $name(factory: Factory) {
                    super::$module::$name(factory).await;
                }
            )+)+
        }

        /// One test for each check of the [store contract](crate::store::contract), in a module of
        /// a given name, on stores that a factory makes.
        #[macro_export]
        macro_rules! store_contract {
            ($tests:ident, $factory:expr) => {
                $crate::store_contract!($tests, $factory, (|| None::<&str>));
            };
            // Skipped when there is a reason to, which is told.
            ($tests:ident, $factory:expr, $reason_to_skip:expr) => {
                mod $tests {
                    use super::*;
                    $($(
                        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                        async fn $name() {
                            if let Some(reason) = ($reason_to_skip)() {
                                let _ = std::io::Write::write_fmt(
                                    &mut std::io::stderr(),
                                    format_args!("skipped: {reason}\n"),
                                );
                                return;
                            }
                            $crate::store::contract::checks::$name($factory).await;
                        }
                    )+)+
                }
            };
        }
    };
}

checks! {
    order: commit_order_is_instant_order,
        ten_thousand_of_one_millisecond_page_without_loss_or_repeat,
        a_clock_that_steps_back_does_not_take_the_form_with_it,
        a_cursor_is_any_instant,
        each_form_has_a_clock_of_its_own;
    data: data_is_kept_to_the_byte,
        pages_are_whole_wherever_large_submissions_stand,
        any_submission_id_is_kept,
        a_used_submission_id_is_refused_and_its_neighbours_are_not,
        limits_are_kept,
        answers_of_4_mib_are_kept_and_longer_ones_refused,
        a_page_ends_before_16_mib_and_the_walk_goes_on;
    forms: forms_are_listed_newest_first_and_at_most_200,
        a_change_thought_of_another_revision_is_refused,
        a_public_id_is_unique,
        only_published_forms_accept_submissions,
        a_foreign_or_unknown_form_has_no_page,
        a_status_is_one_that_is_known,
        a_visitor_meets_what_was_set_of_a_form,
        a_form_that_is_not_there_is_met_by_nobody,
        what_is_not_there_is_not_found,
        the_total_of_a_form_is_what_it_has,
        a_form_has_an_owner_once_it_is_seen;
    keys: a_key_is_found_by_its_hash_with_its_owner,
        a_revoked_key_is_found_as_revoked_since_the_first_time,
        a_page_for_a_key_is_the_one_that_is_judged_to_be_asked_for,
        keys_are_listed_newest_first,
        an_email_address_is_unique_whatever_its_case,
        a_key_or_its_id_is_added_once,
        a_key_is_found_by_its_id_with_its_owner,
        the_last_use_of_a_key_only_moves_forward,
        users_are_listed_oldest_first;
    accounts: credentials_are_found_whatever_the_case_of_the_email,
        nobody_can_sign_in_until_a_password_is_set,
        a_new_password_ends_the_sessions_and_links_of_its_user,
        a_session_lasts_its_lifetime_and_no_longer,
        a_password_changed_since_it_was_judged_begins_no_session,
        an_ended_session_is_none_and_others_go_on,
        forgetting_takes_what_has_expired_only,
        nobody_has_no_account;
    links: a_link_sets_a_password_once,
        a_link_works_until_it_expires,
        a_later_link_replaces_that_of_the_same_user,
        of_redeemers_at_once_one_wins,
        of_first_owners_at_once_one_is_made,
        an_owner_link_makes_the_first_who_can_sign_in,
        an_owner_link_ends_once_somebody_can_sign_in,
        a_refused_redemption_leaves_everything_as_it_was;
    staging: a_staged_form_is_seen_by_nobody_until_it_is_published,
        a_discarded_form_leaves_nothing,
        an_import_that_was_given_up_is_in_nobodys_way,
        staged_instants_are_kept_and_must_increase,
        a_refused_chunk_leaves_what_was_staged_before,
        a_published_form_goes_on_after_its_last_instant,
        a_large_staged_form_can_be_discarded;
    removals: dropped_endpoint_removal_is_finished,
        dropped_form_removal_is_finished,
        given_up_import_is_removed;
    repeats: a_repeat_is_told_what_the_first_was_told,
        a_repeat_is_answered_though_the_form_was_closed,
        answers_checked_by_a_form_as_it_was_are_refused,
        a_repeat_is_answered_though_the_form_was_changed,
        concurrent_repeats_make_one_submission,
        a_key_is_forgotten_after_a_day,
        forgetting_takes_old_keys_only_and_no_submission,
        a_clock_that_steps_back_forgets_no_key,
        a_key_of_a_clock_that_was_far_ahead_is_forgotten;
    spam: spam_is_no_submission,
        the_newest_1000_of_a_form_are_kept,
        so_many_bytes_of_a_form_are_kept,
        spam_is_listed_in_pages;
    endpoints: endpoints_are_listed_oldest_first,
        an_endpoint_tells_the_secrets_it_signs_with_until_it_is_removed,
        enabled_endpoints_of_all_forms_are_listed_oldest_first,
        an_endpoint_is_found_with_its_owner,
        a_form_has_each_url_once_and_at_most_20_endpoints,
        a_disabled_endpoint_keeps_what_it_has_until_it_is_enabled,
        removal_cancels_what_is_unfinished_and_keeps_what_was,
        a_removed_endpoint_is_none,
        what_is_removed_or_unknown_is_not_found,
        a_removal_beside_workers_leaves_each_delivery_one_end,
        a_previous_secret_signs_until_its_grace_ends,
        a_later_claim_has_the_secrets_of_then,
        a_look_at_an_endpoint_finds_what_a_claim_would;
    deliveries: each_enabled_endpoint_gets_each_submission_once,
        what_is_not_accepted_makes_no_delivery,
        a_submission_and_its_deliveries_are_kept_together,
        an_import_makes_no_deliveries,
        deliveries_are_listed_newest_first_in_pages,
        deliveries_are_filtered_by_endpoint_and_state,
        a_delivery_shows_its_attempts_in_order,
        a_listed_delivery_shows_how_its_last_attempt_ended,
        a_claim_has_what_was_submitted_then,
        what_is_not_there_is_not_delivered;
    claims: fresh_ones_are_claimed_at_once_in_order_of_submission,
        late_ones_are_claimed_by_the_time_they_are_due,
        each_lane_is_claimed_for_itself,
        a_claim_takes_from_several_lanes_in_their_order,
        a_claim_ends_at_its_bytes_but_not_before_its_first,
        no_delivery_is_claimed_twice_while_its_lease_holds,
        each_delivery_is_settled_once_however_leases_run_out,
        what_is_due_is_told_of_each_lane_of_enabled_endpoints,
        work_is_announced_once_it_is_committed,
        a_dropped_claim_comes_back;
    leases: a_lease_that_ran_out_is_claimed_again_and_the_old_one_settles_nothing,
        a_lease_that_ran_out_settles_while_nobody_else_claimed,
        a_lease_is_good_for_its_delivery_and_for_once,
        what_is_released_goes_back_to_its_place,
        what_is_released_late_goes_back_to_its_place,
        claims_are_counted_until_one_is_settled,
        recovered_claims_are_where_they_were;
    outcomes: delivered_and_failed_are_final,
        a_retry_is_due_after_its_pause_and_not_before,
        what_is_put_off_without_an_attempt_stays_what_it_was,
        a_failure_without_an_attempt_counts_none,
        what_is_unfinished_is_not_lost_by_a_verdict_that_changes_nothing,
        own_faults_are_timed_until_an_attempt;
    resends: a_finished_delivery_can_be_attempted_once_more,
        a_resend_that_succeeds_turns_failed_into_delivered,
        a_resend_of_an_unfinished_one_keeps_its_retries,
        a_resend_that_fails_does_not_move_the_next_retry,
        two_resends_before_an_attempt_are_one,
        a_resend_is_due_by_any_clock_and_before_retries,
        a_resend_outlives_its_worker,
        what_is_being_attempted_or_has_nowhere_to_go_is_not_resent;
    prune: old_submissions_are_removed_and_pages_go_over_the_hole,
        a_form_goes_on_after_the_newest_it_ever_had,
        a_submission_on_its_way_is_kept,
        finished_deliveries_are_removed_by_when_they_finished,
        attempts_are_removed_by_when_they_began_but_not_the_last,
        old_spam_is_removed_of_all_forms,
        a_repeat_of_what_was_removed_is_new,
        removing_goes_in_steps_beside_others,
        of_a_form_that_is_not_there_nothing_is_removed;
    life: a_dropped_write_is_whole_or_absent,
        a_probe_changes_nothing_that_is_seen,
        a_closed_store_refuses_everything,
        writes_queued_before_close_are_kept,
        reads_and_writes_do_not_disturb_each_other;
}
