use proptest::prelude::*;

use super::*;
use crate::entry::Client;

fn entry(micros: u64, name: &[u8]) -> Entry<'_> {
    Entry::bare(Tick::from_micros(micros), Client::Name(name))
}

/// When lines of these times are decided, each with its number.
fn decided(window: Window, times: &[u64]) -> (Vec<(u64, usize)>, Disorder) {
    let mut order = Order::new(window);
    let mut all = Vec::new();
    let mut decide = |entry: &Entry<'_>| {
        let Client::Name(name) = entry.client else { panic!("a name was given") };
        let nth = std::str::from_utf8(name).unwrap().parse().unwrap();
        all.push((entry.at.as_micros(), nth));
    };
    for (nth, at) in times.iter().enumerate() {
        order.push(entry(*at, nth.to_string().as_bytes()), &mut decide);
    }
    let disorder = order.finish(&mut decide);
    (all, disorder)
}

const SECOND: u64 = 1_000_000;

#[test]
fn a_line_within_the_window_is_put_right_and_an_older_one_decided_at_the_newest_time() {
    let times = [100, 160, 100, 161, 100, 99, 400].map(|second| second * SECOND);
    let (all, disorder) = decided(Window::default(), &times);
    let expected = [
        (100, 0),
        (100, 2),
        // Number 3 is more than a minute behind them, so they are gone when 4 and 5 come.
        (100, 4),
        (100, 5),
        (160, 1),
        (161, 3),
        (400, 6),
    ];
    assert_eq!(all, expected.map(|(second, nth)| (second * SECOND, nth)));
    // Number 4 is as old as what was decided last, so it is in order; 5 is not.
    assert_eq!(disorder, Disorder { put_right: 1, late: 1 });
}

#[test]
fn the_oldest_go_when_too_many_wait() {
    let window = Window { most: 2, ..Window::default() };
    let times = [10, 11, 12, 10, 11].map(|second| second * SECOND);
    let (all, disorder) = decided(window, &times);
    let expected = [(10, 0), (10, 3), (11, 1), (11, 4), (12, 2)];
    assert_eq!(all, expected.map(|(second, nth)| (second * SECOND, nth)));
    assert_eq!(disorder.late, 0);
}

#[test]
fn a_second_of_more_lines_than_may_wait_is_in_order() {
    let window = Window { most: 2, ..Window::default() };
    let (all, disorder) = decided(window, &[5 * SECOND; 7]);
    assert_eq!(all.iter().map(|(_, nth)| *nth).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(disorder, Disorder::default());
}

proptest! {
    #[test]
    fn what_is_off_by_less_than_the_window_is_sorted(
        steps in proptest::collection::vec((0..5 * SECOND, 0..59 * SECOND), 0..200),
    ) {
        let mut base = 1_000 * SECOND;
        let times: Vec<u64> = steps
            .iter()
            .map(|(step, back)| {
                base += step;
                base - back
            })
            .collect();
        let (all, disorder) = decided(Window::default(), &times);
        let mut sorted: Vec<(u64, usize)> = times.iter().copied().zip(0..).collect();
        sorted.sort();
        prop_assert_eq!(all, sorted);
        let newest = times.iter().scan(0, |newest: &mut u64, at| {
            let is_back = at < newest;
            *newest = (*newest).max(*at);
            Some(is_back)
        });
        let back: u64 = newest.map(u64::from).sum();
        prop_assert_eq!(disorder.put_right, back);
        prop_assert_eq!(disorder.late, 0);
    }

    #[test]
    fn time_never_runs_back_and_nothing_is_lost(
        times in proptest::collection::vec(0..4_000 * SECOND, 0..200),
        most in 0..50_usize,
    ) {
        let (all, _) = decided(Window { most, ..Window::default() }, &times);
        prop_assert!(all.is_sorted_by_key(|(at, _)| *at));
        let mut numbers: Vec<usize> = all.iter().map(|(_, nth)| *nth).collect();
        numbers.sort_unstable();
        prop_assert!(numbers.into_iter().eq(0..times.len()));
        for (at, nth) in all {
            prop_assert!(at >= times[nth], "a line is never decided before its time");
        }
    }
}
