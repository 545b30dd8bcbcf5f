//! Where one HTTP/1 request ends and the next begins, read more strictly than RFC 9112 demands.
//!
//! hyper settles some ambiguities by itself: it drops a `Content-Length` that stands beside a
//! `Transfer-Encoding`, folds equal lengths into one, takes bare line feeds for line ends and cuts
//! fragments off. What it has settled nobody behind it can see, and a server in front of or behind
//! us may settle it otherwise (request smuggling). So these rules read the bytes first. They only
//! judge and count: what they let through reaches hyper unchanged, and nothing they let through is
//! read in another way by hyper.

mod chunks;
mod head;

use std::borrow::Cow;
use std::fmt::Display;
use std::ops::ControlFlow;
use std::time::Duration;

use http::StatusCode;

use chunks::Chunks;

/// How large the head of a request may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeadLimits {
    /// Bytes of the request line and all header lines together.
    pub(crate) bytes: usize,
    /// Header lines, at most 100 (what hyper is built to take).
    pub(crate) headers: usize,
    /// Bytes of the request target.
    pub(crate) target: usize,
}

/// The place in a connection's bytes that is judged next.
#[derive(Debug)]
pub(crate) struct Framing {
    limits: HeadLimits,
    place: Place,
    switches: bool,
}

#[derive(Debug)]
enum Place {
    /// In a head whose first `scanned` bytes hold no end.
    Head { scanned: usize },
    /// In a body of known length: this many bytes are left.
    Sized(u64),
    /// In a chunked body.
    Chunked(Chunks),
}

/// What may be done with the first bytes that were shown.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    /// They are one whole head: hand them on.
    Head(usize),
    /// They belong to a body: hand them on.
    Body(usize),
    /// They mean nothing: leave them out.
    Blank(usize),
    /// Nothing can be said before more have come.
    Incomplete,
}

impl Framing {
    pub(crate) fn new(limits: HeadLimits) -> Framing {
        Framing { limits, place: Place::Head { scanned: 0 }, switches: false }
    }

    /// Judges the bytes that come next. They may come in any portions: what is said of them is the
    /// same, as long as what was `Incomplete` is shown again with more behind it.
    pub(crate) fn judge(&mut self, bytes: &[u8]) -> Result<Judged, Fault> {
        match &mut self.place {
            Place::Head { scanned } => {
                if bytes.starts_with(b"\r\n") {
                    // RFC 9112, 2.2: some clients send one behind a body.
                    return Ok(Judged::Blank(2));
                }
                let visible = bytes.get(..self.limits.bytes).unwrap_or(bytes);
                let Some(end) = head::end(visible, *scanned)? else {
                    *scanned = visible.len();
                    let full = bytes.len() > visible.len();
                    return if full { Err(Fault::LONG_HEAD) } else { Ok(Judged::Incomplete) };
                };
                let head = head::read(visible.get(..end).unwrap_or_default(), self.limits)?;
                self.switches = head.switches;
                self.place = match head.body {
                    head::Body::None | head::Body::Sized(0) => Place::Head { scanned: 0 },
                    head::Body::Sized(length) => Place::Sized(length),
                    head::Body::Chunked => Place::Chunked(Chunks::new()),
                };
                Ok(Judged::Head(end))
            }
            Place::Sized(left) => {
                let (taken, left) = take(*left, bytes.len());
                self.place =
                    if left == 0 { Place::Head { scanned: 0 } } else { Place::Sized(left) };
                Ok(Judged::Body(taken))
            }
            Place::Chunked(chunks) => match chunks.judge(bytes)? {
                ControlFlow::Continue(judged) => Ok(judged),
                ControlFlow::Break(length) => {
                    self.place = Place::Head { scanned: 0 };
                    Ok(Judged::Body(length))
                }
            },
        }
    }

    /// How many of the next bytes belong to a body whatever they are; 0 where they matter.
    pub(crate) fn free(&self) -> u64 {
        match &self.place {
            Place::Head { .. } => 0,
            Place::Sized(left) => *left,
            Place::Chunked(chunks) => chunks.free(),
        }
    }

    /// Whether the last head asks that something else than HTTP follows it.
    pub(crate) fn switches(&self) -> bool {
        self.switches
    }

    /// Whether the next bytes belong to a head.
    pub(crate) fn in_head(&self) -> bool {
        matches!(self.place, Place::Head { .. })
    }
}

/// How many of `shown` bytes belong to the `left` ones, and how many of these are then left.
fn take(left: u64, shown: usize) -> (usize, u64) {
    let taken = usize::try_from(left).unwrap_or(usize::MAX).min(shown);
    (taken, left.saturating_sub(u64::try_from(taken).unwrap_or(u64::MAX)))
}

/// Why a request is refused before anything was made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The status to answer with.
    pub(crate) status: StatusCode,
    /// What was expected; it repeats nothing that the client wrote.
    pub(crate) detail: Cow<'static, str>,
    /// What the log says of it, and no client is told: which server it was and what it did.
    pub(crate) cause: Option<Box<str>>,
    /// What is said to a client that may come again.
    pub(crate) later: Option<Later>,
}

/// What is said to a client that may come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Later {
    /// What programs tell the answer by.
    pub(crate) code: &'static str,
    /// At least 1.
    pub(crate) seconds: u64,
}

impl Later {
    /// After so long, in whole seconds.
    pub(crate) fn after(code: &'static str, wait: Duration) -> Later {
        let seconds = wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0));
        Later { code, seconds: seconds.max(1) }
    }
}

impl Fault {
    pub(crate) const LONG_HEAD: Fault =
        Fault::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "expected a shorter request head");
    pub(crate) const MANY_HEADERS: Fault =
        Fault::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "expected fewer header lines");
    pub(crate) const LONG_TARGET: Fault =
        Fault::new(StatusCode::URI_TOO_LONG, "expected a shorter request target");
    pub(crate) const SLOW_HEAD: Fault =
        Fault::new(StatusCode::REQUEST_TIMEOUT, "expected the whole request head in less time");
    pub(crate) const VERSION: Fault = Fault::new(
        StatusCode::HTTP_VERSION_NOT_SUPPORTED,
        "expected HTTP/1.0, HTTP/1.1 or HTTP/2 with prior knowledge",
    );

    pub(crate) const fn new(status: StatusCode, detail: &'static str) -> Fault {
        Fault { status, detail: Cow::Borrowed(detail), cause: None, later: None }
    }

    /// The same, with what the log says of it.
    pub(crate) fn because(self, cause: impl Display) -> Fault {
        Fault { cause: Some(cause.to_string().into()), ..self }
    }

    /// The same, for a client that may come again.
    pub(crate) fn later(self, later: Later) -> Fault {
        Fault { later: Some(later), ..self }
    }

    /// A request that is no request, or one that is read in more than one way.
    pub(crate) const fn malformed(detail: &'static str) -> Fault {
        Fault::new(StatusCode::BAD_REQUEST, detail)
    }
}

#[cfg(test)]
mod tests;
