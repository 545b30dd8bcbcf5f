//! Lists of who is let in for free, or not at all.

use std::collections::HashSet;

use crate::finding::{Complaint, Place};
use crate::host::host;
use crate::key::{KeyPart, PartValue, Secret};
use crate::network::{Network, NetworkError, Networks};
use crate::path::RequestPath;
use crate::request::Request;

/// A list of networks, and of values of other parts of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct List {
    networks: Networks<()>,
    values: Vec<(KeyPart, HashSet<Secret>)>,
}

/// Which of the two lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    Allow,
    Deny,
}

/// What a list says of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listed<'p> {
    No,
    /// This part of it is on the list.
    Yes(&'p KeyPart),
    /// This part is given more than once, so nobody can tell.
    Unclear(&'p KeyPart),
}

static CLIENT: KeyPart = KeyPart::Client;

impl List {
    /// Puts a value on the list.
    pub(crate) fn insert(
        &mut self,
        which: Which,
        part: &KeyPart,
        value: &str,
    ) -> Result<(), Complaint> {
        match part {
            KeyPart::Client => {
                let network: Network = value.parse().map_err(|error| {
                    Complaint::new(format!("`{value}` is {error}"), NetworkError::EXPECTED)
                })?;
                self.networks.insert(network, ());
            }
            KeyPart::Path if which == Which::Allow => {
                let path = RequestPath::parse(value.as_bytes()).ok();
                path.filter(|path| path.is_verbatim() && path.query().is_none()).ok_or_else(|| {
                    Complaint::new(
                        format!("`{value}` is not a path in its normal form"),
                        "one exact path, such as `/healthz`: an exemption holds for no other spelling",
                    )
                })?;
                self.insert_value(part, value);
            }
            KeyPart::Host => self.insert_value(part, &host(value)?),
            KeyPart::User
            | KeyPart::Header(_)
            | KeyPart::Query(_)
            | KeyPart::Cookie(_)
            | KeyPart::Certificate
            | KeyPart::Claim(_) => {
                if value.is_empty() {
                    let expected = "a value; an empty one counts as missing";
                    return Err(Complaint::new(format!("`{part}` cannot be empty"), expected));
                }
                self.insert_value(part, value);
            }
            _ => {
                let message = format!("`{part}` is nothing that can be on this list");
                return Err(Complaint::new(message, which.expected()));
            }
        }
        Ok(())
    }

    /// The parts of a request that it looks at.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &KeyPart> {
        let client = (!self.networks.is_empty()).then_some(&CLIENT);
        client.into_iter().chain(self.values.iter().map(|(part, _)| part))
    }

    /// Whether the request is on the list.
    #[inline]
    pub(crate) fn find<R: Request + ?Sized>(&self, request: &R) -> Listed<'_> {
        if self.networks.is_empty() && self.values.is_empty() {
            return Listed::No;
        }
        self.look_for(request)
    }

    fn look_for<R: Request + ?Sized>(&self, request: &R) -> Listed<'_> {
        if request.client().is_some_and(|address| self.networks.find(address).is_some()) {
            return Listed::Yes(&CLIENT);
        }
        let mut unclear = Listed::No;
        for (part, values) in &self.values {
            let value = match part {
                KeyPart::Path => PartValue::Bytes(request.raw_path().as_bytes().into()),
                _ => PartValue::of(part, request, "", "", &[]),
            };
            match value {
                PartValue::Bytes(value) if values.contains(&*value) => return Listed::Yes(part),
                PartValue::Several => unclear = Listed::Unclear(part),
                _ => {}
            }
        }
        unclear
    }

    fn insert_value(&mut self, part: &KeyPart, value: &str) {
        let value = Secret::new(value.as_bytes());
        match self.values.iter_mut().find(|(known, _)| known == part) {
            Some((_, values)) => {
                values.insert(value);
            }
            None => self.values.push((part.clone(), HashSet::from([value]))),
        }
    }
}

impl Which {
    /// The section of the file.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Which::Allow => "allow",
            Which::Deny => "deny",
        }
    }

    /// The first words of what may stand in it.
    pub(crate) fn words(self) -> &'static [&'static str] {
        match self {
            Which::Allow => &[
                "client",
                "user",
                "host",
                "path",
                "certificate",
                "header:",
                "query:",
                "cookie:",
                "claim:",
                "preflights",
            ],
            Which::Deny => {
                &["client", "user", "host", "certificate", "header:", "query:", "cookie:", "claim:"]
            }
        }
    }

    /// What may stand in it.
    pub(crate) fn expected(self) -> &'static str {
        match self {
            Which::Allow => {
                "`client`, `user`, `host`, `path`, `certificate`, `preflights` or, between quotes, \
                 `header:NAME`, `query:NAME`, `cookie:NAME` or `claim:NAME`"
            }
            Which::Deny => {
                "`client`, `user`, `host`, `certificate` or, between quotes, `header:NAME`, \
                 `query:NAME`, `cookie:NAME` or `claim:NAME`"
            }
        }
    }

    /// The place of the list's `nth` entry.
    pub(crate) fn place(self, nth: usize) -> Place {
        match self {
            Which::Allow => Place::Allow(nth),
            Which::Deny => Place::Deny(nth),
        }
    }
}
