//! Entries that are held beyond their lines, packed one behind the other.

use std::net::IpAddr;

use tollgate_core::{Span, Tick};

use crate::entry::{Client, Entry, Line, Others};

/// Entries of one second. Their room is used again and again.
#[derive(Debug, Default)]
pub(crate) struct Bucket {
    held: Vec<Held>,
    /// The texts of all of them.
    text: Vec<u8>,
    /// Whether some entry is older than the one before it.
    unsorted: bool,
}

/// An entry without its texts.
#[derive(Clone, Debug)]
struct Held {
    at: Tick,
    address: Option<IpAddr>,
    status: Option<u16>,
    bytes: Option<u64>,
    length: Option<u64>,
    took: Option<Span>,
    /// Where its texts begin.
    from: usize,
    /// How long they are.
    name: Length,
    user: Length,
    method: Length,
    target: u32,
    host: Length,
    referer: Length,
    agent: Length,
    /// How many further parts stand behind them, each with its number and length before it.
    others: u32,
}

/// The length of a text that may not be there.
#[derive(Clone, Copy, Debug)]
struct Length(u32);

const ABSENT: Length = Length(u32::MAX);

impl Bucket {
    pub(crate) fn len(&self) -> usize {
        self.held.len()
    }

    /// Copies an entry.
    pub(crate) fn hold(&mut self, entry: &Entry<'_>) {
        let from = self.text.len();
        let mut put = |text: Option<&[u8]>| {
            let Some(text) = text else { return ABSENT };
            self.text.extend_from_slice(text);
            // No line is longer than a mebibyte.
            Length(u32::try_from(text.len()).unwrap_or(0))
        };
        let (address, name) = match entry.client {
            Client::Address(address) => (Some(address), ABSENT),
            Client::Name(name) => (None, put(Some(name))),
            Client::Absent => (None, ABSENT),
        };
        let user = put(entry.user);
        let (method, Length(target)) = match entry.request {
            Line::Asked { method, target } => (put(Some(method.as_bytes())), put(Some(target))),
            Line::Garbled(text) => (ABSENT, put(Some(text))),
        };
        let (host, referer, agent) = (put(entry.host), put(entry.referer), put(entry.agent));
        for (nth, text) in &entry.others {
            self.text.extend_from_slice(&nth.to_le_bytes());
            self.text.extend_from_slice(&u32::try_from(text.len()).unwrap_or(0).to_le_bytes());
            self.text.extend_from_slice(text);
        }
        self.unsorted |= self.held.last().is_some_and(|last| last.at > entry.at);
        self.held.push(Held {
            at: entry.at,
            address,
            status: entry.status,
            bytes: entry.bytes,
            length: entry.length,
            took: entry.took,
            from,
            name,
            user,
            method,
            target,
            host,
            referer,
            agent,
            others: u32::try_from(entry.others.len()).unwrap_or(0),
        });
    }

    /// Gives all entries in the order of their times, and forgets them; says what the last time was.
    pub(crate) fn give(&mut self, decide: &mut impl FnMut(&Entry<'_>)) -> Option<Tick> {
        if self.unsorted {
            self.held.sort_by_key(|held| held.at);
        }
        for held in &self.held {
            decide(&held.entry(&self.text));
        }
        let last = self.held.last().map(|held| held.at);
        self.held.clear();
        self.text.clear();
        self.unsorted = false;
        last
    }
}

impl Held {
    fn entry<'b>(&self, text: &'b [u8]) -> Entry<'b> {
        let mut rest = text.get(self.from..).unwrap_or_default();
        let mut take = |length: u32| {
            let length = usize::try_from(length).unwrap_or(0);
            let (taken, behind) = rest.split_at_checked(length).unwrap_or_default();
            rest = behind;
            taken
        };
        let mut some = |Length(length): Length| (length != ABSENT.0).then(|| take(length));
        let (name, user, method) = (some(self.name), some(self.user), some(self.method));
        let target = some(Length(self.target)).unwrap_or_default();
        let (host, referer, agent) = (some(self.host), some(self.referer), some(self.agent));
        let mut others = Others::new();
        for _ in 0..self.others {
            let Some((nth, behind)) = rest.split_first_chunk() else { break };
            let Some((length, behind)) = behind.split_first_chunk() else { break };
            let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(0);
            let (text, behind) = behind.split_at_checked(length).unwrap_or_default();
            others.push((u16::from_le_bytes(*nth), text));
            rest = behind;
        }
        Entry {
            at: self.at,
            client: match (self.address, name) {
                (Some(address), _) => Client::Address(address),
                (None, Some(name)) => Client::Name(name),
                (None, None) => Client::Absent,
            },
            user,
            request: match method {
                // What was text before is text again.
                Some(method) => {
                    Line::Asked { method: std::str::from_utf8(method).unwrap_or_default(), target }
                }
                None => Line::Garbled(target),
            },
            host,
            status: self.status,
            bytes: self.bytes,
            length: self.length,
            took: self.took,
            referer,
            agent,
            others,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_given_as_it_was() {
        let full = Entry {
            at: Tick::from_micros(5),
            client: Client::Name(b"crawler.example"),
            user: Some(b"ann lee"),
            request: Line::Asked { method: "POST", target: b"/a?b=c" },
            host: Some(b"example.com"),
            status: Some(200),
            bytes: Some(7),
            length: Some(8),
            took: Some(Span::SECOND),
            referer: Some(b""),
            agent: Some(b"curl/8"),
            others: [(3, &b"one"[..]), (0, b""), (3, b"two")].into_iter().collect(),
        };
        let bare = Entry {
            request: Line::Garbled(b"\x16\x03"),
            ..Entry::bare(Tick::from_micros(3), Client::Address([192, 0, 2, 7].into()))
        };
        let absent = Entry { client: Client::Absent, at: Tick::from_micros(3), ..bare.clone() };
        let mut bucket = Bucket::default();
        // Twice, since the room is used again.
        for _ in 0..2 {
            [&full, &bare, &absent].into_iter().for_each(|entry| bucket.hold(entry));
            let mut given = Vec::new();
            let last = bucket.give(&mut |entry| given.push(format!("{entry:?}")));
            assert_eq!(given, [&bare, &absent, &full].map(|entry| format!("{entry:?}")));
            assert_eq!((last, bucket.len()), (Some(full.at), 0));
        }
    }
}
