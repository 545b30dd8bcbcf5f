//! The frames of an HTTP/2 client, counted by their heads, so that one that only keeps us busy is sent
//! away.
//!
//! The HTTP library bounds what frames may cost in memory: resets, continuations, small data. Frames
//! that carry nothing (pings, settings, priorities, windows, types that nobody knows) it answers or
//! drops for ever, and a flood of them is work that no limit sees. So each takes from an allowance, and
//! whatever a client does that has a use gives to it.

use std::time::Duration;

use tokio::time::Instant;

/// Frames without a use that a client may send at once.
const ALLOWANCE: u64 = 2_000;
/// What a client does in order to be served, and how many frames that excuses: a request, ...
const REQUEST: u64 = 10;
/// ... a frame with data (gRPC sends a ping along with each, to measure the line), ...
const DATA: u64 = 4;
/// ... each this many bytes that it is sent, of which it has to say that it took them.
const SENT: u64 = 1024;
/// And one is excused by this much time: what keeps an idle connection open comes each second at most.
const QUIET: Duration = Duration::from_millis(100);

/// Bytes of a frame's head: length (24 bits), type, flags, stream (RFC 9113, 4.1).
const HEAD: usize = 9;

/// A client that sends nothing but frames without a use.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Flood;

/// The place in a client's bytes, and what it is still allowed.
#[derive(Debug)]
pub(super) struct Frames {
    /// Bytes that belong to no frame's head: the preface, then payloads.
    skip: usize,
    head: [u8; HEAD],
    held: usize,
    allowed: u64,
    /// Bytes sent that have not yet excused a frame.
    sent: u64,
    refilled: Instant,
}

impl Frames {
    /// Behind `preface` bytes that are not frames.
    pub(super) fn behind(preface: usize) -> Frames {
        Frames {
            skip: preface,
            head: [0; HEAD],
            held: 0,
            allowed: ALLOWANCE,
            sent: 0,
            refilled: Instant::now(),
        }
    }

    /// Counts the frames that begin in what came next.
    ///
    /// # Errors
    /// When there are more without a use than the client is allowed.
    pub(super) fn came(&mut self, mut bytes: &[u8]) -> Result<(), Flood> {
        loop {
            let skipped = self.skip.min(bytes.len());
            self.skip -= skipped;
            bytes = bytes.get(skipped..).unwrap_or_default();
            let Some((first, rest)) = bytes.split_first() else {
                return Ok(());
            };
            if let Some(place) = self.head.get_mut(self.held) {
                *place = *first;
            }
            self.held += 1;
            bytes = rest;
            if self.held == HEAD {
                self.held = 0;
                let [high, middle, low, kind, ..] = self.head;
                let length = u32::from_be_bytes([0, high, middle, low]);
                self.skip = usize::try_from(length).unwrap_or(usize::MAX);
                self.judge(kind, self.skip)?;
            }
        }
    }

    /// Counts bytes that the client has taken.
    pub(super) fn took(&mut self, bytes: usize) {
        self.sent = self.sent.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        self.allow(self.sent / SENT);
        self.sent %= SENT;
    }

    fn judge(&mut self, kind: u8, length: usize) -> Result<(), Flood> {
        match (kind, length) {
            // Data, unless there is none in it.
            (0x0, 1..) => self.allow(DATA),
            (0x1, _) => self.allow(REQUEST),
            // The library bounds resets and continuations itself, and knows which of them are too many.
            (0x3 | 0x9, _) => {}
            _ => return self.spend(),
        }
        Ok(())
    }

    fn allow(&mut self, frames: u64) {
        self.allowed = self.allowed.saturating_add(frames).min(ALLOWANCE);
    }

    fn spend(&mut self) -> Result<(), Flood> {
        if self.allowed == 0 {
            // The clock is read only when it matters.
            let quiet = self.refilled.elapsed().as_millis() / QUIET.as_millis();
            if quiet > 0 {
                self.refilled = Instant::now();
                self.allow(u64::try_from(quiet).unwrap_or(u64::MAX));
            }
        }
        self.allowed = self.allowed.checked_sub(1).ok_or(Flood)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREFACE: usize = 24;
    const WINDOW: u8 = 0x8;
    const PING: u8 = 0x6;

    fn frame(kind: u8, length: u8) -> Vec<u8> {
        let mut frame = vec![0, 0, length, kind, 0, 0, 0, 0, 0];
        frame.resize(HEAD + usize::from(length), 0xff);
        frame
    }

    fn opened() -> Frames {
        let mut frames = Frames::behind(PREFACE);
        frames.came(&[0x50; PREFACE]).unwrap();
        frames
    }

    /// How many frames of a kind pass at once, up to ten thousand. Behind a flood nothing is counted.
    fn passing(frames: &mut Frames, kind: u8, length: u8) -> usize {
        (0..10_000).take_while(|_| frames.came(&frame(kind, length)).is_ok()).count()
    }

    #[tokio::test(start_paused = true)]
    async fn frames_without_a_use_pass_up_to_the_allowance() {
        for (kind, length) in [(PING, 8), (0x4, 0), (0x2, 5), (WINDOW, 4), (0x0, 0), (0x77, 3)] {
            assert_eq!(passing(&mut opened(), kind, length), 2_000, "{kind}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn requests_data_and_what_is_sent_excuse_frames() {
        let spent = || {
            let mut frames = opened();
            frames.came(&frame(PING, 8).repeat(2_000)).unwrap();
            frames
        };
        let mut frames = spent();
        frames.came(&[frame(0x1, 20), frame(0x0, 1)].concat()).unwrap();
        assert_eq!(passing(&mut frames, PING, 8), 14);
        let mut frames = spent();
        frames.took(1_000);
        frames.took(1_048);
        assert_eq!(passing(&mut frames, WINDOW, 4), 2);
        let mut frames = spent();
        frames.took(1_000);
        assert_eq!(passing(&mut frames, WINDOW, 4), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn who_pings_each_second_does_so_for_ever() {
        let mut frames = opened();
        for _ in 0..20_000 {
            frames.came(&frame(PING, 8)).unwrap();
            tokio::time::advance(Duration::from_secs(1)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn frames_are_found_however_the_bytes_come() {
        let stream = [vec![0x50; PREFACE], frame(0x1, 200), frame(PING, 8).repeat(2_001)].concat();
        for portion in [1, 2, 7, 9, 100, 4_096, stream.len()] {
            let mut frames = Frames::behind(PREFACE);
            // All but the last frame's last byte of its head: a request has excused ten, but none
            // beyond the allowance.
            let (sound, rest) = stream.split_at(stream.len() - 9);
            for part in sound.chunks(portion) {
                assert_eq!(frames.came(part), Ok(()), "{portion}");
            }
            assert_eq!(frames.came(rest), Err(Flood), "{portion}");
        }
    }
}
