//! A client's connection as hyper reads and writes it: judged by [`Framing`] first, and never
//! waited for longer than the limits say.

mod frames;

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, BufMut, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::framing::{Fault, Framing, HeadLimits, Judged};

use frames::Frames;

/// What HTTP/2 begins with when it is spoken without being agreed on (RFC 9113, 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Bytes read at once while they are judged.
const PORTION: usize = 8 * 1024;
/// What hyper reads in place of a head that is refused; the service answers it by the fault.
const REFUSED: &[u8] = b"GET / HTTP/1.1\r\nconnection: close\r\n\r\n";

/// Which protocol the client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    Http2,
}

/// How long a client is waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// From the first byte of a head to its last.
    pub(crate) head: Duration,
    /// While it takes none of the bytes that are to be written.
    pub(crate) write: Duration,
}

/// The request on this connection behind which nothing is read, if there was one: its place, counted
/// from 0, and why. The place identifies it: hyper calls the service once for each head and in order,
/// so no client can forge the request that stands for it.
pub(crate) type Last = Arc<OnceLock<(u64, Why)>>;

/// Why nothing is read behind a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// It is refused: where the next one begins is anybody's guess.
    Refused(Fault),
    /// It asks to go on in another protocol: until the upstream agrees, what comes behind it is
    /// neither that nor HTTP.
    Switches,
}

