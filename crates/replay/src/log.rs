//! A log: its sources, their formats, and its lines in the order of time.

mod beginning;
mod feed;

use std::cell::Cell;
use std::collections::HashSet;
use std::io;
use std::rc::Rc;

use tollgate_core::Tick;
use tollgate_policy::KeyPart;

use crate::entry::Entry;
use crate::error::ReplayError;
use crate::format::{Field, Fields, Format, Unreadable};
use crate::order::{Disorder, Order, Window};
use crate::source::{Lines, Source};
use beginning::{Seen, first_unreadable};
use feed::{Feed, Step};

/// How a log is read.
#[derive(Clone, Debug, Default)]
pub struct LogOptions {
    /// The format of all sources; recognised for each unless said.
    pub format: Option<Format>,
    /// Where in JSON lines fields stand.
    pub fields: Fields,
    /// The further parts of requests that are read where the format has them.
    pub wanted: Vec<KeyPart>,
    /// Within what lines are put in order.
    pub window: Window,
}

/// A log that can be read: its formats are known.
///
/// Sources are read side by side, in the order of their times: the rotated parts of one log may be given
/// in any order, and those of several servers together. A file is open only while its time is on.
#[derive(Debug)]
pub struct Log {
    parts: Vec<Part>,
    options: LogOptions,
    known: Vec<Field>,
    read: Rc<Cell<u64>>,
}

/// One source of a log.
#[derive(Debug)]
pub struct Part {
    /// What it is called.
    pub name: String,
    /// Its format; `None` when it has no lines.
    pub format: Option<Format>,
    /// When it begins.
    pub begins: Option<Tick>,
    /// What its lines are like, if they are not of the format that was said.
    looks_like: Option<Format>,
    source: Source,
    /// What gives its lines once, as pipes do, stays open.
    opened: Option<Lines>,
}

/// What came of reading a log.
#[derive(Clone, Debug, Default)]
pub struct LogSummary {
    /// How many lines stood there, blank ones aside.
    pub lines: u64,
    /// How many requests they were.
    pub entries: u64,
    /// How many lines could not be read.
    pub unreadable: u64,
    /// The first few of those.
    pub first_unreadable: Vec<UnreadableLine>,
    /// How the lines stood in time.
    pub disorder: Disorder,
    /// Sources that could not be read to their end, and why.
    pub cut_short: Vec<(String, String)>,
    /// How many bytes were read, compressed as they are.
    pub bytes: u64,
}

/// A line that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableLine {
    /// The source.
    pub source: String,
    /// Its number in the source, from 1.
    pub number: u64,
    /// What was expected.
    pub expected: &'static str,
    /// How it begins, safe to print.
    pub text: String,
}

impl LogSummary {
    /// How many unreadable lines are kept.
    pub const FIRST: usize = 5;

    fn note(&mut self, source: &str, number: u64, why: Unreadable, line: &[u8]) {
        self.unreadable += 1;
        if self.first_unreadable.len() < LogSummary::FIRST {
            let (source, text) = (source.to_owned(), crate::shown(line));
            let expected = why.expected;
            self.first_unreadable.push(UnreadableLine { source, number, expected, text });
        }
    }
}

impl Log {
    /// Opens each source, and looks at how it begins.
    ///
    /// # Errors
    /// When a source cannot be opened or is named twice, none has a format that is known, or no
    /// line at the beginning of any is of the format that is said and tells which fields there are.
    pub fn open(sources: Vec<Source>, options: LogOptions) -> Result<Log, ReplayError> {
        if let Some(source) = named_twice(&sources) {
            let why = match source {
                Source::Stdin => "it is named twice, and can be read once",
                Source::File(_) => {
                    "it is named twice, by itself or by a pattern, and its requests would count twice"
                }
            };
            return Err(ReplayError::open(source.to_string(), io::Error::other(why)));
        }
        let read = Rc::new(Cell::new(0));
        let mut known: Option<Vec<Field>> = None;
        let (mut parts, mut strange, mut other) = (Vec::new(), None, None);
        for source in sources {
            let again = source.begins_anew();
            // What is read twice shall not count twice.
            let counter = if again { Rc::default() } else { read.clone() };
            let mut lines = source.open(counter)?;
            let (head, end) = lines.head();
            let Seen { format, fields, begins, strange: first, looks_like } =
                Seen::of(head, end, &options);
            if let (Some(format), None, None) = (format, &fields, &other) {
                let lines = head.split(|byte| *byte == end);
                let lines = first_unreadable(&source.to_string(), lines, format, &options);
                other = Some(ReplayError::none_read(options.format, lines, looks_like));
            }
            if let Some(fields) = fields {
                known = Some(match known {
                    None => fields,
                    Some(known) => known.into_iter().filter(|f| fields.contains(f)).collect(),
                });
            }
            strange = strange.or(first.map(|line| (source.to_string(), line)));
            let opened = (!again).then_some(lines);
            let name = source.to_string();
            parts.push(Part { name, format, begins, looks_like, source, opened });
        }
        let first = parts.iter().find_map(|part| part.format);
        if let (None, Some((name, line))) = (first, strange) {
            return Err(ReplayError::unrecognised(&name, &line));
        }
        if let (None, Some(error)) = (&known, other) {
            return Err(error);
        }
        // One that is not recognised is read like its neighbours, and its lines are counted.
        parts.iter_mut().for_each(|part| part.format = part.format.or(first));
        parts.sort_by_key(|part| part.begins);
        // What has no lines lacks nothing.
        let known = known.unwrap_or_else(|| Field::all(&options.wanted));
        Ok(Log { parts, options, known, read })
    }

