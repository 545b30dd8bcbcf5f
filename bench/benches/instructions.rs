//! Instructions per decision, counted by valgrind: they repeat exactly, whatever else runs.
//!
//! Needs `gungraun-runner` of the same version on the path; `scripts/bench` sees to it.

use std::hint::black_box;

use gungraun::prelude::*;
use tollgate_bench::peers::Burst;
use tollgate_bench::suite::{COUNTED_CALLS, string_lane, unkeyed, variants};
use tollgate_bench::workload::{Kind, Order, sequence};
use tollgate_bench::{Keyed, Lane};

const KEYS: u64 = 1_000;

/// The loop and nothing in it, to be taken off all others.
struct Nothing;

impl<K> Keyed<K> for Nothing {
    #[inline]
    fn decide(&self, _: &K) -> bool {
        true
    }
}

type Run<K> = (Lane<'static, K>, Vec<K>);

fn keyed(name: &str) -> Run<String> {
    let lane = match name {
        "nothing" => Lane::new("nothing", Nothing),
        _ => string_lane(name, KEYS, Burst::Endless)
            .or_else(|| variants(KEYS).into_iter().find(|lane| lane.name == name))
            .expect("a lane of that name"),
    };
    for n in 0..KEYS {
        lane.limiter.decide(&String::key(n));
    }
    (lane, sequence(Order::Uniform, KEYS, COUNTED_CALLS))
}

fn plain(name: &str) -> Run<()> {
    let mut lanes = unkeyed(Burst::Endless).into_iter();
    (lanes.find(|lane| lane.name == name).expect("a lane of that name"), vec![(); COUNTED_CALLS])
}

#[library_benchmark(setup = keyed)]
#[bench::nothing("nothing")]
#[bench::floor("floor")]
#[bench::governor("governor")]
#[bench::governor_ahash("governor + ahash")]
#[bench::throttlecrab("throttlecrab")]
#[bench::limitador("limitador")]
#[bench::tollgate("tollgate")]
#[bench::three_limits("three limits")]
#[bench::sliding_window("sliding window")]
#[bench::batch_of_16("batch of 16")]
fn string((lane, keys): Run<String>) -> Run<String> {
    black_box(lane.limiter.lap(&keys));
    (lane, keys)
}

#[library_benchmark(setup = plain)]
#[bench::governor("governor")]
#[bench::leaky_bucket("leaky-bucket")]
#[bench::ratelimit("ratelimit")]
#[bench::tollgate("tollgate")]
fn no_key((lane, keys): Run<()>) -> Run<()> {
    black_box(lane.limiter.lap(&keys));
    (lane, keys)
}

library_benchmark_group!(name = decisions, benchmarks = [string, no_key]);
main!(library_benchmark_groups = decisions);
