//! The path as it is sent on: what a segment is, what may stand in it, and what is refused.

use std::borrow::Cow;

use super::draft::Draft;
use super::{PathError, Reason};

/// The normal form of the path that `target` begins with, and the length of that path as it came.
pub(super) fn normalise(target: &str) -> Result<(Cow<'_, str>, usize), PathError> {
    if !target.starts_with('/') {
        return Err(PathError::new(Reason::NotRooted, 0));
    }
    let plain = plain_length(target);
    let (head, rest) = target.split_at(plain);
    if rest.is_empty() || rest.starts_with('?') {
        return Ok((Cow::Borrowed(head), plain));
    }
    let mut at = head.rfind('/').map_or(0, |slash| slash + 1);
    let mut draft = Draft::new(target);
    draft.put(head.get(..at).unwrap_or_default());
    loop {
        let (raw_start, start) = (at, draft.written().len());
        at = copy_segment(target, at, &mut draft)?;
        let slash = matches!(target.as_bytes().get(at), Some(b'/' | b'\\'));
        // The draft ends with a slash here, so a segment without effect leaves nothing to undo.
        match Segment::of(draft.written().get(start..).unwrap_or_default()) {
            Segment::Name if slash => draft.put("/"),
            Segment::Name => {}
            Segment::Here => draft.cut(start),
            Segment::Up => draft.cut(
                parent(draft.written(), start)
                    .ok_or(PathError::new(Reason::AboveRoot, raw_start))?,
            ),
            Segment::Ambiguous => return Err(PathError::new(Reason::DotParameters, raw_start)),
        }
        if !slash {
            return Ok((draft.finish(), at));
        }
        at += 1;
    }
}

/// One character of a path as its escape spells it or as it stands raw, and the bytes it takes.
///
/// Several bytes of UTF-8 are one character, so half of one is an error; so is an empty text.
pub(super) fn read_character(text: &str) -> Result<(char, usize), Reason> {
    let bytes = text.as_bytes();
    let Some(first) = escaped_byte(bytes)? else {
        let raw = text.chars().next().ok_or(Reason::Encoding)?;
        let reason = bytes.first().copied().and_then(why_not_raw);
        return reason.map_or(Ok((raw, raw.len_utf8())), Err);
    };
    let mut utf8 = [first, 0, 0, 0];
    let length = match first {
        0..0x80 => 1,
        0x80..0xE0 => 2,
        0xE0..0xF0 => 3,
        _ => 4,
    };
    for (nth, place) in utf8.iter_mut().enumerate().take(length).skip(1) {
        let more = bytes.get(nth * ESCAPE..).unwrap_or_default();
        *place = escaped_byte(more)?.ok_or(Reason::Encoding)?;
    }
    let spelled = utf8.get(..length).and_then(|spelled| str::from_utf8(spelled).ok());
    match spelled.and_then(|spelled| spelled.chars().next()) {
        None => Err(Reason::Encoding),
        Some('/' | '\\') => Err(Reason::EscapedSlash),
        // An escaped line end is refused too: to many a router's `$` it is not there.
        Some(character) if character.is_ascii_control() => Err(Reason::Control),
        Some(character) => Ok((character, length * ESCAPE)),
    }
}

/// What may stand in a path as it is: `pchar` of RFC 3986 but for escapes.
pub(super) fn is_plain(byte: u8) -> bool {
    is_unreserved(byte)
        || matches!(byte, b'!' | b'$' | b'&' | b'\''..=b',' | b';' | b'=' | b':' | b'@')
}

/// Why a byte may not stand raw in a request target, if it may not.
pub(super) fn why_not_raw(byte: u8) -> Option<Reason> {
    match byte {
        b'#' => Some(Reason::Fragment),
        b' ' => Some(Reason::Space),
        _ if byte.is_ascii_control() => Some(Reason::Control),
        _ => None,
    }
}

/// How far the path is normal at first sight: only plain names, and none that begins with a dot.
fn plain_length(target: &str) -> usize {
    let mut before = 0;
    let mut is_normal = |byte: u8| {
        let normal = match byte {
            b'/' | b'.' => before != b'/',
            _ => is_plain(byte),
        };
        before = byte;
        normal
    };
    target.bytes().take_while(|&byte| is_normal(byte)).count()
}

/// The length of `%XX`.
const ESCAPE: usize = 3;

/// Writes the segment at `at` and gives the place of what ends it.
fn copy_segment(target: &str, mut at: usize, draft: &mut Draft<'_>) -> Result<usize, PathError> {
    loop {
        let rest = target.get(at..).unwrap_or_default();
        let (run, rest) = rest.split_at(rest.bytes().take_while(|&byte| is_plain(byte)).count());
        draft.put(run);
        at += run.len();
        if matches!(rest.bytes().next(), None | Some(b'/' | b'\\' | b'?')) {
            return Ok(at);
        }
        let (character, length) =
            read_character(rest).map_err(|reason| PathError::new(reason, at))?;
        match u8::try_from(character) {
            Ok(byte) if is_unreserved(byte) => draft.put(character.encode_utf8(&mut [0; 4])),
            // Whether a reserved character is escaped may matter to the server: it stays so.
            _ => draft.put_escaped(character),
        }
        at += length;
    }
}

enum Segment {
    Name,
    Here,
    Up,
    /// `..;x` is a name to nginx and `..` to Tomcat.
    Ambiguous,
}

impl Segment {
    fn of(written: &str) -> Segment {
        match written {
            "" | "." => Segment::Here,
            ".." => Segment::Up,
            _ if written.starts_with(".;") || written.starts_with("..;") => Segment::Ambiguous,
            _ => Segment::Name,
        }
    }
}

/// Where the parent of the directory that ends before `start` ends; the root has none.
fn parent(written: &str, start: usize) -> Option<usize> {
    let directory = written.get(..start)?.strip_suffix('/')?;
    Some(directory.rfind('/')? + 1)
}

/// The byte that an escape at the front spells; `None` when there is none.
fn escaped_byte(text: &[u8]) -> Result<Option<u8>, Reason> {
    let [b'%', digits @ ..] = text else {
        return Ok(None);
    };
    let [high, low, ..] = digits else {
        return Err(Reason::Escape);
    };
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    match (digit(*high), digit(*low)) {
        (Some(high), Some(low)) => Ok(Some(high << 4 | low)),
        _ => Err(Reason::Escape),
    }
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}
