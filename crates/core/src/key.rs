//! Whose budget is charged.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whose budget: text or bytes, a number, or a network address.
///
/// Different kinds are different keys, whatever their bytes. An address is stored as its bits and a
/// prefix length, never as text: IPv4-mapped IPv6 is folded to IPv4, and an IPv6 address made with
/// `From` stands for its /64, the least that one customer is given (RFC 6177).
///
/// ```
/// use tollgate_core::Key;
/// use std::net::IpAddr;
/// let one: IpAddr = "2001:db8::1".parse().unwrap();
/// let two: IpAddr = "2001:db8::2".parse().unwrap();
/// assert_eq!(Key::from(one), Key::from(two));
/// assert_ne!(Key::network(one, 128), Key::network(two, 128));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key<'a> {
    /// Text or bytes of any length; stores keep a fingerprint, not the bytes.
    Bytes(&'a [u8]),
    /// A number, such as a row's id.
    Int(u64),
    /// A network: made by [`Key::network`] or from an address.
    Net(Net),
}

/// A network address: the bits beyond its prefix are zero.
///
/// ```
/// use std::net::Ipv6Addr;
/// use tollgate_core::Key;
/// let Key::Net(net) = Key::from(Ipv6Addr::LOCALHOST) else { unreachable!("an address") };
/// assert_eq!((net.bits(), net.prefix()), (0, Key::IPV6_PREFIX));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Net {
    // Whole words, so that every kind of key is passed in registers and none is aligned to 16 bytes.
    high: u64,
    low: u64,
    prefix: u64,
}

impl Key<'_> {
    /// The prefix an IPv6 address stands for unless said otherwise.
    pub const IPV6_PREFIX: u8 = 64;

    /// The network of `address`: IPv4 whole, IPv6 cut to its first `ipv6_prefix` bits (at most 128).
    #[must_use]
    #[expect(clippy::as_conversions, reason = "u8 to u64 widens; From is not const")]
    pub const fn network(address: IpAddr, ipv6_prefix: u8) -> Key<'static> {
        match address.to_canonical() {
            // 0xff marks IPv4; no IPv6 prefix is that long.
            IpAddr::V4(v4) => Key::Net(Net { high: 0, low: wide(v4), prefix: 0xff }),
            IpAddr::V6(v6) => {
                let prefix = if ipv6_prefix > 128 { 128 } else { ipv6_prefix };
                let mask = match prefix {
                    0 => 0,
                    bits => u128::MAX << (128 - bits),
                };
                let (high, low) = halves(v6.to_bits() & mask);
                Key::Net(Net { high, low, prefix: prefix as u64 })
            }
        }
    }
}

#[expect(clippy::as_conversions, reason = "u32 to u64 widens; From is not const")]
const fn wide(address: Ipv4Addr) -> u64 {
    address.to_bits() as u64
}

#[expect(clippy::as_conversions, reason = "u64 to u128 widens; From is not const")]
const fn whole(high: u64, low: u64) -> u128 {
    (high as u128) << 64 | low as u128
}

#[expect(clippy::as_conversions, reason = "it was made from a u8")]
const fn narrow(prefix: u64) -> u8 {
    prefix as u8
}

#[expect(clippy::as_conversions, reason = "each half fits 64 bits")]
const fn halves(bits: u128) -> (u64, u64) {
    ((bits >> 64) as u64, bits as u64)
}

impl Net {
    /// The address bits and, in the last byte, the IPv6 prefix length (255 for IPv4).
    #[must_use]
    pub fn to_bytes(self) -> [u8; 17] {
        let mut bytes = [self.prefix(); 17];
        if let Some(head) = bytes.first_chunk_mut() {
            *head = self.bits().to_be_bytes();
        }
        bytes
    }

    /// The address bits, IPv4 in the lowest 32.
    #[must_use]
    pub const fn bits(self) -> u128 {
        whole(self.high, self.low)
    }

    /// The IPv6 prefix length, or 255 for IPv4.
    #[must_use]
    pub const fn prefix(self) -> u8 {
        narrow(self.prefix)
    }

    /// The upper and lower half of the address bits (IPv4 in the lowest 32), and the IPv6 prefix
    /// length, or 255 for IPv4.
    #[inline]
    #[must_use]
    pub const fn to_words(self) -> [u64; 3] {
        [self.high, self.low, self.prefix]
    }

    #[must_use]
    pub(crate) const fn of_words([high, low, prefix]: [u64; 3]) -> Net {
        Net { high, low, prefix }
    }
}

impl<'a> From<&'a str> for Key<'a> {
    #[inline]
    fn from(text: &'a str) -> Key<'a> {
        Key::Bytes(text.as_bytes())
    }
}

impl<'a> From<&'a alloc::string::String> for Key<'a> {
    #[inline]
    fn from(text: &'a alloc::string::String) -> Key<'a> {
        Key::Bytes(text.as_bytes())
    }
}

impl<'a> From<&'a [u8]> for Key<'a> {
    #[inline]
    fn from(bytes: &'a [u8]) -> Key<'a> {
        Key::Bytes(bytes)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Key<'a> {
    #[inline]
    fn from(bytes: &'a [u8; N]) -> Key<'a> {
        Key::Bytes(bytes)
    }
}

impl From<u64> for Key<'_> {
    #[inline]
    fn from(number: u64) -> Self {
        Key::Int(number)
    }
}

impl From<u32> for Key<'_> {
    #[inline]
    fn from(number: u32) -> Self {
        Key::Int(number.into())
    }
}

impl From<IpAddr> for Key<'_> {
    #[inline]
    fn from(address: IpAddr) -> Self {
        Key::network(address, Key::IPV6_PREFIX)
    }
}

impl From<Ipv4Addr> for Key<'_> {
    #[inline]
    fn from(address: Ipv4Addr) -> Self {
        IpAddr::V4(address).into()
    }
}

impl From<Ipv6Addr> for Key<'_> {
    #[inline]
    fn from(address: Ipv6Addr) -> Self {
        IpAddr::V6(address).into()
    }
}
