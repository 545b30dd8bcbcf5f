//! Entries of rules that are not told apart: a number tells how long they owe at most.
//!
//! It stands for a length, the least of a minute times a power of four that is not below what the
//! entry owed when it was written, and for the slice of time of that length in which that was: one of
//! four that take turns. At the end of the next slice the entry has recovered, and in the one after it
//! the number says so.

use tollgate_core::{Span, Tick};

use crate::bucket::Cell;

/// The first of these numbers; those below it are of shapes.
pub(crate) const FIRST: u64 = Cell::LAST_SHAPE + 1 - LENGTHS * TURNS;
/// From a minute to 510 years.
const LENGTHS: u64 = 15;
/// Threads whose clocks are a moment apart never take a slice for another: three could be.
const TURNS: u64 = 4;

/// The number for an entry that owes for so many microseconds from now on.
pub(crate) fn number(micros: u64, now: Tick) -> u64 {
    let fits = |place: &u64| micros <= length(*place);
    let place = (0..LENGTHS).find(fits).unwrap_or(LENGTHS.saturating_sub(1));
    FIRST.saturating_add(place.saturating_mul(TURNS)).saturating_add(turn(length(place), now))
}

/// For how many microseconds an entry of such a number still owes at most; none if it is not one.
pub(crate) fn micros_to_reset(number: u64, now: Tick) -> Option<u64> {
    let place = number.checked_sub(FIRST)?;
    let length = length(place / TURNS);
    let gone = now.as_micros().checked_rem(length).unwrap_or(0);
    let slices = |count: u64| length.saturating_mul(count).saturating_sub(gone);
    Some(match turn(length, now).wrapping_sub(place) % TURNS {
        0 => slices(2),
        1 => slices(1),
        2 => 0,
        // Of the slice to come, by another clock or before this one was set back.
        _ => slices(3),
    })
}

fn length(place: u64) -> u64 {
    let power = u32::try_from(place).map_or(u64::MAX, |place| 4u64.saturating_pow(place));
    Span::MINUTE.as_micros().saturating_mul(power)
}

fn turn(length: u64, now: Tick) -> u64 {
    now.as_micros().checked_div(length).unwrap_or(0) % TURNS
}

#[cfg(test)]
mod tests {
    use tollgate_conformance::Random;

    use super::*;

    #[test]
    fn what_owes_is_never_taken_for_recovered_and_what_has_recovered_soon_is() {
        let random = &mut Random::of(7);
        for _ in 0..10_000 {
            let owed = random.of_any_size(49).max(1);
            let start = random.below(1 << 52);
            let number = number(owed, Tick::from_micros(start));
            assert!((FIRST..=Cell::LAST_SHAPE).contains(&number));
            let left = |now| micros_to_reset(number, Tick::from_micros(now)).unwrap();
            let passed = random.below(owed);
            assert!(left(start + passed) >= owed - passed, "{owed} from {start} on");
            // By a clock that is behind, too.
            assert!(left(start.saturating_sub(passed)) >= owed, "{owed} from {start} on");
            // No slice is longer than a minute or four times what is owed.
            let quarter = owed.max(15_000_000);
            assert!((0..=12).any(|nth| left(start + nth * quarter) == 0), "{owed} from {start} on");
        }
    }
}
