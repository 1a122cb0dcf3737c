//! What every backend must do, as tests. For those who write one.
//!
//! A backend is a place that can be opened. Say how, and the macro makes one test of each case:
//!
//! ```
//! use steadfast_store::{Memory, Store, conformance::Backend, conformance_tests};
//!
//! struct Place(Memory);
//!
//! impl Backend for Place {
//!     fn open(&self) -> Box<dyn Store> {
//!         Box::new(self.0.clone())
//!     }
//! }
//!
//! fn place() -> Place {
//!     Place(Memory::new())
//! }
//!
//! conformance_tests!(memory, crate::place());
//! # fn main() {}
//! ```
//!
//! Each case gets a place of its own, empty. The expression is used inside of modules, so its path
//! begins at the root. Cases are grouped by theme, one module each; their
//! names are what they claim.

pub mod attempts;
pub mod commits;
pub mod due;
pub mod errors;
pub mod fencing;
mod fixture;
pub mod history;
pub mod lifecycle;
pub mod listing;
pub mod namespaces;
pub mod runs;
pub mod search;
pub mod settings;
pub mod work;

pub use fixture::{Backend, Owner, create, identity, wait};

/// Makes a module with one test a case, for the backend that the expression makes.
#[macro_export]
macro_rules! conformance_tests {
    ($name:ident, $backend:expr) => {
        mod $name {
            $crate::conformance_cases! { $backend;
                attempts: [
                    an_activity_that_was_never_tried_has_none,
                    attempts_come_back_as_they_were,
                    the_first_five_and_the_last_fifty_are_kept,
                    those_in_between_are_counted_by_fingerprint,
                    the_same_attempt_again_replaces_it,
                    activities_and_runs_do_not_mix,
                    those_that_were_tried_more_often_are_found_newest_first,
                    all_attempts_of_a_run_come_by_subject,
                ]
                commits: [
                    an_empty_batch_advances_the_sequence,
                    sequence_numbers_follow_each_other,
                    a_refused_batch_leaves_nothing,
                    a_refused_batch_can_be_followed_by_a_good_one,
                    a_run_is_written_once_a_batch,
                    a_write_needs_a_lease_on_its_shard,
                    a_write_to_an_unknown_run_is_refused,
                    a_write_from_another_shard_is_refused,
                    a_run_number_is_created_once,
                    a_run_id_is_created_once,
                    a_new_run_needs_a_state,
                    a_deleted_run_takes_everything_along,
                    deleting_a_run_that_is_not_there_is_fine,
                    a_run_of_another_shard_is_not_deleted,
                    run_numbers_are_not_reused,
                    a_folded_write_does_what_each_of_them_did,
                    many_runs_become_durable_together,
                    a_write_whose_aside_fails_is_left_out_and_only_that,
                ]
                due: [
                    runs_are_due_in_order_of_time_and_number,
                    the_limit_of_time_is_included,
                    pages_continue_where_the_last_one_ended,
                    each_shard_sees_its_own,
                    a_new_due_time_replaces_the_old_one,
                    a_run_without_one_is_never_due,
                ]
                errors: [
                    what_never_failed_has_none,
                    errors_come_back_as_they_were,
                    a_later_error_replaces_the_earlier_one,
                    a_settled_error_is_gone,
                    a_deleted_run_takes_its_errors_along,
                    folded_writes_keep_the_last_of_each_error,
                    the_last_to_fail_come_first_or_last,
                    pages_continue_where_the_last_one_ended,
                    errors_are_found_by_what_is_asked,
                    namespaces_do_not_mix,
                    errors_are_put_together_by_what_they_share,
                    groups_are_of_what_is_asked,
                    runs_are_found_by_their_errors,
                ]
                fencing: [
                    epochs_grow_with_each_owner,
                    an_earlier_owner_is_fenced,
                    a_fenced_commit_leaves_nothing,
                    a_fenced_owner_is_told_so_before_anything_else,
                    an_epoch_from_the_future_is_fenced_too,
                    one_lost_shard_fences_the_batch,
                    the_number_of_shards_is_fixed_at_first,
                    no_shards_at_all_are_refused,
                    a_shard_that_does_not_exist_is_refused,
                    a_lease_says_where_to_go_on,
                ]
                history: [
                    batches_come_back_oldest_first,
                    batches_come_back_newest_first,
                    batches_at_the_ends_come_whole,
                    a_page_is_cut_after_enough_events,
                    a_page_has_at_least_one_batch,
                    a_page_is_cut_after_enough_bytes,
                    pages_put_together_are_the_history,
                    an_unknown_run_has_no_history,
                    runs_do_not_mix,
                    an_event_is_written_once,
                    a_batch_that_ends_before_it_begins_is_refused,
                    folded_writes_put_events_together_that_follow_one_another,
                    events_out_of_order_are_refused,
                ]
                lifecycle: [
                    everything_survives_a_restart,
                    everything_survives_without_closing,
                    a_closed_store_says_so,
                    closing_twice_is_fine,
                    work_that_was_queued_is_done_before_closing,
                ]
                listing: [
                    open_runs_come_first_then_the_newest,
                    pages_continue_where_the_last_one_ended,
                    the_last_page_says_so,
                    a_space_beside_a_namespace_is_another_one,
                    rows_come_back_as_they_were,
                    a_later_row_replaces_the_earlier_one,
                    namespaces_do_not_mix,
                    a_run_without_a_row_is_not_listed,
                    an_unknown_namespace_is_empty,
                    counts_add_up,
                    counts_by_status_come_in_order,
                    counts_by_status_follow_what_happens,
                    what_is_running_has_not_closed,
                    counts_by_attribute_show_those_without,
                    a_listing_sees_what_was_just_committed,
                ]
                namespaces: [
                    namespaces_come_back_by_name,
                    a_namespace_is_replaced_by_its_id,
                    a_name_is_held_by_one_id,
                    a_deleted_name_is_free_again,
                    deleting_an_unknown_id_is_fine,
                ]
                runs: [
                    a_run_comes_back_whole,
                    the_current_run_is_the_newest,
                    a_run_is_found_by_all_its_names_only,
                    an_unknown_run_is_none,
                    state_is_replaced,
                    items_are_ordered_by_kind_and_key,
                    items_are_replaced_and_deleted,
                    an_item_can_be_written_without_a_state,
                    bytes_come_back_as_they_were,
                    a_run_is_loaded_as_of_one_moment,
                    workflow_ids_come_once_each_and_in_order,
                ]
                search: [
                    names_and_types_are_compared,
                    times_and_numbers_are_compared,
                    what_an_open_run_lacks_matches_nothing,
                    not_is_the_plain_opposite,
                    and_with_or_nest,
                    attributes_are_compared_by_their_type,
                    a_list_matches_by_what_it_contains,
                    texts_match_by_words,
                    prefixes_match_exactly,
                    a_value_of_another_type_matches_nothing,
                    numbers_are_not_rounded,
                    hostile_values_are_only_values,
                    a_wide_filter_is_answered,
                ]
                settings: [
                    a_setting_that_was_never_written_is_none,
                    a_setting_is_replaced,
                    a_setting_is_removed,
                    an_empty_setting_is_not_an_absent_one,
                ]
                work: [
                    runs_with_work_come_by_number,
                    each_shard_sees_its_own,
                    work_that_is_done_is_gone,
                ]
            }
        }
    };
}

/// One test for each name. Used by [`conformance_tests`].
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_cases {
    ($backend:expr; $($theme:ident: [$($case:ident,)*])*) => {
        $(
            mod $theme {
                $(
                    #[test]
                    fn $case() {
                        $crate::conformance::$theme::$case(&$backend);
                    }
                )*
            }
        )*
    };
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    /// A case that the macro does not name would never run.
    #[test]
    fn every_case_is_named_in_the_macro() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/conformance");
        let named = fs::read_to_string(folder.join("mod.rs")).expect("readable source");
        for entry in fs::read_dir(&folder).expect("readable folder") {
            let path = entry.expect("readable entry").path();
            let text = fs::read_to_string(&path).expect("readable source");
            for line in text.lines() {
                let Some((case, _)) = line
                    .strip_prefix("pub fn ")
                    .and_then(|rest| rest.split_once("(backend: &dyn Backend)"))
                else {
                    continue;
                };
                assert!(named.contains(&format!(" {case},")), "{}: {case}", path.display());
            }
        }
    }
}
