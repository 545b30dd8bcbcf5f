use std::fmt::Write as _;

use tollgate_core::{Algorithm, Limit, Quota};
use tollgate_policy::LimitSpec;

use super::*;
use crate::{Log, LogOptions, ReplayOptions, Replayed, Source, replay};

fn pictured(limit: Limit, source: Source) -> (Replayed, Pictures) {
    let spec = LimitSpec::new(limit).by([KeyPart::Client]);
    let policy = Policy::builder().limit(spec).build().unwrap();
    let mut pictures = Pictures::new(&policy);
    let log = Log::open(vec![source], LogOptions::default()).unwrap();
    let options = ReplayOptions::default();
    let replayed = replay(log, policy, "limits", options, |_| (), |one| pictures.count(one));
    (replayed.unwrap(), pictures)
}

/// A log of these clients, each at so many seconds after noon.
fn log(name: &str, requests: impl IntoIterator<Item = (u32, u32)>) -> Source {
    let mut text = String::new();
    for (client, second) in requests {
        let client = std::net::Ipv4Addr::from(client);
        let (minute, second) = (second / 60, second % 60);
        let at = format!("17/May/2015:12:{minute:02}:{second:02} +0000");
        writeln!(text, "{client} - - [{at}] \"GET / HTTP/1.1\" 200 5").unwrap();
    }
    let file = std::env::temp_dir().join(format!("tollgate-{name}-{}.log", std::process::id()));
    std::fs::write(&file, text).unwrap();
    Source::File(file)
}

fn removed(source: &Source) {
    if let Source::File(file) = source {
        std::fs::remove_file(file).unwrap();
    }
}

fn sample() -> Source {
    let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    Source::File(data.join("data/website-2015-05.access.log"))
}

#[test]
fn a_level_falls_as_tokens_are_taken_and_comes_back_evenly() {
    let limit = Limit::new("four", "4/minute".parse().unwrap()).unwrap();
    let source = log("level", [(1, 0), (1, 0), (1, 0), (1, 0), (1, 1), (1, 40), (2, 119)]);
    let (_, pictures) = pictured(limit, source.clone());
    let drawn = pictures.drawn(0, 9);
    assert_eq!((drawn[0].asked, drawn[0].refused, drawn[0].capacity), (6, 1, 4));
    let level = |second: usize| (drawn[0].levels[second].least, drawn[0].levels[second].refused);
    assert_eq!((level(0), level(1)), ((0, 0), (0, 1)));
    // A quarter comes back in 15 s; at 40 s one token is taken of two and two thirds.
    assert!((2_400..2_600).contains(&level(16).0) && level(40) == (2_500, 0), "{:?}", level(16));
    assert_eq!((level(119), drawn[0].levels.len()), ((Level::FULL, 0), 120));
    removed(&source);
}

#[test]
fn whose_peak_is_beyond_the_limit_is_who_is_refused() {
    let quota: Quota = "20/minute".parse().unwrap();
    for algorithm in [Algorithm::TokenBucket, Algorithm::FixedWindow(tollgate_core::Anchor::Spread)]
    {
        let limit = Limit::builder("twenty", quota).algorithm(algorithm).build().unwrap();
        let (replayed, pictures) = pictured(limit, sample());
        let refused = replayed.tally.clients().iter().filter(|(_, client)| client.refused > 0);
        let peaks = pictures.peaks(0);
        assert_eq!(peaks.beyond, u64::try_from(refused.count()).unwrap(), "{algorithm}");
        assert_eq!(peaks.keys(), 1_753);
        let all: u64 = peaks.steps().values().sum();
        let beyond: u64 = peaks.steps().range(1..).map(|(_, count)| count).sum();
        assert_eq!((all, beyond), (peaks.keys(), peaks.beyond));
    }
}

#[test]
fn refusals_over_time_are_all_refusals() {
    let limit = Limit::new("ten", Quota::per_minute(10)).unwrap();
    let (replayed, pictures) = pictured(limit, sample());
    for drawn in pictures.drawn(0, 20) {
        let over_time: u64 = drawn.levels.iter().map(|level| u64::from(level.refused)).sum();
        assert_eq!(over_time, drawn.refused);
        assert!(drawn.levels.iter().all(|level| level.refused == 0 || level.least == 0));
    }
    let busiest = pictures.drawn(0, 1);
    let top = replayed.tally.clients().top(1, |client| client.refused);
    assert_eq!((busiest[0].client, busiest[0].refused), (*top[0].0, top[0].1.refused));
    // Levels stand where the requests over time stand.
    assert_eq!(pictures.grid(), Some(replayed.tally.timeline.grid()));
}

#[test]
fn more_keys_than_are_kept_are_counted_all_the_same() {
    let limit = Limit::new("two", Quota::per_minute(2)).unwrap();
    let many = u32::try_from(Pictures::MOST).unwrap() + 5_000;
    // One that is refused among the many, and comes again.
    let crowd = (0..many).flat_map(|nth| {
        let second = nth / 100;
        let loud = (nth % 10_000 == 0).then_some((7, second));
        [(1_000 + nth, second)]
            .into_iter()
            .chain(std::iter::repeat_n((7, second), 5).take_while(move |_| loud.is_some()))
    });
    let source = log("keys", crowd);
    let (_, pictures) = pictured(limit, source.clone());
    let peaks = pictures.peaks(0);
    assert!(pictures.counters.len() <= Pictures::MOST);
    assert_eq!((peaks.keys(), peaks.beyond), (u64::from(many) + 1, 1));
    assert_eq!((pictures.drawn(0, 1)[0].asked, pictures.drawn(0, 1)[0].refused), (30, 18));
    assert!(pictures.drawn(0, usize::MAX).len() <= Pictures::DRAWN_OF_ONE);
    removed(&source);
}
