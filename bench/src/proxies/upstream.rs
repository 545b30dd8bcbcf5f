//! The service behind every proxy: one small answer to whatever is asked.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 13\r\n\r\nHello, world!";
const END: &[u8] = b"\r\n\r\n";

/// Serves on a thread of its own until the process ends.
pub fn start() -> io::Result<SocketAddr> {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    std::thread::spawn(move || {
        runtime.block_on(async {
            let listener = TcpListener::from_std(listener).expect("the runtime has sockets");
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(async { answer(stream).await });
            }
        });
    });
    Ok(address)
}

/// Answers requests without bodies, until the proxy leaves.
async fn answer(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut unread = Vec::with_capacity(4 * 1024);
    loop {
        if stream.read_buf(&mut unread).await? == 0 {
            return Ok(());
        }
        while let Some(end) = unread.windows(END.len()).position(|bytes| bytes == END) {
            unread.drain(..end + END.len());
            stream.write_all(ANSWER).await?;
        }
    }
}
