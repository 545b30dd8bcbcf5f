//! What never changes in what is told of a limit, written once.

use std::ptr;

use http::HeaderValue;
use tollgate_core::{Limit, Span};

use super::figures::MOST;
use super::integer::integer;
use super::lines::quote;

/// What never changes in what is told of a limit. Every number is at most [`MOST`].
#[derive(Clone, Debug)]
pub(super) struct Terms {
    /// The name as a quoted string.
    pub(super) name: Box<[u8]>,
    /// The capacity for who cannot wait in a queue, so that `remaining` never exceeds it.
    pub(super) limit: u64,
    /// Seconds in which the capacity refills, at least 1.
    pub(super) window: u64,
    /// The line `100`.
    pub(super) limit_line: HeaderValue,
    /// The line `"name";q=100;w=60`.
    pub(super) policy_line: HeaderValue,
}

impl Terms {
    fn of(limit: &Limit) -> Terms {
        let window = window(limit).min(MOST);
        let mut name = Vec::new();
        quote(limit.name(), &mut name);
        let limit = limit.capacity_at_once().min(MOST);
        let policy = [&name, format!(";q={limit};w={window}").as_bytes()].concat();
        let policy = HeaderValue::from_bytes(&policy).expect("only printable ASCII was written");
        Terms { name: name.into(), limit, window, limit_line: integer(limit), policy_line: policy }
    }
}

/// The terms of limits, found by where in memory a limit stands: names and identities are not
/// unique, since the overrides of a limit share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Terminology {
    /// In ascending order of addresses.
    all: Vec<(usize, Terms)>,
}

impl Terminology {
    /// The terms of these limits, which stay where they are as long as this is used.
    pub(crate) fn of<'l>(limits: impl IntoIterator<Item = &'l Limit>) -> Terminology {
        let mut all: Vec<_> =
            limits.into_iter().map(|limit| (address(limit), Terms::of(limit))).collect();
        all.sort_unstable_by_key(|(address, _)| *address);
        Terminology { all }
    }

    /// Where a limit's terms are.
    pub(super) fn find(&self, limit: &Limit) -> Option<usize> {
        let sought = address(limit);
        self.all.binary_search_by_key(&sought, |(address, _)| *address).ok()
    }

    pub(super) fn get(&self, at: usize) -> Option<&Terms> {
        self.all.get(at).map(|(_, terms)| terms)
    }
}

fn address(limit: &Limit) -> usize {
    ptr::from_ref(limit).addr()
}

/// Seconds, rounded up, in which an empty capacity fills: capacity × period / amount.
fn window(limit: &Limit) -> u64 {
    let (quota, capacity) = (limit.quota(), limit.capacity_at_once());
    let period = quota.period().as_micros();
    let micros = match (quota.amount(), capacity.checked_mul(period)) {
        (0, _) => period,
        (amount, _) if amount == capacity => period,
        (amount, Some(product)) => product.div_ceil(amount),
        (amount, None) => {
            let exact = (u128::from(capacity) * u128::from(period)).div_ceil(u128::from(amount));
            u64::try_from(exact).unwrap_or(u64::MAX)
        }
    };
    Span::from_micros(micros).as_secs_ceil()
}
