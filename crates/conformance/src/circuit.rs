//! The reference of a circuit breaker: it keeps every result and every probe, and counts them again
//! for each question.

mod place;

use tollgate_core::breaker::{Breaker, Report, Status, Window};
use tollgate_core::{Span, Tick};

use crate::Random;

pub use place::Place;

/// What a breaker is told, in plain numbers; times are in microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Faults in a row that open.
    pub in_a_row: u32,
    /// Per cent of faults that open.
    pub fault_percent: u32,
    /// Per cent of slow calls that open.
    pub slow_percent: u32,
    /// What a call must take longer than to be slow.
    pub slow_above: u64,
    /// Results that the shares want at least.
    pub least_calls: u32,
    /// Which results the shares are of.
    pub window: Window,
    /// Good probes that close.
    pub good: u32,
    /// Bad probes that open again.
    pub bad: u32,
    /// Probes per period.
    pub permits: u32,
    /// The least and the most length of a period of probes.
    pub period: (u64, u64),
    /// The least and the most wait, unless it is as long as a period.
    pub wait: Option<(u64, u64)>,
    /// What doubled waits may reach.
    pub longest: u64,
}

impl Settings {
    /// Any that a breaker takes, mostly such that a few dozen results make it turn.
    #[must_use]
    pub fn drawn(random: &mut Random) -> Settings {
        let mut small = |first, last| u32::try_from(random.between(first, last)).unwrap();
        let (in_a_row, fault_percent, slow_percent) = (small(1, 12), small(1, 101), small(1, 101));
        let (least_calls, good, bad, permits) =
            (small(1, 40), small(1, 5), small(1, 4), small(1, 6));
        let calls = u16::try_from(random.between(1, 60)).unwrap();
        let by_time = Window::Time(Span::from_millis(10 * random.between(1, 200)));
        let window = if random.once_in(2) { by_time } else { Window::Calls(calls) };
        let mut range = |bits| {
            let least = random.of_any_size(bits);
            (least, least + random.of_any_size(bits))
        };
        let (period, wait) = (range(18), range(18));
        let wait = random.once_in(2).then_some(wait);
        let slow_above = 1 + random.of_any_size(18);
        let longest = random.of_any_size(22);
        let in_a_row = if random.once_in(3) { u32::MAX } else { in_a_row };
        Settings {
            in_a_row,
            fault_percent,
            slow_percent,
            slow_above,
            least_calls,
            window,
            good,
            bad,
            permits,
            period,
            wait,
            longest,
        }
    }

    /// The breaker of these settings.
    #[must_use]
    pub fn breaker(&self) -> Breaker {
        let span = Span::from_micros;
        let breaker = Breaker::default()
            .opens_after(self.in_a_row)
            .opens_at(self.fault_percent, self.least_calls, self.window)
            .opens_when_slow(self.slow_percent, span(self.slow_above))
            .closes_after(self.good)
            .opens_again_after(self.bad)
            .permits(self.permits)
            .probes_each(span(self.period.0), span(self.period.1))
            .blocks_longer_up_to(span(self.longest));
        match self.wait {
            Some((least, most)) => breaker.blocks_for(span(least), span(most)),
            None => breaker,
        }
    }

    /// The range of the wait after so many openings in a row.
    #[must_use]
    pub fn wait_after(&self, openings: u32) -> (u64, u64) {
        let (least, most) = self.wait.unwrap_or(self.period);
        let mut top = u128::from(most);
        for _ in 1..openings {
            top = (2 * top).min(self.longest.max(most).into());
        }
        let bottom = if most == 0 { 0 } else { u128::from(least) * top / u128::from(most) };
        (bottom.try_into().unwrap(), top.try_into().unwrap())
    }
}

/// One circuit's life.
#[derive(Clone, Debug)]
pub struct Recount {
    settings: Settings,
    status: Status,
    /// Each opening and closing: results from before the last one do not count.
    turns: u64,
    /// Openings since it was last closed.
    openings: u32,
    /// Results since it was last closed: when, whether a fault, whether slow.
    results: Vec<(u64, bool, bool)>,
    /// Until when it is open, or its period of probes lasts.
    until: u64,
    /// The longest that this can be off.
    longest: u64,
    rounds: usize,
    probes: Vec<Probe>,
}

#[derive(Clone, Debug)]
struct Probe {
    round: usize,
    outcome: Option<Outcome>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    GivenBack,
    Well,
    Bad,
}

/// A call that was let through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    turns: u64,
    at: u64,
    /// Which probe it is, if it is one.
    pub probe: Option<usize>,
}

impl Recount {
    /// A circuit that is closed and has seen nothing.
    #[must_use]
    pub fn of(settings: Settings) -> Recount {
        Recount {
            settings,
            status: Status::Closed,
            turns: 0,
            openings: 0,
            results: Vec::new(),
            until: 0,
            longest: 0,
            rounds: 0,
            probes: Vec::new(),
        }
    }

