//! What a service knows of its clients: their addresses, how wide a client is, and the users that
//! its proxies vouch for.

mod section;

use http::HeaderName;

use crate::client::ClientRule;

/// How a service knows its clients. By default a client is whoever connected, an IPv6 client the /64
/// that a customer is given.
///
/// ```
/// use tollgate_http::Clients;
/// use tollgate_http::client::{ClientRule, Source, Trust};
/// let trust = Trust::Proxies([("10.0.0.0/8").parse()?].into_iter().collect());
/// let clients = Clients::new(ClientRule::new(Source::XForwardedFor, trust)?).ipv6_prefix(56);
/// assert!(clients.identity_headers().any(|name| name == "x-forwarded-for"));
/// assert_eq!(clients.ipv6_bits(), Some(56));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Clients {
    pub(crate) rule: ClientRule,
    pub(crate) ipv6_prefix: Option<u8>,
    pub(crate) user_header: Option<HeaderName>,
}

impl Default for Clients {
    fn default() -> Clients {
        Clients::new(ClientRule::default())
    }
}

impl Clients {
    /// Clients told by this rule.
    #[must_use]
    pub fn new(rule: ClientRule) -> Clients {
        Clients { rule, ipv6_prefix: None, user_header: None }
    }

    /// The rule that tells them.
    #[must_use]
    pub fn rule(&self) -> &ClientRule {
        &self.rule
    }

    /// The headers by which a trusted proxy says who is asking: that of the client's address and
    /// that of the user. A service that passes requests on takes them off those of anyone else.
    pub fn identity_headers(&self) -> impl Iterator<Item = &HeaderName> {
        self.rule.source().header().into_iter().chain(&self.user_header)
    }

    /// The header by which a trusted proxy says which user asks, if there is one.
    #[must_use]
    pub fn vouched_user(&self) -> Option<&HeaderName> {
        self.user_header.as_ref()
    }

    /// How many bits of an IPv6 address stand for one client, if that was said.
    #[must_use]
    pub fn ipv6_bits(&self) -> Option<u8> {
        self.ipv6_prefix
    }

    /// The same; IPv6 clients are one when their first so many bits are, 32 to 128 and the
    /// policy's number unless said.
    #[must_use]
    pub fn ipv6_prefix(self, bits: u8) -> Clients {
        Clients { ipv6_prefix: Some(bits.clamp(32, 128)), ..self }
    }

    /// The same; this header names the user, and counts only from a trusted proxy.
    #[must_use]
    pub fn user_header(self, name: HeaderName) -> Clients {
        Clients { user_header: Some(name), ..self }
    }
}
