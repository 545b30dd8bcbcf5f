//! Small answers and requests are written in one piece.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes up to which parts are joined.
const FEW: usize = 1024;

/// A socket that is written to by `send` whenever there is little to write: `writev` costs the system
/// more than it costs to join a head with a short body.
#[derive(Debug)]
pub(crate) struct Joined<S>(pub(crate) S);

/// Copies all parts into `room`, if they fit.
fn join<'r>(parts: &[IoSlice<'_>], room: &'r mut [u8; FEW]) -> Option<&'r [u8]> {
    let mut length = 0;
    for part in parts {
        let end = length + part.len();
        room.get_mut(length..end)?.copy_from_slice(part);
        length = end;
    }
    room.get(..length)
}

impl<S: AsyncRead + Unpin> AsyncRead for Joined<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, out)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Joined<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let stream = Pin::new(&mut self.0);
        if let [only] = parts {
            return stream.poll_write(cx, only);
        }
        match join(parts, &mut [0; FEW]) {
            Some(joined) => stream.poll_write(cx, joined),
            None => stream.poll_write_vectored(cx, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn whatever_parts_bytes_come_in_they_are_written_in_order() {
        for lengths in
            [vec![], vec![5], vec![400, 13], vec![0, 1000, 24], vec![1000, 25], vec![9, 5000]]
        {
            let (near, mut far) = tokio::io::duplex(64 * 1024);
            let mut near = Joined(near);
            let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(lengths.iter().sum()).collect();
            let mut rest = bytes.as_slice();
            let parts = lengths.iter().map(|length| {
                let (part, behind) = rest.split_at(*length);
                rest = behind;
                IoSlice::new(part)
            });
            let mut parts: Vec<_> = parts.collect();
            let mut parts = parts.as_mut_slice();
            while parts.iter().any(|part| !part.is_empty()) {
                let written = near.write_vectored(parts).await.unwrap();
                IoSlice::advance_slices(&mut parts, written);
            }
            drop(near);
            let mut read = Vec::new();
            far.read_to_end(&mut read).await.unwrap();
            assert_eq!(read, bytes, "{lengths:?}");
        }
    }

    #[test]
    fn parts_are_joined_up_to_their_bound_and_not_beyond() {
        let bytes = [7; FEW];
        let parts = |first: usize, second: usize| {
            [IoSlice::new(&bytes[..first]), IoSlice::new(&bytes[..second])]
        };
        assert_eq!(join(&parts(FEW - 1, 1), &mut [0; FEW]), Some(&bytes[..]));
        assert_eq!(join(&parts(FEW, 1), &mut [0; FEW]), None);
    }
}
