//! Which server serves which slot.

use redis::Value;

use super::super::slot::SLOTS;
use crate::address::Endpoint;

/// Ranges of slots and who serves them; empty before the first fetch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Map {
    /// By first slot, none overlapping: first and last slot, and the server.
    ranges: Vec<(u16, u16, Endpoint)>,
}

impl Map {
    /// Reads the reply to `CLUSTER SLOTS`; a server without a name is at the host that was asked.
    /// Nothing if the reply is none or no slot is served.
    pub(crate) fn read(reply: &Value, asked: Option<&str>) -> Option<Map> {
        let Value::Array(ranges) = reply else { return None };
        let ranges = ranges.iter().map(|range| read(range, asked)).collect::<Option<Vec<_>>>()?;
        let mut map = Map { ranges };
        map.ranges.sort_by_key(|(first, ..)| *first);
        (!map.is_empty()).then_some(map)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Who serves a slot, if anybody does.
    pub(crate) fn owner(&self, slot: u16) -> Option<&Endpoint> {
        let after = self.ranges.partition_point(|(first, ..)| *first <= slot);
        let (_, last, owner) = self.ranges.get(after.checked_sub(1)?)?;
        (slot <= *last).then_some(owner)
    }

    /// All servers, each once.
    pub(crate) fn owners(&self) -> Vec<Endpoint> {
        let mut owners: Vec<Endpoint> = Vec::new();
        for (.., owner) in &self.ranges {
            if !owners.contains(owner) {
                owners.push(owner.clone());
            }
        }
        owners
    }
}

/// `[first, last, [host, port, id, ...], replica ...]`.
fn read(range: &Value, asked: Option<&str>) -> Option<(u16, u16, Endpoint)> {
    let Value::Array(parts) = range else { return None };
    let [Value::Int(first), Value::Int(last), Value::Array(primary), ..] = parts.as_slice() else {
        return None;
    };
    let [host, Value::Int(port), ..] = primary.as_slice() else { return None };
    let host = match host {
        Value::BulkString(host) if !host.is_empty() && host != b"?" => {
            String::from_utf8(host.clone()).ok()?
        }
        Value::BulkString(_) | Value::Nil => asked?.to_owned(),
        _ => return None,
    };
    let slot = |number: i64| u16::try_from(number).ok().filter(|slot| *slot < SLOTS);
    let port = u16::try_from(*port).ok()?;
    Some((slot(*first)?, slot(*last)?, Endpoint::Tcp { host, port }))
}

#[cfg(test)]
mod tests {
    use redis::parse_redis_value;

    use super::*;

    fn read(text: &str) -> Option<Map> {
        let reply = parse_redis_value(text.replace(' ', "\r\n").as_bytes()).unwrap();
        Map::read(&reply, Some("asked"))
    }

    fn at(host: &str, port: u16) -> Endpoint {
        Endpoint::Tcp { host: host.into(), port }
    }

    #[test]
    fn every_slot_has_the_owner_the_server_names() {
        let map =
            read("*2 *3 :5461 :10922 *2 $1 b :2 *4 :0 :5460 *3 $0  :1 $2 id *2 $1 r :9 ").unwrap();
        assert_eq!(map.owner(0), Some(&at("asked", 1)));
        assert_eq!(map.owner(5_460), Some(&at("asked", 1)));
        assert_eq!(map.owner(5_461), Some(&at("b", 2)));
        assert_eq!(map.owner(10_922), Some(&at("b", 2)));
        assert_eq!(map.owner(10_923), None);
        assert_eq!(map.owners(), [at("asked", 1), at("b", 2)]);
    }

    #[test]
    fn what_is_no_map_is_none() {
        for text in
            ["*0 ", ":1 ", "*1 :1 ", "*1 *3 :0 :16384 *2 $1 a :1 ", "*1 *3 :0 :1 *2 $1 a :70000 "]
        {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
