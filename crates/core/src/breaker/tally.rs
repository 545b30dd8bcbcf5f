//! What a closed circuit remembers: a row of faults, and the results in a window.

use super::window::{Results, Seen, Totals, Window};
use crate::clock::Tick;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    faults_in_a_row: u32,
    results: Results,
}

impl Tally {
    pub(super) fn add(&mut self, seen: Seen, now: Tick, window: Window) {
        let row = self.faults_in_a_row.saturating_add(1);
        self.faults_in_a_row = if seen.is_fault() { row } else { 0 };
        self.results.add(seen, now, window);
    }

    pub(super) fn faults_in_a_row(&self) -> u32 {
        self.faults_in_a_row
    }

    pub(super) fn totals(&self) -> Totals {
        self.results.totals()
    }
}
