//! Contenders timed in alternation, so that what disturbs one disturbs all.
//!
//! The machine is shared and its speed wanders by a third within minutes. So contenders take turns
//! (A B C, A B C, …), each with the same keys in the same round, and are compared round by round;
//! the figure is the median of those ratios.

use std::fs;
use std::hint;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::Lane;

/// How long and how often.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Rounds, at least 7.
    pub rounds: usize,
    /// What a lap of one contender lasts about.
    pub lap: Duration,
}

/// How many callers at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callers {
    /// One; its time is processor time of its thread, blind to neighbours that preempt it.
    One,
    /// Two, each with its own part of the keys; their time is the wall's, since waiting counts.
    Two,
}

/// What every call of a race is to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It passes.
    Allowed,
    /// It is refused.
    Refused,
}

/// What was measured, by contender.
pub struct Race {
    runs: Vec<Run>,
}

struct Run {
    name: &'static str,
    /// Nanoseconds per decision and caller, round by round.
    times: Vec<f64>,
    asked: usize,
    passed: usize,
}

impl Race {
    /// Lets `lanes` take turns over `keys`.
    pub fn run<K: Sync>(
        lanes: &[Lane<'_, K>],
        keys: &[K],
        callers: Callers,
        effort: Effort,
    ) -> Race {
        let most = match callers {
            Callers::One => keys.len(),
            Callers::Two => keys.len() / 2,
        };
        let lap_time = match callers {
            Callers::One => effort.lap,
            // Short enough that the kernel often leaves both alone for so long.
            Callers::Two => effort.lap.min(Duration::from_micros(400)),
        };
        let calls = |time| move |lane| calls_per_lap(lane, keys, most, time);
        let warm: Vec<usize> = lanes.iter().map(calls(effort.lap)).collect();
        let calls: Vec<usize> = lanes.iter().map(calls(lap_time)).collect();
        let new = |lane: &Lane<'_, K>| Run { name: lane.name, times: vec![], asked: 0, passed: 0 };
        let mut runs: Vec<Run> = lanes.iter().map(new).collect();
        for round in 0..effort.rounds {
            for (((lane, warm), calls), run) in lanes.iter().zip(&warm).zip(&calls).zip(&mut runs) {
                // A lap that is not timed brings the contender's memory back into the cache, and it
                // does what it has put off while the others ran.
                lap(lane, part(keys, 2 * round, *warm), Callers::One);
                let (nanos, passed) = lap(lane, part(keys, 2 * round + 1, *calls), callers);
                run.times.push(nanos);
                run.asked += calls;
                run.passed += passed;
            }
        }
        Race { runs }
    }

    /// Who took part.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.runs.iter().map(|run| run.name)
    }

    /// The median nanoseconds per decision and caller.
    pub fn nanos(&self, name: &str) -> Option<f64> {
        self.of(name).map(|times| median(times.to_vec()))
    }

    /// The median over the rounds of `name`'s time over `other`'s.
    pub fn ratio(&self, name: &str, other: &str) -> Option<f64> {
        let (ours, theirs) = (self.of(name)?, self.of(other)?);
        Some(median(ours.iter().zip(theirs).map(|(a, b)| a / b).collect()))
    }

    /// The median over the rounds of how many nanoseconds `name` takes more than `other`.
    pub fn excess(&self, name: &str, other: &str) -> Option<f64> {
        let (ours, theirs) = (self.of(name)?, self.of(other)?);
        Some(median(ours.iter().zip(theirs).map(|(a, b)| a - b).collect()))
    }

    /// Who did not answer every call so, save a few of a thousand; `bare` is not asked.
    pub fn otherwise(&self, answer: Answer, bare: &str) -> Vec<&'static str> {
        let otherwise = |run: &&Run| {
            let others = match answer {
                Answer::Allowed => run.asked - run.passed,
                Answer::Refused => run.passed,
            };
            run.name != bare && others > run.asked / 1000
        };
        self.runs.iter().filter(otherwise).map(|run| run.name).collect()
    }

    /// Every contender's median, for a glance while the suite runs.
    pub fn summary(&self) -> String {
        let figures = self.names().map(|name| {
            let nanos = self.nanos(name).unwrap_or(f64::NAN);
            format!("{name} {nanos:.1}")
        });
        figures.collect::<Vec<_>>().join(", ")
    }

    fn of(&self, name: &str) -> Option<&[f64]> {
        self.runs.iter().find(|run| run.name == name).map(|run| run.times.as_slice())
    }
}

