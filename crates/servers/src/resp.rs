//! Just enough of the servers' protocol (RESP2) to give orders.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// How long a server may take to accept and to answer. Far above any fault that a test injects.
const PATIENCE: Duration = Duration::from_secs(20);

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `+OK` and its kind.
    Status(String),
    /// A refusal in the server's words, such as `NOSCRIPT No matching script`.
    Error(String),
    /// A whole number.
    Integer(i64),
    /// A string of bytes.
    Bulk(Vec<u8>),
    /// A list.
    Array(Vec<Value>),
    /// No such thing.
    Nil,
}

impl Value {
    /// A status, string, number or error as text; empty for `Nil`, one item a line for a list.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Status(text) | Self::Error(text) => text.clone(),
            Self::Integer(number) => number.to_string(),
            Self::Bulk(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Self::Array(items) => items.iter().map(Self::text).collect::<Vec<_>>().join("\n"),
            Self::Nil => String::new(),
        }
    }

    /// The items of a list; none for anything else.
    #[must_use]
    pub fn items(&self) -> &[Self] {
        if let Self::Array(items) = self { items } else { &[] }
    }

    /// The number that this is or spells.
    #[must_use]
    pub fn integer(&self) -> Option<i64> {
        self.text().parse().ok()
    }
}

/// One connection, one order at a time.
#[derive(Debug)]
pub struct Client(BufReader<TcpStream>);

impl Client {
    /// Connects to a loopback port.
    ///
    /// # Errors
    ///
    /// When nobody listens there, or accepts within 20 s.
    pub fn connect(port: u16) -> io::Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self(BufReader::new(stream)))
    }

    /// How long an answer may take from now on; at first 20 s.
    ///
    /// # Errors
    ///
    /// For a span of zero.
    pub fn patience(&mut self, span: Duration) -> io::Result<()> {
        self.0.get_ref().set_read_timeout(Some(span))
    }

    /// Sends one command and reads its reply; a refusal is a [`Value::Error`].
    ///
    /// # Errors
    ///
    /// When the connection ends, stays silent for too long, or brings what is no RESP2.
    pub fn command<A: AsRef<[u8]>>(&mut self, words: &[A]) -> io::Result<Value> {
        self.send(words)?;
        self.receive()
    }

    /// Sends one command without waiting for its reply.
    ///
    /// # Errors
    ///
    /// When the connection has ended.
    pub fn send<A: AsRef<[u8]>>(&mut self, words: &[A]) -> io::Result<()> {
        let mut request = format!("*{}\r\n", words.len()).into_bytes();
        for word in words.iter().map(AsRef::as_ref) {
            request.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            request.extend_from_slice(word);
            request.extend_from_slice(b"\r\n");
        }
        self.0.get_mut().write_all(&request)
    }

    /// Reads the next reply.
    ///
    /// # Errors
    ///
    /// As [`Client::command`].
    pub fn receive(&mut self) -> io::Result<Value> {
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        let line = line.strip_suffix("\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
        let (kind, rest) = line.split_at_checked(1).ok_or_else(|| malformed(line))?;
        Ok(match (kind, rest) {
            ("+", text) => Value::Status(text.to_owned()),
            ("-", text) => Value::Error(text.to_owned()),
            ("$" | "*", "-1") => Value::Nil,
            (":", number) => Value::Integer(number.parse().map_err(|_| malformed(line))?),
            ("$", length) => {
                let length: usize = length.parse().map_err(|_| malformed(line))?;
                let mut bytes = vec![0; length.saturating_add(2)];
                self.0.read_exact(&mut bytes)?;
                bytes.truncate(length);
                Value::Bulk(bytes)
            }
            ("*", count) => {
                let count: usize = count.parse().map_err(|_| malformed(line))?;
                Value::Array((0..count).map(|_| self.receive()).collect::<io::Result<_>>()?)
            }
            _ => return Err(malformed(line)),
        })
    }
}

fn malformed(line: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("no RESP2: {line:?}"))
}
