//! What a closed circuit remembers: a row of faults, and the results of a window that moves on.

use core::mem;

use super::Report;
use crate::clock::{Span, Tick};

/// Parts of a window; it moves on by one of them at a time.
const SLICES: u64 = 10;

/// The results of a window of time, in constant memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    faults_in_a_row: u32,
    /// The number of the newest slice since the epoch.
    newest: u64,
    /// The newest first.
    slices: [Slice; 10],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Slice {
    calls: u32,
    faults: u32,
}

impl Tally {
    pub(super) fn add(&mut self, report: Report, now: Tick, window: Span) {
        self.move_to(now.as_micros() / (window.as_micros() / SLICES).max(1));
        let [newest, ..] = &mut self.slices;
        newest.calls = newest.calls.saturating_add(1);
        match report {
            Report::Good => self.faults_in_a_row = 0,
            Report::Fault => {
                newest.faults = newest.faults.saturating_add(1);
                self.faults_in_a_row = self.faults_in_a_row.saturating_add(1);
            }
        }
    }

    pub(super) fn faults_in_a_row(&self) -> u32 {
        self.faults_in_a_row
    }

    /// Calls and the faults among them.
    pub(super) fn totals(&self) -> (u64, u64) {
        self.slices.iter().fold((0, 0), |(calls, faults), slice| {
            (calls + u64::from(slice.calls), faults + u64::from(slice.faults))
        })
    }

    fn move_to(&mut self, slice: u64) {
        // A clock that stepped back a little counts where it stood; by a window or more, anew.
        if slice.abs_diff(self.newest) >= SLICES {
            self.slices = Default::default();
            self.newest = slice;
        }
        while self.newest < slice {
            self.slices.rotate_right(1);
            let [newest, ..] = &mut self.slices;
            mem::take(newest);
            self.newest += 1;
        }
    }
}