/// The middle value; the higher of two.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// As many calls as fill `lap`, found by doubling.
fn calls_per_lap<K: Sync>(
    lane: &Lane<'_, K>,
    keys: &[K],
    most: usize,
    lap_time: Duration,
) -> usize {
    let mut calls = most.min(256);
    loop {
        let nanos = lap(lane, part(keys, 0, calls), Callers::One).0 * calls as f64;
        if calls == most || nanos >= lap_time.as_nanos() as f64 {
            return calls;
        }
        calls = most.min(calls * 2);
    }
}

/// `calls` keys of round `round`; rounds follow one another through the keys.
fn part<K>(keys: &[K], round: usize, calls: usize) -> &[K] {
    let parts = keys.len() / calls;
    let start = round % parts * calls;
    &keys[start..start + calls]
}

/// Nanoseconds per decision and caller, and how many passed.
fn lap<K: Sync>(lane: &Lane<'_, K>, keys: &[K], callers: Callers) -> (f64, usize) {
    let (nanos, passed) = match callers {
        Callers::One => {
            let turn = turn(ClockId::ThreadCPUTime, lane, keys);
            (turn.nanos(), turn.passed)
        }
        Callers::Two => {
            let (one, other) = side_by_side(lane, keys);
            (one.nanos() + other.nanos(), one.passed + other.passed)
        }
    };
    (nanos / keys.len() as f64, passed)
}

/// Two turns at the same time. When the kernel gave a caller's core to somebody else meanwhile, the
/// pair says nothing and is tried again.
fn side_by_side<K: Sync>(lane: &Lane<'_, K>, keys: &[K]) -> (Turn, Turn) {
    const TRIES: usize = 2_000;
    let (first, second) = keys.split_at(keys.len() / 2);
    for _ in 0..TRIES {
        let balls = [AtomicUsize::new(0), AtomicUsize::new(0)];
        let caller = |side, keys| {
            // The first meeting may take long; the second is where both just were.
            meet(&balls[0], side);
            let before = preemptions();
            meet(&balls[1], side);
            let turn = turn(ClockId::Monotonic, lane, keys);
            (turn, preemptions() - before)
        };
        let (one, other) = thread::scope(|scope| {
            let other = scope.spawn(|| caller(1, second));
            (caller(0, first), other.join().expect("a lap does not panic"))
        });
        if let ((one, 0), (other, 0)) = (one, other) {
            return (one, other);
        }
    }
    panic!("no two threads ran undisturbed in {TRIES} tries: the machine is too busy");
}

/// Hands a ball to and fro: when that is done both sides are on a core. They spin, since a sleeper
/// would wake long after the other began.
fn meet(ball: &AtomicUsize, side: usize) {
    for throw in (side..16).step_by(2) {
        while ball.load(Ordering::Relaxed) != throw {
            hint::spin_loop();
        }
        ball.store(throw + 1, Ordering::Relaxed);
    }
}

/// How often the kernel took the core from this thread.
fn preemptions() -> u64 {
    let status =
        fs::read_to_string("/proc/thread-self/status").expect("Linux tells a thread its own");
    let count = status.lines().find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"));
    count.and_then(|count| count.trim().parse().ok()).expect("it counts switches")
}

struct Turn {
    start: f64,
    end: f64,
    passed: usize,
}

impl Turn {
    fn nanos(&self) -> f64 {
        self.end - self.start
    }
}

fn turn<K>(clock: ClockId, lane: &Lane<'_, K>, keys: &[K]) -> Turn {
    let nanos = || {
        let now = clock_gettime(clock);
        now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
    };
    let start = nanos();
    let passed = lane.limiter.lap(keys);
    Turn { start, end: nanos(), passed }
}
