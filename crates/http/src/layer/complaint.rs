//! Saying what is wrong without saying it a thousand times.

use std::sync::atomic::{AtomicU64, Ordering};

/// A complaint that is due at its first occasion and whenever the occasions have doubled since, so
/// that a million of them are twenty lines.
#[derive(Debug, Default)]
pub(super) struct Complaint(AtomicU64);

impl Complaint {
    /// Counts an occasion; how many there were when the complaint is due.
    pub(super) fn occasion(&self) -> Option<u64> {
        // Relaxed: a count that publishes nothing.
        let count = self.0.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        count.is_power_of_two().then_some(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_occasions_are_twenty_lines() {
        let complaint = Complaint::default();
        let lines: Vec<_> = (0..1_000_000).filter_map(|_| complaint.occasion()).collect();
        assert_eq!(lines.len(), 20);
        assert_eq!(lines[..4], [1, 2, 4, 8]);
    }
}
