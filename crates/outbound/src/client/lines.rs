//! The lines of all keys, as many as may be.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

use super::line::Line;

/// At most so many lines; beyond that, those of which nothing is known are forgotten, else the one that
/// was used longest ago.
#[derive(Debug)]
pub(super) struct Lines {
    most: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    lines: HashMap<Box<str>, (Arc<Line>, u64)>,
    /// Counts uses, to tell which was last.
    uses: u64,
}

impl Lines {
    pub(super) fn new(most: usize) -> Lines {
        Lines { most: most.max(1), kept: Mutex::default() }
    }

    pub(super) fn of(&self, key: &str) -> Arc<Line> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let Kept { lines, uses } = &mut *kept;
        *uses += 1;
        if let Some((line, used)) = lines.get_mut(key) {
            *used = *uses;
            return line.clone();
        }
        if lines.len() >= self.most {
            forget(lines);
        }
        let line = Arc::new(Line::new(Instant::now()));
        lines.insert(key.into(), (line.clone(), *uses));
        line
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.kept.lock().unwrap().lines.len()
    }
}

/// Makes room for one more.
fn forget(lines: &mut HashMap<Box<str>, (Arc<Line>, u64)>) {
    let (before, now) = (lines.len(), Instant::now());
    // A line that somebody holds is in use; forgotten, it would come to be twice.
    lines.retain(|_, (line, _)| Arc::strong_count(line) > 1 || line.matters(now));
    if lines.len() == before {
        let oldest = lines.iter().min_by_key(|(_, (_, used))| *used).map(|(key, _)| key.clone());
        oldest.and_then(|key| lines.remove(&key));
    }
}

#[cfg(test)]
mod tests {
    use tollgate_core::Span;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn any_number_of_keys_is_no_more_than_the_most() {
        let lines = Lines::new(64);
        for key in 0..10_000 {
            lines.of(&key.to_string());
            assert!(lines.count() <= 64);
        }
        for key in 0..10_000 {
            lines.of(&key.to_string()).hold(Span::HOUR);
            assert!(lines.count() <= 64);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_held_or_in_use_is_forgotten_last() {
        let lines = Lines::new(3);
        lines.of("held").hold(Span::HOUR);
        let used = lines.of("used");
        for key in 0..100 {
            lines.of(&key.to_string());
        }
        assert!(!lines.of("held").free_in().is_zero());
        assert!(Arc::ptr_eq(&used, &lines.of("used")));
    }
}
