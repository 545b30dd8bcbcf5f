use super::*;

/// What a key says, read back.
#[derive(Debug, PartialEq, Eq)]
enum Read {
    Parts(Vec<(u8, Vec<u8>)>),
    Hash([u8; 32]),
}

fn decode(mut key: &[u8]) -> Read {
    if let [HASHED, hash @ ..] = key {
        return Read::Hash(hash.try_into().unwrap());
    }
    let mut parts = Vec::new();
    while let [kind, rest @ ..] = key {
        let (mut length, mut shift, mut at) = (0, 0, 0);
        loop {
            let byte = rest[at];
            (length, shift, at) = (length | usize::from(byte & 0x7f) << shift, shift + 7, at + 1);
            if byte < 0x80 {
                break;
            }
        }
        parts.push((*kind, rest[at..at + length].to_vec()));
        key = &rest[at + length..];
    }
    Read::Parts(parts)
}

fn encode(parts: &[(KeyPart, &[u8])]) -> Vec<u8> {
    let mut bytes = KeyBytes::new();
    let mut buffer = KeyBuffer::new(&mut bytes);
    for (part, value) in parts {
        buffer.part(part, false, value);
    }
    let Encoded::Bytes(range) = buffer.finish() else { panic!("a key of bytes") };
    assert_eq!(range, 0..bytes.len());
    bytes.to_vec()
}

/// A seeded generator, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % most
    }

    /// The characters with which keys run together elsewhere.
    fn text(&mut self, length: usize) -> Vec<u8> {
        const ALPHABET: &[u8] = b"_:/{}|\\%\0\r\n\xff";
        (0..length).map(|_| ALPHABET[self.below(ALPHABET.len())]).collect()
    }
}

#[test]
fn of_a_million_pairs_of_tuples_only_equal_ones_are_equal_keys_b170() {
    let mut random = Random(7);
    let mut equal = 0;
    for _ in 0..1_000_000 {
        // One text cut in two ways: what every join by a delimiter confuses.
        let length = random.below(9);
        let text = random.text(length);
        let mut tuple = || {
            let (a, b) = (random.below(length + 1), random.below(length + 1));
            let (first, rest) = text.split_at(a.min(b));
            let (second, third) = rest.split_at(a.max(b) - a.min(b));
            [(KeyPart::User, first), (KeyPart::Path, second), (KeyPart::Host, third)]
        };
        let (one, two) = (tuple(), tuple());
        assert_eq!(one == two, encode(&one) == encode(&two), "{one:?} {two:?}");
        equal += u32::from(one == two);
    }
    assert!(equal > 10_000, "{equal} equal pairs");
}

#[test]
fn a_key_reads_back_as_its_parts_until_it_is_hashed() {
    let mut random = Random(11);
    for _ in 0..20_000 {
        let count = 1 + random.below(8);
        let text = |_| {
            let length = random.below(60);
            random.text(length)
        };
        let texts: Vec<_> = (0..count).map(text).collect();
        let parts: Vec<_> = texts.iter().map(|text| (KeyPart::Path, &text[..])).collect();
        let key = encode(&parts);
        let whole: usize = texts.iter().map(|text| text.len() + 2).sum();
        match decode(&key) {
            Read::Parts(read) => {
                let expected: Vec<_> = texts.iter().map(|text| (4, text.clone())).collect();
                assert_eq!(read, expected);
                assert!(whole <= MOST);
            }
            Read::Hash(_) => assert!(whole > MOST),
        }
        assert!(key.len() <= MOST);
    }
}

#[test]
fn the_hash_is_that_of_the_whole_tuple_however_it_was_fed() {
    let long = vec![b'x'; 300];
    let mut whole = vec![2, 3, b'a', b'b', b'c', 6, 0xac, 0x02];
    whole.extend_from_slice(&long);
    let key = encode(&[(KeyPart::User, b"abc"), (KeyPart::Host, &long)]);
    assert_eq!(key[0], HASHED);
    assert_eq!(key[1..], Sha256::digest(&whole)[..]);
}

#[test]
fn an_abandoned_key_leaves_its_neighbours_alone() {
    let mut bytes = KeyBytes::from_slice(b"before");
    let mut buffer = KeyBuffer::new(&mut bytes);
    buffer.part(&KeyPart::User, false, &[b'x'; 500]);
    buffer.abandon();
    assert_eq!(&bytes[..], b"before");
}
