//! Keys: two requests have one key if and only if every part of it has one value.

#![no_main]

use std::borrow::Cow;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::LazyLock;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use tollgate_core::{Key, Limit};
use tollgate_policy::{Fallback, Given, KeyPart, LimitSpec, Policy, Request, Scratch, Selection};

/// Requests whose parts are all cut from the same bytes, so that only the borders tell them apart.
#[derive(Arbitrary, Debug)]
struct Input<'a> {
    bytes: &'a [u8],
    cuts: Vec<([u8; 4], u8)>,
}

static POLICY: LazyLock<Policy> = LazyLock::new(|| {
    let limit = Limit::new("fuzz", "1/s".parse().expect("a quota")).expect("a limit");
    let parts = ["header:a", "cookie:b", "query:c", "client"];
    let spec = LimitSpec::new(limit)
        .by(parts.map(|part| part.parse().expect("a part of a key")))
        .fallback(Fallback::Part(KeyPart::User));
    Policy::builder().limit(spec).build().expect("a policy")
});

#[derive(Clone, Debug)]
struct Cut<'a> {
    parts: [&'a [u8]; 4],
    client: IpAddr,
}

/// What a key stands for: each part's value, or that of the user in its stead, and the network.
type Model = (Vec<(bool, Vec<u8>)>, u64);

fuzz_target!(|input: Input| {
    let mut keys: HashMap<Vec<u8>, Model> = HashMap::new();
    let mut models: HashMap<Model, Vec<u8>> = HashMap::new();
    let mut scratch = Scratch::new();
    for (ends, client) in input.cuts {
        let request = Cut::of(input.bytes, ends, client);
        let [a, b, c, user] = request.parts;
        let values = [a, b, c].map(|part| match part {
            [] => (true, user.to_vec()),
            part => (false, part.to_vec()),
        });
        let model = (values.to_vec(), u64::from(client >> 4));
        let selection = POLICY.select(&request, &mut scratch);
        let missing = values.iter().any(|(_, value)| value.is_empty());
        let Selection::Limits(matches) = selection else {
            assert!(missing, "refused, though no part is missing: {request:?}");
            continue;
        };
        assert!(!missing, "not refused, though a part is missing: {request:?}");
        let key = match matches.iter().next().expect("one limit applies").key {
            Key::Bytes(bytes) => bytes.to_vec(),
            other => panic!("a key of several parts is bytes, not {other:?}"),
        };
        let before = keys.insert(key.clone(), model.clone());
        assert!(
            before.as_ref().is_none_or(|b| *b == model),
            "one key for {before:?} and {model:?}"
        );
        let before = models.insert(model, key.clone());
        assert!(before.is_none_or(|b| b == key), "two keys for one request: {request:?}");
    }
});

impl<'a> Cut<'a> {
    /// The low four bits of `client` are below the prefix that one client is given.
    fn of(bytes: &'a [u8], ends: [u8; 4], client: u8) -> Cut<'a> {
        let mut rest = bytes;
        let parts = ends.map(|end| {
            let (part, after) = rest.split_at(rest.len().min(end.into()));
            rest = after;
            part
        });
        let network = u128::from(client >> 4) << 64 | u128::from(client & 15);
        Cut { parts, client: Ipv6Addr::from_bits(0x2001_0db8 << 96 | network).into() }
    }
}

impl Request for Cut<'_> {
    fn method(&self) -> &str {
        "GET"
    }
    fn path(&self) -> &str {
        "/"
    }
    fn raw_path(&self) -> &str {
        "/"
    }
    fn host(&self) -> Option<&str> {
        None
    }
    fn client(&self) -> Option<IpAddr> {
        Some(self.client)
    }
    fn is_peer_trusted(&self) -> bool {
        false
    }
    fn user(&self) -> Option<&[u8]> {
        Some(self.parts[3])
    }
    fn header(&self, name: &str) -> Given<'_> {
        if name == "a" { Given::One(Cow::Borrowed(self.parts[0])) } else { Given::Nothing }
    }
    fn cookie(&self, _: &str) -> Given<'_> {
        Given::One(Cow::Borrowed(self.parts[1]))
    }
    fn query(&self, _: &str) -> Given<'_> {
        Given::One(Cow::Borrowed(self.parts[2]))
    }
}
