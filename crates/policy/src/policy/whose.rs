//! Whose budget a request uses under a limit, and beside what it is kept.

use tollgate_core::Key;

use super::select::Lack;
use super::view::View;
use super::{Compiled, Policy};
use crate::condition::Asked;
use crate::key::{Encoded, KeyBuffer, KeyBytes, KeyPart, PartValue};
use crate::limit_spec::{Fallback, LimitSpec};
use crate::request::Request;

/// Whose budget a limit charges.
#[derive(Clone, Debug)]
pub(super) struct Whose {
    /// Which of the limit's alternatives applies.
    pub(super) windows: Option<u32>,
    pub(super) key: Encoded,
    /// `None` when the key is its own.
    pub(super) home: Option<Encoded>,
}

/// A key that cannot be built.
pub(super) enum NoKey<'p> {
    Skipped(&'p KeyPart),
    Refused(&'p KeyPart, Lack),
}

impl Policy {
    /// Whose budget a request uses under a limit.
    pub(super) fn whose<'p: 'v, 'v, R: Request + ?Sized>(
        &self,
        limit: &'p Compiled,
        request: &R,
        view: &View<'p, 'v, R>,
        bytes: &mut KeyBytes,
    ) -> Result<Whose, NoKey<'p>> {
        let by = &limit.spec.by;
        let mut buffer = KeyBuffer::new(bytes);
        let overrides = limit.overrides.as_deref();
        let mut windows = overrides.and_then(|others| others.of_plan(|| view.plan()));
        let mut home: Option<Home<'p>> = None;
        for (nth, part) in by.iter().enumerate() {
            let (used, value) = match part_value(&limit.spec, part, request, view) {
                Ok(found) => found,
                Err(none) => {
                    buffer.abandon();
                    return Err(none);
                }
            };
            let stands_in = !std::ptr::eq(used, part);
            if nth == 0 && !stands_in {
                windows = overrides.and_then(|others| others.find(&value)).or(windows);
            }
            let alone = match value {
                PartValue::Address(address) => match Key::network(address, self.ipv6_prefix) {
                    network if by.len() == 1 => {
                        return Ok(Whose { windows, key: Encoded::Whole(network), home: None });
                    }
                    Key::Net(net) => {
                        buffer.part(used, stands_in, &net.to_bytes());
                        Some(Encoded::Whole(Key::Net(net)))
                    }
                    _ => None,
                },
                PartValue::Bytes(value) => buffer.part(used, stands_in, &value).map(Encoded::Bytes),
                PartValue::Missing | PartValue::Several => None,
            };
            if by.len() > 1 && home.as_ref().is_none_or(|home| home.yields_to(used)) {
                home = Some(Home { part, used, alone });
            }
        }
        let is_hashed = buffer.is_hashed();
        let key = buffer.finish();
        let home = home.and_then(|home| match home.alone {
            // It went into the hash of the key.
            Some(Encoded::Bytes(_)) | None if is_hashed => {
                let (used, value) = part_value(&limit.spec, home.part, request, view).ok()?;
                let PartValue::Bytes(value) = value else { return None };
                let mut buffer = KeyBuffer::new(bytes);
                buffer.part(used, !std::ptr::eq(used, home.part), &value);
                Some(buffer.finish())
            }
            alone => alone,
        });
        Ok(Whose { windows, key, home })
    }
}

/// The part of a key beside which it is kept.
struct Home<'p> {
    part: &'p KeyPart,
    used: &'p KeyPart,
    /// The key of this part alone, if that is in the key.
    alone: Option<Encoded>,
}

impl Home<'_> {
    /// Whether a later part goes before it.
    fn yields_to(&self, later: &KeyPart) -> bool {
        !self.used.identifies() && later.identifies()
    }
}

/// The value of a part of a limit's key, or of the part that stands in for it; never missing.
pub(super) fn part_value<'p: 'v, 'v: 'r, 'r, R: Request + ?Sized>(
    spec: &'p LimitSpec,
    part: &'p KeyPart,
    request: &'r R,
    view: &'r View<'p, 'v, R>,
) -> Result<(&'p KeyPart, PartValue<'r>), NoKey<'p>> {
    let value = |part: &KeyPart| {
        let route = match part {
            KeyPart::Route => view.route(),
            _ => None,
        };
        let method = match part {
            KeyPart::Method => view.method().1,
            _ => "",
        };
        let plan = match part {
            KeyPart::Plan => view.plan(),
            _ => &[],
        };
        PartValue::of(part, request, route.unwrap_or_default(), method, plan)
    };
    let known = |part: &'p KeyPart, value: PartValue<'r>| match value {
        PartValue::Missing => Err(NoKey::Refused(part, Lack::Missing)),
        PartValue::Several => Err(NoKey::Refused(part, Lack::Several)),
        value => Ok((part, value)),
    };
    match (value(part), &spec.fallback) {
        (PartValue::Missing, Fallback::Skip) => Err(NoKey::Skipped(part)),
        (PartValue::Missing, Fallback::Part(other)) => known(other, value(other)),
        (value, _) => known(part, value),
    }
}
