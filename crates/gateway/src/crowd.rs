//! How many connections each client has, so that one cannot take all places.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

/// Bits of an IPv6 address that stand for one client: what a customer is given at least.
const PREFIX: u32 = 64;

/// Counts the connections of each address.
#[derive(Debug, Default)]
pub(crate) struct Crowd(Mutex<HashMap<IpAddr, usize>>);

impl Crowd {
    /// One more connection of `address`, until what this gives is dropped. `None` when it has `most`
    /// already.
    pub(crate) fn enter(self: &Arc<Crowd>, address: IpAddr, most: usize) -> Option<Entered> {
        let address = one(address);
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let held = clients.entry(address).or_default();
        if *held >= most {
            return None;
        }
        *held += 1;
        Some(Entered { crowd: self.clone(), address })
    }
}

/// A connection that counts.
#[derive(Debug)]
pub(crate) struct Entered {
    crowd: Arc<Crowd>,
    address: IpAddr,
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut clients = self.crowd.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = clients.get_mut(&self.address) {
            *held = held.saturating_sub(1);
            if *held == 0 {
                clients.remove(&self.address);
            }
        }
    }
}

/// The address that stands for all of one client.
fn one(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            Ipv6Addr::from_bits(address.to_bits() >> (128 - PREFIX) << (128 - PREFIX)).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn nobody_has_more_than_most_and_a_place_is_free_again_once_it_is_left() {
        let crowd = Arc::<Crowd>::default();
        let first = crowd.enter(ip("192.0.2.7"), 2).unwrap();
        let _second = crowd.enter(ip("::ffff:192.0.2.7"), 2).unwrap();
        assert!(crowd.enter(ip("192.0.2.7"), 2).is_none());
        assert!(crowd.enter(ip("192.0.2.8"), 2).is_some());
        drop(first);
        assert!(crowd.enter(ip("192.0.2.7"), 2).is_some());
    }

    #[test]
    fn a_network_of_ipv6_is_one_client() {
        let crowd = Arc::<Crowd>::default();
        let _first = crowd.enter(ip("2001:db8::1"), 1).unwrap();
        assert!(crowd.enter(ip("2001:db8::2"), 1).is_none());
        assert!(crowd.enter(ip("2001:db8:0:1::1"), 1).is_some());
    }

    #[test]
    fn who_has_left_is_forgotten() {
        let crowd = Arc::<Crowd>::default();
        drop(crowd.enter(ip("192.0.2.7"), 1));
        assert!(crowd.0.lock().unwrap().is_empty());
    }
}
