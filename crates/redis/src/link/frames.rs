//! Looks at the replies as they come and refuses a monstrous one before it is read into memory.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io;
use std::sync::{Arc, OnceLock};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The longest reply believed, in bytes. Ours have some hundred, `INFO` some thousand, the slots of
/// a large cluster some ten thousand.
const LONGEST: u64 = 1 << 20;

/// A stream whose replies are at most 1 MiB long.
///
/// It only counts bytes; parsing stays with the library, which would take a header of a gigabyte
/// at its word.
pub(crate) struct Frames<S> {
    stream: S,
    reply: Reply,
    greeting: Greeting,
}

/// The first line that came, as much of it as matters.
///
/// A server that turns a connection away says why before it is asked anything, and the library
/// drops what answers nothing.
pub(crate) type Greeting = Arc<OnceLock<Vec<u8>>>;

/// How far the reply has come.
#[derive(Debug, Default)]
struct Reply {
    /// Bytes so far.
    length: u64,
    /// Values still to come, the current one included; none between two replies.
    values: u64,
    /// Bytes of a bulk string and its line end still to come.
    bulk: u64,
    /// The line so far, as much of it as a header can have.
    line: Vec<u8>,
}

impl<S> Frames<S> {
    pub(crate) fn new(stream: S) -> Frames<S> {
        Frames { stream, reply: Reply::default(), greeting: Greeting::default() }
    }

    pub(crate) fn greeting(&self) -> Greeting {
        Arc::clone(&self.greeting)
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.greeting.get().is_none() {
            let line = bytes.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
            // Whoever set it first was this very task.
            let _ = self.greeting.set(line.iter().take(64).copied().collect());
        }
        self.reply.take(bytes)
    }
}

impl Reply {
    /// Takes the next bytes, in any portions. Not for RESP3, which is never asked for.
    fn take(&mut self, mut bytes: &[u8]) -> Result<(), TooLong> {
        while !bytes.is_empty() {
            let want = if self.bulk > 0 {
                usize::try_from(self.bulk).unwrap_or(usize::MAX).min(bytes.len())
            } else {
                bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1)
            };
            let (part, rest) = bytes.split_at(want);
            bytes = rest;
            let part_length = u64::try_from(part.len()).unwrap_or(u64::MAX);
            self.length = self.length.saturating_add(part_length);
            if self.bulk > 0 {
                self.bulk -= part_length;
                if self.bulk == 0 {
                    self.value_ends();
                }
            } else {
                self.line.extend(part.iter().take(32_usize.saturating_sub(self.line.len())));
                if part.ends_with(b"\n") {
                    self.line_ends()?;
                }
            }
            if self.length.saturating_add(self.bulk) > LONGEST || self.values > LONGEST {
                return Err(TooLong);
            }
        }
        Ok(())
    }

    fn line_ends(&mut self) -> Result<(), TooLong> {
        let line = core::mem::take(&mut self.line);
        self.values = self.values.max(1);
        match line.split_first() {
            Some((b'$', number)) => match count(number)? {
                Some(length) => self.bulk = length.saturating_add(2),
                None => self.value_ends(),
            },
            Some((b'*', number)) => {
                let more = count(number)?.unwrap_or(0);
                self.values = self.values.saturating_add(more);
                self.value_ends();
            }
            _ => self.value_ends(),
        }
        self.line = line;
        self.line.clear();
        Ok(())
    }

    fn value_ends(&mut self) {
        self.values -= 1;
        if self.values == 0 {
            self.length = 0;
        }
    }
}

/// The number in a header; none if it is negative, which stands for nothing at all.
fn count(text: &[u8]) -> Result<Option<u64>, TooLong> {
    let text = core::str::from_utf8(text).unwrap_or_default().trim();
    if text.starts_with('-') {
        return if text == "-1" { Ok(None) } else { Err(TooLong) };
    }
    text.parse().map(Some).map_err(|_| TooLong)
}

#[derive(Debug)]
struct TooLong;

impl<S: AsyncRead + Unpin> AsyncRead for Frames<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let new = buffer.filled().get(before..).unwrap_or_default();
        let taken = self.take(new);
        Poll::Ready(taken.map_err(|TooLong| {
            buffer.set_filled(before);
            io::Error::new(io::ErrorKind::InvalidData, "a reply of more than 1 MiB, or no reply")
        }))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Frames<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8], portion: usize) -> Result<Reply, TooLong> {
        let mut reply = Reply::default();
        for part in text.chunks(portion) {
            reply.take(part)?;
        }
        Ok(reply)
    }

    #[test]
    fn every_reply_ends_where_it_ends_in_any_portions() {
        let replies: &[&[u8]] = &[
            b"+PONG\r\n",
            b"-ERR max number of clients reached\r\n",
            b":7\r\n",
            b"$-1\r\n",
            b"*-1\r\n",
            b"*0\r\n",
            b"$0\r\n\r\n",
            b"$6\r\n$9\r\n*1\r\n",
            b"*2\r\n*2\r\n:1\r\n$1\r\nx\r\n*0\r\n",
        ];
        for portion in [1, 2, 3, 7, 1000] {
            for reply in replies {
                let read = read(reply, portion).unwrap();
                assert_eq!((read.values, read.length, read.bulk), (0, 0, 0), "{reply:?}");
            }
            let all = replies.concat().repeat(2_000);
            let read = read(&all, portion * 500).unwrap();
            assert_eq!((read.values, read.length, read.bulk), (0, 0, 0));
        }
    }

    #[test]
    fn a_monstrous_reply_is_refused_at_its_header() {
        for text in
            ["$1073741824\r\n", "*1000000000\r\n", "$-7\r\n", "*x\r\n", "$99999999999999999999\r\n"]
        {
            assert!(read(text.as_bytes(), 1).is_err(), "{text}");
        }
        let nested = "*1000\r\n".repeat(2_000);
        assert!(read(nested.as_bytes(), 4096).is_err());
        let endless = vec![b'x'; 2 << 20];
        assert!(read(&endless, 4096).is_err());
    }
}