    /// Whether calls flow.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status
    }

    /// Whether a result of this call counts.
    #[must_use]
    pub fn counts(&self, begun: &Begun) -> bool {
        begun.turns == self.turns
    }

    /// Permits of this period of probes that were not given back.
    #[must_use]
    pub fn taken(&self) -> usize {
        let held = |probe: &&Probe| {
            probe.round == self.rounds && probe.outcome != Some(Outcome::GivenBack)
        };
        self.probes.iter().filter(held).count()
    }

    /// A call that may begin, or how long it is blocked.
    ///
    /// # Errors
    /// The wait of one that may not.
    pub fn ask(&mut self, now: Tick, jitter: u64) -> Result<Begun, Span> {
        let at = now.as_micros();
        if self.status == Status::Closed {
            return Ok(Begun { turns: self.turns, at, probe: None });
        }
        let wait = self.until.saturating_sub(at);
        let over = wait == 0 || wait > self.longest;
        let full = self.taken() >= usize::try_from(self.settings.permits).unwrap();
        if !over && (self.status == Status::Open || full) {
            return Err(Span::from_micros(wait));
        }
        if over {
            self.status = Status::HalfOpen;
            self.rounds += 1;
            self.until = at + drawn(self.settings.period, jitter);
            self.longest = self.settings.period.1;
        }
        self.probes.push(Probe { round: self.rounds, outcome: None });
        Ok(Begun { turns: self.turns, at, probe: Some(self.probes.len() - 1) })
    }

    /// What the circuit turns to by this result, if it turns.
    pub fn report(
        &mut self,
        begun: &Begun,
        report: Report,
        now: Tick,
        jitter: u64,
    ) -> Option<Status> {
        if !self.counts(begun) {
            return None;
        }
        let at = now.as_micros();
        let slow = at.saturating_sub(begun.at) > self.settings.slow_above;
        let bad = report == Report::Fault || slow;
        let Some(probe) = begun.probe else {
            if report != Report::Ignored {
                self.results.push((at, report == Report::Fault, slow));
            }
            let opens = report != Report::Ignored && self.must_open();
            return opens.then(|| self.open(at, jitter, 0));
        };
        self.probes[probe].outcome = Some(match report {
            Report::Ignored => Outcome::GivenBack,
            _ if bad => Outcome::Bad,
            _ => Outcome::Well,
        });
        let count = |outcome| {
            let same = |probe: &&Probe| probe.outcome.as_ref() == Some(&outcome);
            u32::try_from(self.probes.iter().filter(same).count()).unwrap()
        };
        if count(Outcome::Bad) >= self.settings.bad {
            return Some(self.open(at, jitter, self.until));
        }
        (count(Outcome::Well) >= self.settings.good).then(|| {
            *self = Recount { turns: self.turns + 1, ..Recount::of(self.settings) };
            self.status
        })
    }

    fn open(&mut self, at: u64, jitter: u64, earliest: u64) -> Status {
        self.openings += 1;
        self.turns += 1;
        let wait = self.settings.wait_after(self.openings);
        self.until = (at + drawn(wait, jitter)).max(earliest);
        self.longest = wait.1.max(self.settings.period.1);
        self.probes.clear();
        self.status = Status::Open;
        self.status
    }

    /// Whether the list of all results since the circuit closed says that it must open.
    fn must_open(&self) -> bool {
        let row = self.results.iter().rev().take_while(|(_, fault, _)| *fault).count();
        let held = self.in_window();
        let share = |kind: fn(&(bool, bool)) -> bool, percent: u32| {
            let of_kind = held.iter().filter(|result| kind(result)).count();
            100 * of_kind >= usize::try_from(percent).unwrap() * held.len()
        };
        let least = match self.settings.window {
            Window::Time(_) => self.settings.least_calls,
            Window::Calls(calls) => self.settings.least_calls.min(calls.into()),
        };
        let shares = share(|(fault, _)| *fault, self.settings.fault_percent)
            || share(|(_, slow)| *slow, self.settings.slow_percent);
        row >= usize::try_from(self.settings.in_a_row).unwrap()
            || (held.len() >= usize::try_from(least).unwrap() && shares)
    }

    fn in_window(&self) -> Vec<(bool, bool)> {
        match self.settings.window {
            Window::Calls(calls) => {
                let first = self.results.len().saturating_sub(calls.into());
                self.results[first..].iter().map(|&(_, fault, slow)| (fault, slow)).collect()
            }
            Window::Time(span) => {
                let slice = (span.as_micros() / 10).max(1);
                let (mut newest, mut held) = (0, Vec::new());
                for &(at, fault, slow) in &self.results {
                    let own = at / slice;
                    if own.abs_diff(newest) >= 10 {
                        held.clear();
                        newest = own;
                    }
                    newest = newest.max(own);
                    held.push((newest, (fault, slow)));
                }
                let recent = held.into_iter().filter(|(own, _)| own + 10 > newest);
                recent.map(|(_, result)| result).collect()
            }
        }
    }
}

fn drawn((least, most): (u64, u64), jitter: u64) -> u64 {
    least + jitter % (most - least + 1)
}
