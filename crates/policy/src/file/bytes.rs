//! Numbers of bytes, as people write them.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

/// A number of bytes in which a body is counted.
pub(super) struct Bytes(pub(super) NonZeroU64);

impl Bytes {
    /// How they are written, for messages.
    pub(super) const EXPECTED: &'static str =
        "a number of bytes such as `\"1KiB\"`, `\"64kB\"` or `\"1MiB\"`, up to `\"1GiB\"`";
}

const UNITS: [(&str, u64); 7] = [
    ("kB", 1_000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
    ("B", 1),
];

impl FromStr for Bytes {
    type Err = NotBytes;

    fn from_str(text: &str) -> Result<Bytes, NotBytes> {
        let unit = UNITS.iter().find_map(|(unit, of)| Some((text.strip_suffix(unit)?, *of)));
        let (digits, unit) = unit.ok_or(NotBytes)?;
        let digits = digits.trim_end();
        let number = Some(digits).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        let number: u64 = number.and_then(|text| text.parse().ok()).ok_or(NotBytes)?;
        let bytes = number.checked_mul(unit).filter(|bytes| *bytes <= 1 << 30);
        bytes.and_then(NonZeroU64::new).map(Bytes).ok_or(NotBytes)
    }
}

/// Why a text is none.
pub(super) struct NotBytes;

impl fmt::Display for NotBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a number of bytes with its unit")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_bytes_has_a_unit_and_is_neither_nothing_nor_huge() {
        let read = |text: &str| text.parse::<Bytes>().ok().map(|bytes| bytes.0.get());
        for (text, bytes) in
            [("1KiB", 1_024), ("64 kB", 64_000), ("1B", 1), ("1GiB", 1 << 30), ("3MiB", 3 << 20)]
        {
            assert_eq!(read(text), Some(bytes), "{text}");
        }
        for wrong in ["", "1", "KiB", "0B", "-1B", "1.5KiB", "1kb", "2GiB", "99999999999999999999B"]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