pub(crate) struct Wire<S> {
    stream: S,
    patience: Patience,
    /// `None` passes everything: HTTP/2 has a framing of its own.
    framing: Option<Framing>,
    /// Of HTTP/2.
    frames: Option<Frames>,
    /// What was read and not handed on, of which the first `sound` bytes may be.
    unread: BytesMut,
    sound: usize,
    heads: u64,
    last: Last,
    slow_head: Option<Pin<Box<Sleep>>>,
    stalled_write: Option<Pin<Box<Sleep>>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Wire<S> {
    /// Reads until the protocol is known. `None` when the client left before.
    pub(crate) async fn open(
        mut stream: S,
        limits: HeadLimits,
        patience: Patience,
    ) -> Option<(Wire<S>, Protocol)> {
        let mut unread = BytesMut::with_capacity(PORTION);
        let protocol = loop {
            if unread.starts_with(PREFACE) {
                break Protocol::Http2;
            }
            if !PREFACE.starts_with(&unread) {
                break Protocol::Http1;
            }
            let read = std::future::poll_fn(|cx| fill(&mut stream, cx, &mut unread)).await;
            read.ok().filter(|read| *read > 0)?;
        };
        let (framing, frames) = match protocol {
            Protocol::Http1 => (Some(Framing::new(limits)), None),
            Protocol::Http2 => (None, Some(Frames::behind(PREFACE.len()))),
        };
        let wire = Wire {
            stream,
            patience,
            framing,
            frames,
            unread,
            sound: 0,
            heads: 0,
            last: Last::default(),
            slow_head: None,
            stalled_write: None,
        };
        Some((wire, protocol))
    }

    pub(crate) fn last(&self) -> Last {
        self.last.clone()
    }

    /// What comes and goes from now on is no HTTP, whatever it looks like. What the client has sent
    /// behind its last request comes first.
    pub(crate) fn switched(mut self) -> Wire<S> {
        self.framing = None;
        self.last = Last::default();
        self
    }

    pub(crate) fn into_stream(self) -> S {
        self.stream
    }

    /// Judges what is unread until something of it may be handed on or more is needed.
    fn judge(&mut self) -> io::Result<()> {
        while self.sound == 0 && !self.unread.is_empty() {
            let Some(framing) = &mut self.framing else {
                self.sound = self.unread.len();
                return count(&mut self.frames, &self.unread);
            };
            let in_head = framing.in_head();
            match framing.judge(&self.unread) {
                Ok(Judged::Blank(length)) => self.unread.advance(length),
                Ok(Judged::Incomplete) => return Ok(()),
                Ok(Judged::Body(length)) => self.sound = length,
                Ok(Judged::Head(length)) => {
                    self.sound = length;
                    if framing.switches() {
                        // Set once, as in `refuse`.
                        let _ = self.last.set((self.heads, Why::Switches));
                    }
                    self.heads += 1;
                    self.slow_head = None;
                }
                Err(fault) if in_head => self.refuse(fault),
                Err(fault) => return Err(io::Error::new(io::ErrorKind::InvalidData, fault.detail)),
            }
        }
        Ok(())
    }

    fn refuse(&mut self, fault: Fault) {
        // Set once: behind the last head nothing is judged.
        let _ = self.last.set((self.heads, Why::Refused(fault)));
        self.unread = BytesMut::from(REFUSED);
        self.sound = REFUSED.len();
    }

    /// Whether the head that is being read takes too long.
    fn is_late(&mut self, cx: &mut Context<'_>) -> bool {
        let reading = self.framing.as_ref().is_some_and(Framing::in_head);
        if !reading || self.unread.is_empty() {
            return false;
        }
        let patience = self.patience.head;
        let timer = self.slow_head.get_or_insert_with(|| Box::pin(sleep(patience)));
        timer.as_mut().poll(cx).is_ready()
    }

    /// The same as `written`, of so many bytes.
    fn took(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let (Some(frames), Poll::Ready(Ok(bytes))) = (&mut self.frames, &written) {
            frames.took(*bytes);
        }
        self.written(cx, written)
    }

    fn written<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled_write = None;
            return written;
        }
        let patience = self.patience.write;
        let timer = self.stalled_write.get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Wire<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            if this.sound == 0 && this.last.get().is_none() {
                this.judge()?;
            }
            if this.sound > 0 {
                let length = this.sound.min(out.remaining());
                out.put_slice(this.unread.get(..length).unwrap_or_default());
                this.unread.advance(length);
                this.sound -= length;
                return Poll::Ready(Ok(()));
            }
            match this.last.get().map(|(_, why)| why) {
                None => {}
                // The end would make hyper drop the answer; the connection is closed behind it.
                Some(Why::Refused(_)) => return Poll::Pending,
                // Read for one thing only: to learn that the client has left.
                Some(Why::Switches) if this.unread.len() >= PORTION => return Poll::Pending,
                Some(Why::Switches) => {
                    if ready!(fill(&mut this.stream, cx, &mut this.unread))? == 0 {
                        return Poll::Ready(Ok(()));
                    }
                    continue;
                }
            }
            let free = this.framing.as_ref().map_or(u64::MAX, Framing::free);
            if free > 0 && this.unread.is_empty() {
                return this.read_through(cx, out, free);
            }
            // What has come in time is read first: it may be this machine that was held up.
            match fill(&mut this.stream, cx, &mut this.unread)? {
                Poll::Ready(0) => return Poll::Ready(Ok(())),
                Poll::Ready(_) => {}
                Poll::Pending if this.is_late(cx) => this.refuse(Fault::SLOW_HEAD),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Wire<S> {
    /// Reads at most `free` bytes straight to where hyper wants them.
    fn read_through(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
        free: u64,
    ) -> Poll<io::Result<()>> {
        let most = usize::try_from(free).unwrap_or(usize::MAX).min(out.remaining());
        let mut part = ReadBuf::new(out.initialize_unfilled_to(most));
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut part))?;
        let read = part.filled();
        if let Some(framing) = self.framing.as_mut().filter(|_| !read.is_empty()) {
            // Bytes that are free pass whatever they are.
            let _ = framing.judge(read);
        }
        count(&mut self.frames, read)?;
        let length = read.len();
        out.advance(length);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Wire<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(cx, bytes);
        this.took(cx, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(cx, parts);
        this.took(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.stream).poll_flush(cx);
        this.written(cx, flushed)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

/// Counts frames of HTTP/2; too many without a use are the end.
fn count(frames: &mut Option<Frames>, bytes: &[u8]) -> io::Result<()> {
    let flood = frames.as_mut().is_some_and(|frames| frames.came(bytes).is_err());
    if flood { Err(io::Error::other("too many frames without a use")) } else { Ok(()) }
}

/// Reads once, behind what `unread` holds; 0 at the end.
fn fill<S: AsyncRead + Unpin>(
    stream: &mut S,
    cx: &mut Context<'_>,
    unread: &mut BytesMut,
) -> Poll<io::Result<usize>> {
    unread.reserve(PORTION);
    // No more at once, whatever room a long head has left: what is held is bounded by portions.
    let mut portion = unread.limit(PORTION);
    pin!(stream.read_buf(&mut portion)).poll(cx)
}

#[cfg(test)]
mod tests;
