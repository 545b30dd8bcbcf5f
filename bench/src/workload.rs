//! The keys that are asked about, and in which order.

use std::iter;
use std::net::Ipv6Addr;

/// Keys by number, the same for every contender.
pub trait Kind: Sized + Clone + Send + Sync {
    /// The key numbered `n`.
    fn key(n: u64) -> Self;
}

impl Kind for String {
    fn key(n: u64) -> String {
        format!("api_key:{n}")
    }
}

impl Kind for u64 {
    fn key(n: u64) -> u64 {
        n
    }
}

impl Kind for Ipv6Addr {
    /// A network of its own for every number: Tollgate counts by /64.
    fn key(n: u64) -> Ipv6Addr {
        let network = 0x2001_0db8 << 32 | n;
        Ipv6Addr::from_bits(u128::from(network) << 64 | u128::from(mixed(n)))
    }
}

impl Kind for () {
    fn key(_: u64) {}
}

/// In which order keys are asked about.
#[derive(Clone, Copy, Debug)]
pub enum Order {
    /// Every key alike.
    Uniform,
    /// A few keys often and most rarely: key `n` in proportion to `1 / (n + 1)^0.99`, as in YCSB.
    Zipf,
    /// One key only.
    Hot,
}

/// `calls` keys out of the first `keys`, in an order that is the same in every run.
///
/// They are made before anything is timed and lie in memory in the order of their use, as the key
/// of a request that just came in lies in the cache.
pub fn sequence<K: Kind>(order: Order, keys: u64, calls: usize) -> Vec<K> {
    let mut seed = 0u64;
    let random = iter::repeat_with(move || {
        seed += 1;
        mixed(seed)
    });
    match order {
        Order::Hot => vec![K::key(0); calls],
        Order::Uniform => random.take(calls).map(|r| K::key(scaled(r, keys))).collect(),
        Order::Zipf => {
            let weights = zipf_sums(keys);
            let total = weights.last().copied().unwrap_or(1.0);
            let draw = |r: u64| {
                let at = (r >> 11) as f64 / (1u64 << 53) as f64 * total;
                K::key(weights.partition_point(|sum| *sum < at) as u64)
            };
            random.take(calls).map(draw).collect()
        }
    }
}

fn zipf_sums(keys: u64) -> Vec<f64> {
    let weights = (1..=keys).map(|rank| (rank as f64).powf(-0.99));
    weights
        .scan(0.0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        })
        .collect()
}

fn scaled(random: u64, below: u64) -> u64 {
    ((u128::from(random) * u128::from(below)) >> 64) as u64
}

/// SplitMix64's output function.
fn mixed(n: u64) -> u64 {
    let z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
