//! The most requests in one second and in one minute.

use tollgate_core::{Span, Tick};

/// The most requests in one second and in one minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peaks {
    /// In a second of the clock.
    pub second: Peak<1>,
    /// In a minute of the clock.
    pub minute: Peak<60>,
}

impl Peaks {
    pub(super) fn count(&mut self, at: Tick) {
        let second = at.as_micros() / 1_000_000;
        self.second.count(second);
        self.minute.count(second);
    }
}

/// The most requests in so many seconds, which begin where the clock counts anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peak<const SECONDS: u32> {
    /// Which window is on, counted from the epoch. Of windows of a second as many as fit are in a
    /// century and more.
    window: u32,
    count: u32,
    most: u32,
    when: u32,
}

impl<const SECONDS: u32> Peak<SECONDS> {
    fn count(&mut self, second: u64) {
        let window = u32::try_from(second / u64::from(SECONDS)).unwrap_or(u32::MAX);
        if window != self.window {
            (self.window, self.count) = (window, 0);
        }
        self.count = self.count.saturating_add(1);
        if self.count > self.most {
            (self.most, self.when) = (self.count, window);
        }
    }

    /// The most requests.
    #[must_use]
    pub fn most(&self) -> u32 {
        self.most
    }

    /// When the window with the most requests began; of several that of the first.
    #[must_use]
    pub fn when(&self) -> Tick {
        Tick::EPOCH.after(Span::from_secs(u64::from(self.when) * u64::from(SECONDS)))
    }
}
