//! Hours of a week, as the clocks of a time zone show them.

#[cfg(test)]
mod tests;

use std::error::Error;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tollgate_core::Tick;

use crate::zone;

/// Hours of a week in a time zone: when its clocks show one of them, on one of the days.
///
/// An hour that the clocks skip in spring does not come that day, and one that they repeat in autumn
/// comes twice. Hours over midnight belong to the day on which they begin. The zones are those of
/// the IANA database this was built with.
///
/// ```
/// use tollgate_core::{Span, Tick};
/// use tollgate_policy::Schedule;
/// let office = Schedule::new("office", "Europe/Paris")?.days("mon-fri")?.hours("09:00-18:00")?;
/// // A Monday, 08:30 in London and 09:30 in Paris.
/// let monday = Tick::EPOCH.after(Span::from_secs(1_779_694_200));
/// assert!(office.holds(monday));
/// let saturday = monday.after(Span::from_secs(5 * 86_400));
/// assert!(!office.holds(saturday));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Schedule {
    name: Box<str>,
    zone: TimeZone,
    /// None for every day.
    days: Vec<Days>,
    /// None for all day.
    hours: Vec<Hours>,
    known: Known,
}

impl Schedule {
    /// All hours of all days in a zone of the IANA database, such as `Europe/Paris` or `UTC`.
    ///
    /// # Errors
    /// When there is no such zone.
    pub fn new(name: &str, zone: &str) -> Result<Schedule, ScheduleError> {
        let zone = zone::zone(zone).ok_or(ScheduleError::Zone)?;
        let known = Known::default();
        Ok(Schedule { name: name.into(), zone, days: Vec::new(), hours: Vec::new(), known })
    }

    /// The same, also on these days: `sat` or `mon-fri`.
    ///
    /// # Errors
    /// When they are none.
    pub fn days(self, days: &str) -> Result<Schedule, ScheduleError> {
        Ok(self.on(days.parse()?))
    }

    /// The same, also at these hours: `09:00-18:00`, over midnight `22:00-06:00`.
    ///
    /// # Errors
    /// When they are none.
    pub fn hours(self, hours: &str) -> Result<Schedule, ScheduleError> {
        Ok(self.at(hours.parse()?))
    }

    pub(crate) fn on(mut self, days: Days) -> Schedule {
        self.days.push(days);
        Schedule { known: Known::default(), ..self }
    }

    pub(crate) fn at(mut self, hours: Hours) -> Schedule {
        self.hours.push(hours);
        Schedule { known: Known::default(), ..self }
    }

    /// The name it goes by.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is one of its hours. What was found holds until the clocks show something else, so
    /// the zone is asked a few times a day.
    #[must_use]
    pub fn holds(&self, now: Tick) -> bool {
        let second = now.as_micros() / 1_000_000;
        self.known.at(second).unwrap_or_else(|| {
            let (holds, seconds) = self.work_out(second);
            self.known.remember(second, seconds, holds);
            holds
        })
    }

    /// Whether it is one of the hours, and for how many more seconds that stays so.
    fn work_out(&self, second: u64) -> (bool, u64) {
        let signed = i64::try_from(second).unwrap_or(i64::MAX);
        let now = Timestamp::from_second(signed).unwrap_or(Timestamp::MAX);
        let clock = self.zone.to_datetime(now);
        let minute = minute_of(clock.time());
        let today = clock.weekday().to_monday_zero_offset();
        let yesterday = clock.weekday().previous().to_monday_zero_offset();
        let on = |day: i8| self.days.is_empty() || self.days.iter().any(|days| days.have(day));
        let holds = match self.hours.is_empty() {
            true => on(today),
            false => self.hours.iter().any(|hours| {
                (on(today) && hours.have(minute)) || (on(yesterday) && hours.have_late(minute))
            }),
        };
        // The next minute of the day at which any hours begin or end, or midnight.
        let edges = self.hours.iter().flat_map(|hours| [hours.from, hours.to]);
        let edge = edges.filter(|edge| *edge > minute).fold(DAY, u16::min);
        let midnight = DateTime::from_parts(clock.date(), Time::midnight());
        let passed = clock.duration_since(midnight);
        let stays = SignedDuration::from_mins(edge.into()) - passed;
        let shift =
            self.zone.following(now).next().map(|shift| now.duration_until(shift.timestamp()));
        let seconds = shift.map_or(stays, |shift| shift.min(stays)).as_secs();
        (holds, u64::try_from(seconds).unwrap_or(0))
    }
}

/// Minutes of a day.
const DAY: u16 = 24 * 60;

