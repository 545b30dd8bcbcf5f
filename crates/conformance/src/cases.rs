//! Faults that real rate limiters had, each as a case that a store must get right.
//!
//! The names begin with the fault's number in our collection. Each fault's whole kind is what the
//! laws and the suite are for; a case keeps the very figures.

mod clocks;
mod costs;
mod edges;
mod fractions;
mod overflow;
mod refusals;
mod seeds;
mod told_truly;

use tollgate_core::{
    Algorithm, Charge, Decision, Limit, ManualClock, Mode, Quota, Receipt, Span, Tick, Verdict,
};

use crate::subject::Subject;

type Case<S> = (&'static str, fn(Stage<S>));

macro_rules! list {
    ($($kind:ident: $($name:ident)*;)*) => {
        fn list<S: Subject>() -> Vec<Case<S>> {
            vec![$($((stringify!($name), $kind::$name::<S>)),*),*]
        }

        /// The names of all cases, in order.
        pub const CASES: &[&str] = &[$($(stringify!($name)),*),*];
    };
}

list! {
    overflow:
        b01_long_idleness_never_turns_negative
        b03_large_windows_count_down_by_one
        b04_elapsed_times_rate_passes_32_bits
        b05_rates_above_a_tick_are_exact_or_refused
        b07_high_rates_with_burst_1_keep_their_rate
        b09_an_interval_of_80_years_works;
    fractions:
        b13_polling_often_loses_no_fraction
        b14_refill_is_continuous
        b15_leaks_while_hits_keep_coming
        b16_never_jumps_to_full
        b21_a_slow_client_is_never_refused
        b22_refill_within_a_second;
    edges:
        b26_an_idle_queue_goes_on_letting_one_go_a_second
        b28_idleness_hoards_no_credit_at_any_entry
        b29_a_new_window_counts_anew
        b33_the_first_period_has_its_permits
        b35_late_hits_outlive_the_first_ones
        b36_stale_entries_are_dropped_before_counting
        b37_an_entry_of_age_w_no_longer_counts
        b38_a_window_ends_within_a_second
        b39_a_stale_previous_window_weighs_nothing
        b42_a_refusal_extends_nothing;
    refusals:
        b44_a_steady_client_is_never_locked_out
        b45_hits_do_not_move_the_window_end
        b47_refusals_do_not_fill_the_bucket
        b49_a_refusing_limit_charges_none
        b51_a_refund_returns_what_was_taken;
    costs:
        b53_a_cost_above_the_capacity_is_never
        b57_a_burst_of_0_or_a_fraction_is_refused
        b59_a_rate_of_0_is_never_unlimited
        b60_a_limit_of_0_refuses_in_parallel
        b61_costs_of_0_and_of_2_to_63
        b62_a_batch_takes_no_more_than_there_is;
    clocks:
        b63_a_clock_set_back_8_hours_costs_one_fill
        b65_older_times_mint_no_tokens
        b67_a_delayed_command_does_not_refill_twice
        b68_one_clock_decides_for_all_nodes
        b70_a_clock_that_jumps_56_years_overflows_nothing;
    told_truly:
        b86_a_refund_lands_in_its_own_window
        b131_a_late_refund_does_not_lower_the_new_window
        b136_each_refusal_tells_a_minimal_wait
        b139_the_counter_does_not_wait_for_the_window_end
        b140_the_last_token_tells_when_the_next_comes
        b144_the_numbers_are_of_the_limit_that_refuses
        b172_limits_of_one_period_count_apart
        b182_a_key_charged_twice_in_one_decision_is_counted_twice
        b190_a_changed_limit_rules_from_the_next_hit
        b191_a_raised_rate_raises_a_burst_only_when_it_was_not_given;
    seeds:
        t01_the_previous_window_weighs_after_a_roll
        t02_windows_abut
        t03_no_leak_credit_while_empty
        t04_a_queue_lets_one_go_at_a_time
        t05_a_wait_is_a_time_and_not_a_count
        t06_a_slow_bucket_remembers_its_debt
        t08_successes_given_back_do_not_count;
}

/// Every case, on a fresh store each; `make` builds an empty store on a clock.
///
/// # Panics
/// On the first wrong answer, naming the case.
pub fn cases<S: Subject>(make: impl Fn(ManualClock) -> S) {
    CASES.iter().for_each(|name| case(name, &make));
}

/// The case of this name.
///
/// # Panics
/// On a wrong answer, or when there is no such case.
pub fn case<S: Subject>(name: &str, make: impl Fn(ManualClock) -> S) {
    let all = list::<S>();
    let (_, run) = all.iter().find(|(known, _)| *known == name).expect("a case of this name");
    eprintln!("case {name}");
    let clock = ManualClock::at(Tick::from_micros(START));
    run(Stage { store: make(clock.clone()), clock });
}

/// Midnight, and so the start of a window of every length used here.
const START: u64 = 20_000 * 86_400_000_000;

/// A store and its clock; times in milliseconds from the start.
struct Stage<S> {
    store: S,
    clock: ManualClock,
}

impl<S: Subject> Stage<S> {
    fn at(&self, ms: u64) -> &Self {
        self.clock.set(Tick::from_micros(START + ms * 1_000));
        self
    }

    fn wait(&self, span: Span) {
        self.clock.advance(span);
    }

    fn ask<'l>(&self, limit: &'l Limit, cost: u64) -> Decision<'l> {
        self.store.decide(Mode::Charge, &[Charge::new(limit, "k").cost(cost)])
    }

    fn peek<'l>(&self, limit: &'l Limit, cost: u64) -> Decision<'l> {
        self.store.decide(Mode::Peek, &[Charge::new(limit, "k").cost(cost)])
    }

    fn passes(&self, limit: &Limit) -> bool {
        self.ask(limit, 1).is_allowed()
    }

    /// How many of `tries` single charges pass now.
    fn passing(&self, limit: &Limit, tries: u64) -> u64 {
        (0..tries).map(|_| u64::from(self.passes(limit))).sum()
    }

    /// A charge that passes, and its receipt.
    fn pay<'l>(&self, limit: &'l Limit, cost: u64) -> Receipt<'l> {
        let mut decision = self.ask(limit, cost);
        let receipt = decision.answers_mut().find_map(|answer| answer.take_receipt("k".into()));
        receipt.expect("a charge that passes gives a receipt")
    }

    fn left(&self, limit: &Limit) -> u64 {
        self.peek(limit, 0).remaining()
    }
}

/// A limit of a quota as people write it.
fn limit(algorithm: Algorithm, quota: &str) -> Limit {
    let quota: Quota = quota.parse().expect("a quota");
    Limit::builder("case", quota).algorithm(algorithm).build().expect("a limit that fits")
}

fn bucket(quota: &str) -> Limit {
    limit(Algorithm::TokenBucket, quota)
}

fn denied_for(decision: &Decision<'_>) -> Span {
    match decision.verdict() {
        Verdict::Deny(span) => span,
        other => panic!("expected a refusal for a while, got {other:?}"),
    }
}

const fn ms(millis: u64) -> Span {
    Span::from_millis(millis)
}
