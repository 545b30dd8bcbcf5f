//! Headers that a route sets and takes off.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

use crate::forwarding;
use crate::hop;

/// What a route does to the headers of a message: first it takes some off, then it sets some.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Edits {
    pub(crate) remove: Vec<HeaderName>,
    pub(crate) set: Vec<(HeaderName, HeaderValue)>,
}

/// Why no route may touch a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It says where the message ends or where it goes.
    Message,
    /// It is about one hop alone.
    Hop,
    /// The gateway itself says so who is asking.
    Client,
}

impl Refused {
    pub(crate) fn why(self) -> &'static str {
        match self {
            Refused::Message => "says where a message goes or ends, which the gateway decides",
            Refused::Hop => "is about one connection alone and never sent on",
            Refused::Client => {
                "tells the upstream who is asking, which the gateway itself says truly"
            }
        }
    }
}

impl Edits {
    /// Why a route may not set this header, if so.
    pub(crate) fn refused_to_set(name: &HeaderName) -> Option<Refused> {
        let of_the_client = forwarding::is_claim(name).then_some(Refused::Client);
        Edits::refused_to_remove(name).or(of_the_client)
    }

    /// Why a route may not take this header off, if so.
    pub(crate) fn refused_to_remove(name: &HeaderName) -> Option<Refused> {
        let of_the_message = [header::HOST, header::CONTENT_LENGTH, header::EXPECT];
        if hop::is_of_one_hop(name) {
            return Some(Refused::Hop);
        }
        of_the_message.contains(name).then_some(Refused::Message)
    }

    pub(crate) fn apply(&self, headers: &mut HeaderMap) {
        for name in &self.remove {
            headers.remove(name);
        }
        for (name, value) in &self.set {
            headers.insert(name, value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_gateways_own_is_not_a_routes() {
        for name in ["host", "content-length", "transfer-encoding", "connection", "te", "upgrade"] {
            let name = HeaderName::from_static(name);
            assert!(Edits::refused_to_set(&name).is_some(), "{name}");
            assert!(Edits::refused_to_remove(&name).is_some(), "{name}");
        }
        for name in ["x-forwarded-for", "forwarded", "x-real-ip", "x-forwarded-proto"] {
            let name = HeaderName::from_static(name);
            assert_eq!(Edits::refused_to_set(&name), Some(Refused::Client), "{name}");
            assert_eq!(Edits::refused_to_remove(&name), None, "{name}");
        }
        assert_eq!(Edits::refused_to_set(&header::AUTHORIZATION), None);
    }

    #[test]
    fn what_is_set_stands_alone() {
        let mut headers = HeaderMap::new();
        for (name, value) in [("x-a", "1"), ("x-a", "2"), ("x-b", "1"), ("x-c", "1")] {
            headers.append(name, HeaderValue::from_static(value));
        }
        let x = |name| HeaderName::from_static(name);
        let edits =
            Edits { remove: vec![x("x-b")], set: vec![(x("x-a"), HeaderValue::from_static("3"))] };
        edits.apply(&mut headers);
        let left: Vec<_> = headers.iter().map(|(n, v)| (n.as_str(), v.to_str().unwrap())).collect();
        assert_eq!(left, [("x-a", "3"), ("x-c", "1")]);
    }
}
