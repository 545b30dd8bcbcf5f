//! Integers as whole lines.

use std::str;

use http::HeaderValue;

/// A whole line of one integer. Below 1,000 it costs no allocation, and its copies share no counter
/// that processors would contend for. (`HeaderValue::from` allocates twice.)
pub(super) fn integer(number: u64) -> HeaderValue {
    if let Some(digits) = below_1_000(number) {
        return HeaderValue::from_static(digits);
    }
    let line = HeaderValue::from_str(itoa::Buffer::new().format(number));
    line.expect("digits are printable ASCII")
}

fn below_1_000(number: u64) -> Option<&'static str> {
    let number = usize::try_from(number).ok()?;
    let digits = THREE_DIGITS.get(number)?;
    let zeros = match number {
        0..10 => 2,
        10..100 => 1,
        _ => 0,
    };
    str::from_utf8(digits.get(zeros..)?).ok()
}

/// Each integer below 1,000.
static THREE_DIGITS: [[u8; 3]; 1_000] = {
    let mut all = [*b"000"; 1_000];
    let mut left: &mut [[u8; 3]] = &mut all;
    let mut digits = *b"000";
    while let Some((next, others)) = left.split_first_mut() {
        *next = digits;
        left = others;
        digits = match digits {
            [hundreds, b'9', b'9'] => [hundreds + 1, b'0', b'0'],
            [hundreds, tens, b'9'] => [hundreds, tens + 1, b'0'],
            [hundreds, tens, ones] => [hundreds, tens, ones + 1],
        };
    }
    all
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_integer_is_written_as_everywhere() {
        for number in (0..100_000).chain([super::super::figures::MOST, u64::MAX]) {
            assert_eq!(integer(number), number.to_string());
        }
    }
}
