//! What the beginning of a source tells: its format, its fields, and when it begins.

use tollgate_core::Tick;

use super::{LogOptions, LogSummary, UnreadableLine};
use crate::format::{Field, Format, Parser};

/// How many of the first lines say what format a source has, if any of them can be read.
const JUDGED: usize = 64;

/// What the beginning of a source tells.
pub(super) struct Seen {
    pub(super) format: Option<Format>,
    pub(super) fields: Option<Vec<Field>>,
    pub(super) begins: Option<Tick>,
    /// Its first line, if nobody knows the format.
    pub(super) strange: Option<Vec<u8>>,
    /// What its lines are like, if they are not of the format that was said.
    pub(super) looks_like: Option<Format>,
}

impl Seen {
    pub(super) fn of(head: &[u8], end: u8, options: &LogOptions) -> Seen {
        // What stands behind the last end may be cut off.
        let whole = memchr::memrchr(end, head).map_or(head, |end| head.get(..end).unwrap_or(head));
        let lines = whole.split(|byte| *byte == end).map(|line| line.trim_ascii_end());
        let all: Vec<&[u8]> = lines.filter(|line| !line.is_empty()).collect();
        let first = all.get(..JUDGED).unwrap_or(&all);
        let seen = [first, &all].into_iter().find_map(|lines| Seen::in_lines(lines, options));
        seen.unwrap_or_else(|| Seen::in_none(&all, options))
    }

    fn in_lines(lines: &[&[u8]], options: &LogOptions) -> Option<Seen> {
        let given = options.format.as_slice();
        let formats = if given.is_empty() { &Format::ALL } else { given };
        let lines = lines.iter().copied();
        let (format, fields) =
            Format::among(formats, lines.clone(), &options.fields, &options.wanted)?;
        let mut parser = Parser::new(format, &options.fields, &options.wanted);
        let times = lines.filter_map(|line| Some(parser.parse(line).ok()?.at));
        Some(Seen {
            format: Some(format),
            begins: times.min(),
            fields: Some(fields),
            strange: None,
            looks_like: None,
        })
    }

    /// None of its lines can be read; further behind some may.
    fn in_none(lines: &[&[u8]], options: &LogOptions) -> Seen {
        let strange = lines.first().map(|line| line.to_vec());
        let format = options.format.filter(|_| strange.is_some());
        let fields = format.map(|format| format.fields(Vec::new()));
        let fields = fields.filter(|fields| !fields.is_empty());
        let looks_like = format.and_then(|_| {
            Format::recognise(lines.iter().copied(), &options.fields, &options.wanted)
        });
        let looks_like = looks_like.map(|(format, _)| format);
        Seen { format, fields, begins: None, strange, looks_like }
    }
}

/// The first of these lines that cannot be read in a format.
pub(super) fn first_unreadable<'l>(
    source: &str,
    lines: impl Iterator<Item = &'l [u8]>,
    format: Format,
    options: &LogOptions,
) -> Vec<UnreadableLine> {
    let mut parser = Parser::new(format, &options.fields, &options.wanted);
    let mut summary = LogSummary::default();
    for (line, number) in lines.zip(1..).filter(|(line, _)| !line.trim_ascii().is_empty()) {
        if let Err(why) = parser.parse(line) {
            summary.note(source, number, why, line);
        }
        if summary.first_unreadable.len() == LogSummary::FIRST {
            break;
        }
    }
    summary.first_unreadable
}
