//! Who of the clients looks like an ordinary user, and what limits cost them.

use super::Tally;

/// Who of the clients looks like an ordinary user: it named no robot or tool, and in its busiest minute it
/// made no more requests than 99 in 100 of the clients did in theirs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ordinary {
    /// The most requests that an ordinary user makes in a minute.
    pub most_in_a_minute: u32,
    /// How many clients look like one.
    pub clients: u64,
    /// How many requests they made.
    pub requests: u64,
    /// How many of theirs were refused, or would have been.
    pub refused: u64,
    /// How many of those clients were refused at all.
    pub clients_refused: u64,
    /// How many requests of anybody were refused, or would have been.
    pub refused_of_all: u64,
}

impl Tally {
    /// Who looks like an ordinary user, and what that cost them.
    #[must_use]
    pub fn ordinary(&self) -> Ordinary {
        let mut minutes: Vec<u32> =
            self.clients.iter().map(|(_, client)| client.peaks.minute.most()).collect();
        minutes.sort_unstable();
        // The nearest rank: 99 in 100 are not above it.
        let rank = (minutes.len() * 99).div_ceil(100).saturating_sub(1);
        let most_in_a_minute = minutes.get(rank).copied().unwrap_or(0);
        let mut ordinary = Ordinary { most_in_a_minute, ..Ordinary::default() };
        for (_, client) in self.clients.iter() {
            let refused = client.refused + client.would_refuse;
            ordinary.refused_of_all += refused;
            if !client.is_robot && client.peaks.minute.most() <= most_in_a_minute {
                ordinary.clients += 1;
                ordinary.requests += client.requests;
                ordinary.refused += refused;
                ordinary.clients_refused += u64::from(refused > 0);
            }
        }
        let others = self.clients.others();
        ordinary.refused_of_all += others.refused + others.would_refuse;
        ordinary
    }
}
