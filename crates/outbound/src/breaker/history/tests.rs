use super::*;

const BOOK: Shedding = Shedding { percent: 200, window: Span::from_secs(120) };

/// The probability as the book writes it.
fn book(requests: u64, accepts: u64, k: f64) -> f64 {
    let float = |count: u64| f64::from(u32::try_from(count).unwrap());
    ((float(requests) - k * float(accepts)) / (float(requests) + 1.0)).max(0.0)
}

#[test]
fn calls_are_dropped_with_the_probability_of_the_book() {
    for (percent, k) in [(100, 1.0), (110, 1.1), (200, 2.0), (350, 3.5)] {
        let shedding = Shedding { percent, ..BOOK };
        for (requests, accepts) in [(0, 0), (1, 0), (1, 1), (9, 4), (100, 10), (100, 50), (100, 51)]
        {
            let counts = Counts { requests, accepts };
            let draws = 20_000_u64;
            let even = u64::MAX / draws;
            let dropped = (0..draws).filter(|nth| shedding.drops(counts, nth * even)).count();
            let found = f64::from(u32::try_from(dropped).unwrap()) / 20_000.0;
            let expected = book(requests, accepts, k);
            assert!((found - expected).abs() < 0.000_1, "{counts:?}: {found}, not {expected}");
            let percent = f64::from(shedding.percent_dropped(counts));
            assert!((0.0..1.0).contains(&(expected * 100.0 - percent)), "{counts:?}: {percent}");
        }
    }
}

#[test]
fn a_place_that_takes_one_call_in_two_is_never_spared_any() {
    for requests in 0..1_000 {
        let counts = Counts { requests, accepts: requests.div_ceil(2) };
        assert!(!BOOK.drops(counts, 0), "{counts:?}");
    }
}

#[test]
fn the_history_is_that_of_a_list_of_all_calls() {
    fastrand::seed(7);
    for _ in 0..50 {
        let shedding = Shedding { window: Span::from_millis(fastrand::u64(1..200_000)), ..BOOK };
        let slice = (shedding.window.as_micros() / 12).max(1);
        let (mut history, mut list) = (History::default(), Vec::new());
        let mut now = Tick::EPOCH;
        for _ in 0..500 {
            now = now
                .after(Span::from_micros(fastrand::u64(0..shedding.window.as_micros() / 10 + 2)));
            let counts = Counts { requests: 1, accepts: fastrand::u64(0..2) };
            history.add(shedding, now, counts);
            list.push((now, counts));
            let later = now.after(Span::from_micros(fastrand::u64(0..shedding.window.as_micros())));
            let newest = later.as_micros() / slice;
            let mut expected = Counts::default();
            for (_, counts) in list.iter().filter(|(at, _)| at.as_micros() / slice + 12 > newest) {
                expected.requests += counts.requests;
                expected.accepts += counts.accepts;
            }
            assert_eq!(history.counts(shedding, later), expected);
        }
    }
}

#[test]
fn about_twice_what_the_place_takes_is_sent_to_it() {
    fastrand::seed(8);
    let (mut history, mut now) = (History::default(), Tick::EPOCH);
    let (mut sent, mut seconds) = (0, 0);
    // 1,000 calls in a second, of which the place takes the first 100.
    while seconds < 400 {
        let mut taken = 0;
        for _ in 0..1_000 {
            now = now.after(Span::from_millis(1));
            let counts = history.counts(BOOK, now);
            let drops = BOOK.drops(counts, fastrand::u64(..));
            let accepts = u64::from(!drops && taken < 100);
            taken += accepts;
            history.add(BOOK, now, Counts { requests: 1, accepts });
            sent += u32::from(!drops && seconds >= 200);
        }
        seconds += 1;
    }
    let per_second = sent / 200;
    assert!((180..=220).contains(&per_second), "{per_second} a second");
}
