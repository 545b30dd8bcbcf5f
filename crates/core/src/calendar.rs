//! Windows of a calendar: days, weeks and months, which are not all equally long.

use alloc::boxed::Box;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::iter;

use crate::algorithm::Resolution;
use crate::clock::{Span, Tick};

/// The instants at which windows of a calendar begin, such as the midnights of a time zone.
///
/// It knows no zones itself: whoever builds it does. Before its first edge lies one window that began
/// at the epoch; from its last one on windows are as long as the longest. Every process that shares a
/// count must have built it from the same edges, since a window is known by its number.
///
/// ```
/// use tollgate_core::{Calendar, Span, Tick};
/// let hours = |hours: u64| Tick::EPOCH.after(Span::from_secs(hours * 3_600));
/// // Three midnights around a day of 25 hours.
/// let calendar = Calendar::new("autumn", [hours(24), hours(49), hours(73)])?;
/// assert_eq!(calendar.window(hours(48)), (hours(24), hours(49)));
/// # Ok::<(), tollgate_core::CalendarError>(())
/// ```
#[derive(Clone)]
pub struct Calendar {
    name: Box<str>,
    edges: Box<[Tick]>,
    shortest: Span,
    longest: Span,
}

impl Calendar {
    /// A calendar of these edges, under a name that tells it from others.
    ///
    /// # Errors
    /// When there is no edge, or one that does not lie a whole number of seconds, 1 at least, behind
    /// the one before it and the epoch.
    pub fn new(
        name: &str,
        edges: impl IntoIterator<Item = Tick>,
    ) -> Result<Calendar, CalendarError> {
        let edges: Box<[Tick]> = edges.into_iter().collect();
        let starts = iter::once(&Tick::EPOCH).chain(&edges);
        let lengths = || starts.clone().zip(&edges).map(|(start, end)| end.since(*start));
        let whole = |length: Span| length.as_micros().is_multiple_of(Span::SECOND.as_micros());
        if let Some(place) = lengths().position(|length| length == Span::ZERO || !whole(length)) {
            return Err(CalendarError { place });
        }
        let longest = lengths().max().ok_or(CalendarError { place: 0 })?;
        // The first window began before the epoch.
        let shortest = lengths().skip(1).min().unwrap_or(longest);
        Ok(Calendar { name: name.into(), edges, shortest, longest })
    }

    /// What tells it from others.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The shortest of its windows.
    #[must_use]
    pub fn shortest(&self) -> Span {
        self.shortest
    }

    /// The longest of its windows.
    #[must_use]
    pub fn longest(&self) -> Span {
        self.longest
    }

    /// When the window in which `now` lies began, and when it ends.
    #[must_use]
    pub fn window(&self, now: Tick) -> (Tick, Tick) {
        let number = self.number(now);
        (self.start(number), self.start(number.saturating_add(1)))
    }

    /// How far windows of the longest length, counted from the epoch, have to be shifted for that of
    /// `now` to begin where it does: so that a rule of equal windows counts those of a calendar.
    #[must_use]
    pub fn phase(&self, now: Tick, resolution: Resolution) -> u64 {
        let number = self.number(now);
        let begun = resolution.floor(self.start(number).as_micros());
        // No window is longer than the longest, so none begins later than as many of these.
        number.saturating_mul(resolution.floor(self.longest.as_micros())).saturating_sub(begun)
    }

    /// The end, in the calendar, of what ends so many ticks after `now` in windows of the longest
    /// length, shifted by the phase of `now`.
    pub(crate) fn end(&self, ticks: u64, now: Tick, resolution: Resolution) -> Tick {
        let present = resolution.floor(now.as_micros());
        let shifted = present.saturating_add(ticks).saturating_add(self.phase(now, resolution));
        let number = shifted.checked_div(resolution.floor(self.longest.as_micros()));
        self.start(number.unwrap_or(u64::MAX))
    }

    /// How many windows ended by `now`.
    fn number(&self, now: Tick) -> u64 {
        let (count, last) = self.count();
        if now >= last {
            let more = now.since(last).as_micros().checked_div(self.longest.as_micros());
            return count.saturating_add(more.unwrap_or(0));
        }
        u64::try_from(self.edges.partition_point(|edge| *edge <= now)).unwrap_or(u64::MAX)
    }

    /// When a window begins; the first at the epoch.
    fn start(&self, number: u64) -> Tick {
        let Some(before) = number.checked_sub(1) else { return Tick::EPOCH };
        if let Some(edge) = usize::try_from(before).ok().and_then(|at| self.edges.get(at)) {
            return *edge;
        }
        let (count, last) = self.count();
        let beyond = number.saturating_sub(count).saturating_mul(self.longest.as_micros());
        last.after(Span::from_micros(beyond))
    }

    /// How many edges there are, and the last.
    fn count(&self) -> (u64, Tick) {
        let last = self.edges.last().copied().unwrap_or(Tick::EPOCH);
        (u64::try_from(self.edges.len()).unwrap_or(u64::MAX), last)
    }
}

/// Its name and how many edges it has, which are too many to list.
impl fmt::Debug for Calendar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calendar")
            .field("name", &self.name)
            .field("edges", &self.edges.len())
            .finish_non_exhaustive()
    }
}

impl PartialEq for Calendar {
    fn eq(&self, other: &Calendar) -> bool {
        core::ptr::eq(self, other) || (self.name == other.name && self.edges == other.edges)
    }
}

impl Eq for Calendar {}

impl Hash for Calendar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Two of one name are hardly ever two.
        self.name.hash(state);
    }
}

/// Which edge cannot be one of a calendar, counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalendarError {
    place: usize,
}

impl fmt::Display for CalendarError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "edge {} of a calendar is missing or wrong; expected edges that lie whole seconds behind \
             each other and the epoch",
            self.place
        )
    }
}

impl core::error::Error for CalendarError {}