fn minute_of(time: Time) -> u16 {
    u16::try_from(i32::from(time.hour()) * 60 + i32::from(time.minute())).unwrap_or(0)
}

impl PartialEq for Schedule {
    fn eq(&self, other: &Schedule) -> bool {
        let same = self.name == other.name && self.zone == other.zone;
        same && self.days == other.days && self.hours == other.hours
    }
}

impl Eq for Schedule {}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schedule({})", self.name)
    }
}

/// The span that was last worked out, in one word whose value is the whole truth: its first second,
/// how many there are, and what holds within it. So requests share it without a lock, and one that
/// writes over another's loses nothing but work.
#[derive(Default)]
struct Known(AtomicU64);

impl Known {
    /// A day in seconds needs 17 bits.
    const LENGTH: u32 = 17;
    const FIRST: u32 = Known::LENGTH + 1;

    fn at(&self, second: u64) -> Option<bool> {
        let word = self.0.load(Ordering::Relaxed);
        let (first, length) = (word >> Known::FIRST, (word >> 1) & ((1 << Known::LENGTH) - 1));
        let within = second.checked_sub(first).is_some_and(|since| since < length);
        within.then_some(word & 1 == 1)
    }

    fn remember(&self, first: u64, seconds: u64, holds: bool) {
        let fits = first < 1 << (u64::BITS - Known::FIRST) && seconds < 1 << Known::LENGTH;
        if fits {
            let word = first << Known::FIRST | seconds << 1 | u64::from(holds);
            self.0.store(word, Ordering::Relaxed);
        }
    }
}

/// Days of the week, one after the other; 0 is Monday.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Days {
    first: i8,
    last: i8,
}

const DAYS: [(&str, i8); 7] =
    [("mon", 0), ("tue", 1), ("wed", 2), ("thu", 3), ("fri", 4), ("sat", 5), ("sun", 6)];

impl Days {
    fn have(self, day: i8) -> bool {
        match self.first <= self.last {
            true => (self.first..=self.last).contains(&day),
            false => day >= self.first || day <= self.last,
        }
    }
}

impl FromStr for Days {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Days, ScheduleError> {
        let day = |word: &str| DAYS.iter().find(|(known, _)| *known == word).map(|(_, day)| *day);
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let days = day(first).zip(day(last)).map(|(first, last)| Days { first, last });
        days.ok_or(ScheduleError::Days)
    }
}

/// Hours in minutes of the day; over midnight when they end before they begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hours {
    from: u16,
    to: u16,
}

impl Hours {
    /// Whether they hold at a minute of the day on which they began.
    fn have(self, minute: u16) -> bool {
        self.from <= minute && (minute < self.to || self.to < self.from)
    }

    /// Whether they hold at a minute of the day after.
    fn have_late(self, minute: u16) -> bool {
        self.to < self.from && minute < self.to
    }
}

impl FromStr for Hours {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Hours, ScheduleError> {
        let (from, to) = text.split_once('-').ok_or(ScheduleError::Hours)?;
        let hours = minute(from).zip(minute(to)).map(|(from, to)| Hours { from, to });
        hours.filter(|hours| hours.from < DAY && hours.from != hours.to).ok_or(ScheduleError::Hours)
    }
}

/// `HH:MM`, up to `24:00`.
fn minute(text: &str) -> Option<u16> {
    let (hours, minutes) = text.trim().split_once(':')?;
    let number = |digits: &str| {
        let plain = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| digits.parse::<u16>().ok()).flatten()
    };
    let minutes = number(minutes).filter(|minutes| *minutes < 60)?;
    Some(number(hours)? * 60 + minutes).filter(|minute| *minute <= DAY)
}

/// Why something is no part of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScheduleError {
    /// No time zone of the IANA database.
    Zone,
    /// Neither a day nor a range of days.
    Days,
    /// No hours of a day.
    Hours,
}

impl ScheduleError {
    /// How it is written, for messages.
    pub(crate) const fn expected(self) -> &'static str {
        match self {
            ScheduleError::Zone => {
                "a time zone of the IANA database, such as `Europe/Paris` or `UTC`"
            }
            ScheduleError::Days => "days such as `sat` or `mon-fri`",
            ScheduleError::Hours => "hours such as `09:00-18:00`, over midnight `22:00-06:00`",
        }
    }
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ScheduleError::Zone => "no time zone that is known",
            ScheduleError::Days => "neither a day of the week nor a range of days",
            ScheduleError::Hours => "no hours of a day",
        })
    }
}

impl Error for ScheduleError {}
