//! The chunks of a chunked body.

use std::ops::ControlFlow;

use super::{Fault, Judged, head, take};

/// Bytes of a size line with its extension. hyper takes more; nobody sends more.
const SIZE_LINE: usize = 256;
/// Bytes of all trailer lines together.
const TRAILERS: usize = 8 * 1024;

#[derive(Debug)]
pub(super) enum Chunks {
    Size,
    Data(u64),
    DataEnd,
    /// Behind the last chunk, with this many bytes of trailers so far.
    Trailers(usize),
}

impl Chunks {
    pub(super) fn new() -> Chunks {
        Chunks::Size
    }

    /// Judges the next bytes; breaks with how many of them end the body.
    pub(super) fn judge(&mut self, bytes: &[u8]) -> Result<ControlFlow<usize, Judged>, Fault> {
        let (passed, next) = match *self {
            Chunks::Size => {
                let Some(line) = line(bytes, SIZE_LINE)? else {
                    return Ok(ControlFlow::Continue(Judged::Incomplete));
                };
                let next = match size(line)? {
                    0 => Chunks::Trailers(0),
                    size => Chunks::Data(size),
                };
                (line.len() + 2, next)
            }
            Chunks::Data(left) => match take(left, bytes.len()) {
                (taken, 0) => (taken, Chunks::DataEnd),
                (taken, left) => (taken, Chunks::Data(left)),
            },
            Chunks::DataEnd => match bytes {
                [b'\r', b'\n', ..] => (2, Chunks::Size),
                [] | [b'\r'] => return Ok(ControlFlow::Continue(Judged::Incomplete)),
                _ => return Err(Fault::malformed("expected CR LF behind every chunk")),
            },
            Chunks::Trailers(so_far) => match line(bytes, TRAILERS.saturating_sub(so_far))? {
                None => return Ok(ControlFlow::Continue(Judged::Incomplete)),
                Some([]) => return Ok(ControlFlow::Break(2)),
                Some(trailer) => {
                    head::field(trailer)?;
                    let length = trailer.len() + 2;
                    (length, Chunks::Trailers(so_far + length))
                }
            },
        };
        *self = next;
        Ok(ControlFlow::Continue(Judged::Body(passed)))
    }

    pub(super) fn free(&self) -> u64 {
        match self {
            Chunks::Data(left) => *left,
            _ => 0,
        }
    }
}

/// The line that `bytes` begin with, without its end; `None` while it has none.
fn line(bytes: &[u8], most: usize) -> Result<Option<&[u8]>, Fault> {
    let visible = bytes.get(..most).unwrap_or(bytes);
    match visible.iter().position(|byte| *byte == b'\n') {
        Some(at) => match visible.get(..at).unwrap_or_default().strip_suffix(b"\r") {
            Some(line) => Ok(Some(line)),
            None => Err(Fault::malformed("expected lines that end with CR LF")),
        },
        None if bytes.len() > most => Err(Fault::malformed("expected shorter lines in the body")),
        None => Ok(None),
    }
}

/// The size that a chunk begins with; whatever its extension says.
fn size(line: &[u8]) -> Result<u64, Fault> {
    let semicolon = line.iter().position(|byte| *byte == b';').unwrap_or(line.len());
    let (digits, extension) = line.split_at(semicolon);
    if extension.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
        return Err(Fault::malformed("expected chunk extensions without control characters"));
    }
    // 15 digits cannot overflow, and no chunk is longer.
    let digits = Some(digits).filter(|d| d.len() <= 15 && d.iter().all(u8::is_ascii_hexdigit));
    digits
        .and_then(|digits| u64::from_str_radix(str::from_utf8(digits).ok()?, 16).ok())
        .ok_or(Fault::malformed("expected the size of a chunk in hex digits"))
}
