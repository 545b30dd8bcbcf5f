//! Every case, as a test of its own, on the reference store.

use tollgate_conformance::{CASES, Reference, case};

macro_rules! tests {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                case(stringify!($name), Reference::new);
            }
        )*

        #[test]
        fn every_case_is_a_test() {
            assert_eq!(CASES, [$(stringify!($name)),*]);
        }
    };
}

tests! {
    b01_long_idleness_never_turns_negative
    b03_large_windows_count_down_by_one
    b04_elapsed_times_rate_passes_32_bits
    b05_rates_above_a_tick_are_exact_or_refused
    b07_high_rates_with_burst_1_keep_their_rate
    b09_an_interval_of_80_years_works
    b13_polling_often_loses_no_fraction
    b14_refill_is_continuous
    b15_leaks_while_hits_keep_coming
    b16_never_jumps_to_full
    b21_a_slow_client_is_never_refused
    b22_refill_within_a_second
    b26_an_idle_queue_goes_on_letting_one_go_a_second
    b28_idleness_hoards_no_credit_at_any_entry
    b29_a_new_window_counts_anew
    b33_the_first_period_has_its_permits
    b35_late_hits_outlive_the_first_ones
    b36_stale_entries_are_dropped_before_counting
    b37_an_entry_of_age_w_no_longer_counts
    b38_a_window_ends_within_a_second
    b39_a_stale_previous_window_weighs_nothing
    b42_a_refusal_extends_nothing
    b44_a_steady_client_is_never_locked_out
    b45_hits_do_not_move_the_window_end
    b47_refusals_do_not_fill_the_bucket
    b49_a_refusing_limit_charges_none
    b51_a_refund_returns_what_was_taken
    b53_a_cost_above_the_capacity_is_never
    b57_a_burst_of_0_or_a_fraction_is_refused
    b59_a_rate_of_0_is_never_unlimited
    b60_a_limit_of_0_refuses_in_parallel
    b61_costs_of_0_and_of_2_to_63
    b62_a_batch_takes_no_more_than_there_is
    b63_a_clock_set_back_8_hours_costs_one_fill
    b65_older_times_mint_no_tokens
    b67_a_delayed_command_does_not_refill_twice
    b68_one_clock_decides_for_all_nodes
    b70_a_clock_that_jumps_56_years_overflows_nothing
    b86_a_refund_lands_in_its_own_window
    b131_a_late_refund_does_not_lower_the_new_window
    b136_each_refusal_tells_a_minimal_wait
    b139_the_counter_does_not_wait_for_the_window_end
    b140_the_last_token_tells_when_the_next_comes
    b144_the_numbers_are_of_the_limit_that_refuses
    b172_limits_of_one_period_count_apart
    b182_a_key_charged_twice_in_one_decision_is_counted_twice
    b190_a_changed_limit_rules_from_the_next_hit
    b191_a_raised_rate_raises_a_burst_only_when_it_was_not_given
    t01_the_previous_window_weighs_after_a_roll
    t02_windows_abut
    t03_no_leak_credit_while_empty
    t04_a_queue_lets_one_go_at_a_time
    t05_a_wait_is_a_time_and_not_a_count
    t06_a_slow_bucket_remembers_its_debt
    t08_successes_given_back_do_not_count
}
