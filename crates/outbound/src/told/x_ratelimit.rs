//! `X-RateLimit-Limit`, `-Remaining` and `-Reset`, and the same with one hyphen more, as X has it.
//!
//! No standard says what the reset is: see [`reset`]. Of several lines, as two proxies write them, the
//! least that is left counts, the longest reset and the largest limit.

use http::HeaderMap;
use tollgate_core::Tick;

use super::number::Millionths;
use super::{Allowance, discord, envoy, lines, reset};

const SPELLINGS: [[&str; 3]; 2] = [
    ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"],
    ["x-rate-limit-limit", "x-rate-limit-remaining", "x-rate-limit-reset"],
];

pub(super) fn read(headers: &HeaderMap, now: Tick) -> impl Iterator<Item = Allowance> {
    SPELLINGS.into_iter().filter_map(move |[limit, remaining, reset]| {
        let left = lines::each(headers, remaining).filter_map(Millionths::read);
        let resets = lines::each(headers, reset).filter_map(|line| reset::read(line, now));
        let limits = lines::each(headers, limit);
        let limits =
            limits.map(|line| line.split_once([',', ';']).map_or(line, |(first, _)| first));
        let limits = limits.filter_map(|number| Millionths::read(number.trim()));
        let limit_told = limits.map(Millionths::floor).max();
        Some(Allowance {
            left: left.map(Millionths::floor).min()?,
            reset: discord::reset(headers).or(resets.max()),
            limit: limit_told,
            window: envoy::window(headers, limit, limit_told),
        })
    })
}
