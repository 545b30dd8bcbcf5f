//! Why a rule is none, and why a client cannot be told.

use std::error::Error;
use std::fmt;

use ipnet::IpNet;

use super::items::MOST_ITEMS;

/// Why a rule for telling clients, or a part of one, is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientRuleError {
    fault: Fault,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    NobodyTrusted,
    EveryoneTrusted,
    NothingToCount,
    TooManyHops,
    NotAHeader(String),
    NotAProxy(String),
    BitsBeyondPrefix(IpNet),
}

impl From<Fault> for ClientRuleError {
    fn from(fault: Fault) -> ClientRuleError {
        ClientRuleError { fault }
    }
}

impl fmt::Display for ClientRuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.fault {
            Fault::NobodyTrusted => {
                f.write_str("expected trusted proxies or hops for a header that names the client")
            }
            Fault::EveryoneTrusted => f.write_str(
                "expected trusted proxies that are not all addresses, \
                 or every client could name any other; count hops instead",
            ),
            Fault::NothingToCount => f.write_str(
                "expected hops only with x-forwarded-for or forwarded, \
                 or 1 hop with a header of one address",
            ),
            Fault::TooManyHops => write!(f, "expected at most {MOST_ITEMS} hops"),
            Fault::NotAHeader(text) => {
                write!(f, "expected `peer` or the name of a header, not {text:?}")
            }
            Fault::NotAProxy(text) => write!(
                f,
                "expected a network such as `10.0.0.0/8`, an address or `unix`, not {text:?}"
            ),
            Fault::BitsBeyondPrefix(net) => {
                write!(f, "expected `{}` or `{}`, not `{net}`", net.trunc(), net.addr())
            }
        }
    }
}

impl Error for ClientRuleError {}

/// A trusted proxy's header does not say who the client is: a fault of the request.
///
/// Its text repeats nothing that the client wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownClient;

impl fmt::Display for UnknownClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected an address of the client in the header that names it")
    }
}

impl Error for UnknownClient {}
