//! What an error means: what is wrong, and whether the command ran.

mod class;
mod reply;
#[cfg(test)]
mod tests;

use core::fmt;
use std::error::Error;
use std::io;
use std::sync::Arc;

use redis::{ErrorKind, RedisError, ServerError, Value};

pub use class::{Class, Remedy};

/// Whether the server may have run the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// It surely did not: the same charge may be made again.
    Never,
    /// Nobody knows: it must be neither repeated nor given back.
    Unknown,
}

/// A call that has no answer.
///
/// Its text is for operators; neither a password nor a key is ever part of it.
#[derive(Clone, Debug)]
pub struct Fault {
    class: Class,
    ran: Ran,
    said: Option<Box<str>>,
    target: Option<Box<Target>>,
}

/// Where a redirection points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The slot that lives there.
    pub slot: u16,
    /// The host; empty for the host that was asked.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Fault {
    /// A fault from before anything was sent.
    #[must_use]
    pub fn never(class: Class) -> Fault {
        Fault { class, ran: Ran::Never, said: None, target: None }
    }

    /// A fault after which the command may or may not have run.
    #[must_use]
    pub fn unknown(class: Class) -> Fault {
        Fault { class, ran: Ran::Unknown, said: None, target: None }
    }

    /// What an error reply means.
    #[must_use]
    pub fn replied(error: &ServerError) -> Fault {
        reply::read(error.code(), error.details().unwrap_or_default())
    }

    /// What an error of the library after sending means: unless the server replied, nobody knows.
    #[must_use]
    pub fn after_sending(error: &RedisError) -> Fault {
        match error.kind() {
            ErrorKind::Io => {
                let cause = error.source().and_then(|cause| cause.downcast_ref::<Cause>());
                let cause = cause.and_then(|cause| cause.downcast_ref::<io::Error>());
                Fault::unknown(cause.and_then(misunderstanding).unwrap_or(Class::Dropped))
            }
            ErrorKind::Server(_) | ErrorKind::Extension => {
                reply::read(error.code().unwrap_or_default(), error.detail().unwrap_or_default())
            }
            _ => Fault::unknown(Class::Protocol),
        }
    }

    /// What an error while connecting means: nothing has been sent.
    #[must_use]
    pub fn connecting(error: &io::Error) -> Fault {
        let class = match error.kind() {
            io::ErrorKind::TimedOut => Class::Timeout,
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe => Class::Dropped,
            _ => misunderstanding(error).unwrap_or(Class::Refused),
        };
        Fault { said: clean(&error.to_string()), ..Fault::never(class) }
    }

    /// The value, if it is not an error reply.
    ///
    /// # Errors
    /// What the error reply means.
    pub fn check(value: Value) -> Result<Value, Fault> {
        match value {
            Value::ServerError(error) => Err(Fault::replied(&error)),
            value => Ok(value),
        }
    }

    /// What is wrong.
    #[must_use]
    pub fn class(&self) -> Class {
        self.class
    }

    /// Whether the command may have run.
    #[must_use]
    pub fn ran(&self) -> Ran {
        self.ran
    }

    /// Where a redirection points, if it is one.
    #[must_use]
    pub fn target(&self) -> Option<&Target> {
        self.target.as_deref()
    }

    /// The same fault of a command that charges nothing, so that nothing is left unknown.
    #[must_use]
    pub(crate) fn harmless(self) -> Fault {
        Fault { ran: Ran::Never, ..self }
    }

    /// The same fault with what the other side said, which must not be secret.
    #[must_use]
    pub(crate) fn saying(mut self, said: &str) -> Fault {
        self.said = clean(said);
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.class.sentence())?;
        match &self.said {
            Some(said) => write!(f, " ({said})"),
            None => Ok(()),
        }
    }
}

impl Error for Fault {}

/// As the library keeps it.
type Cause = Arc<dyn Error + Send + Sync>;

/// Whether the other side was understood; an end of the connection is no misunderstanding.
fn misunderstanding(error: &io::Error) -> Option<Class> {
    #[cfg(feature = "tls")]
    if error.get_ref().is_some_and(|cause| cause.is::<tokio_rustls::rustls::Error>()) {
        return Some(Class::Tls);
    }
    (error.kind() == io::ErrorKind::InvalidData).then_some(Class::Protocol)
}

/// At most 160 characters, none of them a control character, and nothing a server quotes from a
/// command: an unknown `AUTH` is quoted with its password, a script call with its keys.
fn clean(text: &str) -> Option<Box<str>> {
    let text = text.split(", with args").next().unwrap_or_default();
    let text: String = text.chars().filter(|c| !c.is_control()).take(160).collect();
    (!text.is_empty()).then(|| text.into_boxed_str())
}
