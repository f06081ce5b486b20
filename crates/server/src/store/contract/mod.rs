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

mod data;
mod forms;
mod keys;
mod life;
mod order;
mod staging;
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
                mod $tests {
                    use super::*;
                    $($(
                        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                        async fn $name() {
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
        any_submission_id_is_kept,
        a_used_submission_id_is_refused_and_its_neighbours_are_not,
        limits_are_kept,
        answers_of_4_mib_are_kept_and_longer_ones_refused,
        a_page_ends_before_16_mib_and_the_walk_goes_on;
    forms: forms_are_listed_newest_first_and_at_most_200,
        a_public_id_is_unique,
        only_published_forms_accept_submissions,
        a_foreign_or_unknown_form_has_no_page,
        a_status_is_one_that_is_known,
        what_is_not_there_is_not_found;
    keys: a_key_is_found_by_its_hash_with_its_owner,
        a_revoked_key_is_found_as_revoked_since_the_first_time,
        keys_are_listed_newest_first,
        an_email_address_is_unique_whatever_its_case,
        a_key_or_its_id_is_added_once;
    staging: a_staged_form_is_seen_by_nobody_until_it_is_published,
        a_discarded_form_leaves_nothing,
        staged_instants_are_kept_and_must_increase,
        a_refused_chunk_leaves_what_was_staged_before,
        a_published_form_goes_on_after_its_last_instant,
        a_large_staged_form_can_be_discarded;
    life: a_dropped_write_is_whole_or_absent,
        a_probe_changes_nothing_that_is_seen,
        a_closed_store_refuses_everything,
        writes_queued_before_close_are_kept,
        reads_and_writes_do_not_disturb_each_other;
}
