//! Single decisions under criterion: for looking at one contender closely.
//!
//! It times contenders one after the other, so its figures are no basis for ratios on a machine that
//! others use; `scripts/bench` alternates for that.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tollgate_bench::Lane;
use tollgate_bench::peers::Burst;
use tollgate_bench::suite::{STRING_LANES, string_lane, unkeyed, variants};
use tollgate_bench::workload::{Kind, Order, sequence};

const KEYS: u64 = 1_000;

/// One sample asks about as many keys: a single call is shorter than a reading of the clock.
const CALLS: usize = 4_096;

fn time<K: Kind>(
    criterion: &mut Criterion,
    group: &str,
    lanes: Vec<Lane<'_, K>>,
    keys: u64,
    passing: usize,
) {
    let sequence: Vec<K> = sequence(Order::Uniform, keys, CALLS);
    let mut group = criterion.benchmark_group(group);
    group.throughput(Throughput::Elements(CALLS as u64));
    // Short, so that nobody's burst of 50 million is used up.
    group.warm_up_time(Duration::from_millis(50)).measurement_time(Duration::from_millis(200));
    for lane in lanes {
        for n in 0..keys {
            // Twice: throttlecrab's smallest burst is 2.
            lane.limiter.decide(&K::key(n));
            lane.limiter.decide(&K::key(n));
        }
        group.bench_function(lane.name, |bencher| {
            bencher.iter(|| assert_eq!(black_box(lane.limiter.lap(&sequence)), passing));
        });
    }
}

fn lanes(burst: Burst, keys: u64) -> Vec<Lane<'static, String>> {
    STRING_LANES.iter().filter_map(|name| string_lane(name, keys, burst)).collect()
}

fn decisions(criterion: &mut Criterion) {
    time(criterion, "string, 1 k", lanes(Burst::Endless, KEYS), KEYS, CALLS);
    time(criterion, "variants, 1 k", variants(KEYS), KEYS, CALLS);
    time(criterion, "refusal, hot key", lanes(Burst::One, 1), 1, 0);
    time(criterion, "no key", unkeyed(Burst::Endless), 1, CALLS);
    time(criterion, "refusal, no key", unkeyed(Burst::One), 1, 0);
}

criterion_group!(benches, decisions);
criterion_main!(benches);