    /// Its sources in the order of their beginnings.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The fields that all its sources have.
    #[must_use]
    pub fn known(&self) -> &[Field] {
        &self.known
    }

    /// The further parts of requests that it is read for.
    pub(crate) fn wanted(&self) -> &[KeyPart] {
        &self.options.wanted
    }

    /// How many bytes it has, compressed as they are; `None` when nobody knows.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        self.parts.iter().map(|part| part.source.size()).sum()
    }

    /// Reads it to its end: `decide` gets each request in the order of time, `progress` from time to
    /// time the number of bytes that were read, compressed as they are.
    ///
    /// # Errors
    /// When a source cannot be opened any more, or there are lines and none can be read.
    pub fn read(
        self,
        mut progress: impl FnMut(u64),
        mut decide: impl FnMut(&Entry<'_>),
    ) -> Result<LogSummary, ReplayError> {
        let Log { parts, options, read, .. } = self;
        let mut order = Order::new(options.window);
        let mut summary = LogSummary::default();
        let looks_like = parts.iter().find_map(|part| part.looks_like);
        let mut waiting = parts.into_iter().peekable();
        let mut feeds: Vec<Feed> = Vec::new();
        let mut told = 0;
        loop {
            // The source that is furthest behind comes next, and up to when it may go on alone.
            let next = feeds.iter().enumerate().min_by_key(|(_, feed)| feed.at());
            let next = next.map(|(nth, feed)| (nth, feed.at()));
            let begins = |part: &Part| part.begins.unwrap_or_default();
            let opens = match (waiting.peek().map(begins), next) {
                (Some(begins), Some((_, at))) => begins <= at,
                (Some(_), None) => true,
                (None, _) => false,
            };
            if opens && let Some(part) = waiting.next() {
                feeds.push(Feed::open(part, &options, read.clone())?);
                continue;
            }
            let Some((nth, _)) = next else { break };
            let others = feeds.iter().enumerate().filter(|(other, _)| *other != nth);
            let others = others.map(|(_, feed)| feed.at()).chain(waiting.peek().map(begins));
            let until = others.min().unwrap_or(Tick::from_micros(u64::MAX));
            let Some(feed) = feeds.get_mut(nth) else { break };
            let mut ended = false;
            loop {
                match feed.step(until) {
                    Step::Entry(entry) => {
                        summary.lines += 1;
                        summary.entries += 1;
                        order.push(entry, &mut decide);
                    }
                    Step::Unreadable(source, number, why, line) => {
                        summary.lines += 1;
                        summary.note(source, number, why, line);
                    }
                    Step::Blank => {}
                    Step::Yields => break,
                    Step::Ends => {
                        ended = true;
                        break;
                    }
                }
                let bytes = read.get();
                if bytes != told {
                    told = bytes;
                    progress(bytes);
                }
            }
            if ended {
                summary.cut_short.extend(feeds.swap_remove(nth).end());
            }
        }
        if summary.entries == 0 && summary.unreadable > 0 {
            let lines = summary.first_unreadable;
            return Err(ReplayError::none_read(options.format, lines, looks_like));
        }
        summary.disorder = order.finish(&mut decide);
        summary.bytes = read.get();
        progress(summary.bytes);
        Ok(summary)
    }
}

/// A source that is named once more, be it by another name.
fn named_twice(sources: &[Source]) -> Option<&Source> {
    let mut named = HashSet::new();
    sources.iter().find(|source| match source {
        Source::Stdin => !named.insert(None),
        Source::File(path) if source.begins_anew() => {
            path.canonicalize().is_ok_and(|file| !named.insert(Some(file)))
        }
        Source::File(_) => false,
    })
}
