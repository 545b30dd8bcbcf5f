use proptest::prelude::*;

use super::*;

impl PassedOn {
    fn in_text(&self) -> String {
        let (source, destination) = (self.source, self.destination);
        let family = if source.is_ipv4() { "TCP4" } else { "TCP6" };
        let (from, to) = (source.ip(), destination.ip());
        format!("PROXY {family} {from} {to} {} {}\r\n", source.port(), destination.port())
    }

    fn in_binary(&self, fields: &[u8]) -> Vec<u8> {
        let (family, mut block) = match (self.source.ip(), self.destination.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => (0x11, [from.octets(), to.octets()].concat()),
            (IpAddr::V6(from), IpAddr::V6(to)) => (0x21, [from.octets(), to.octets()].concat()),
            _ => panic!("two families"),
        };
        block.extend(self.source.port().to_be_bytes());
        block.extend(self.destination.port().to_be_bytes());
        block.extend(fields);
        in_binary(0x21, family, &block)
    }
}

fn in_binary(command: u8, family: u8, block: &[u8]) -> Vec<u8> {
    let length = u16::try_from(block.len()).unwrap().to_be_bytes();
    [&SIGNATURE[..], &[command, family], &length, block].concat()
}

fn field(kind: u8, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(value.len()).unwrap().to_be_bytes();
    [&[kind], &length[..], value].concat()
}

fn passed_on_by(bytes: &[u8]) -> Option<PassedOn> {
    match parse(bytes) {
        Ok(Parsed::Whole(header)) => header.passed_on,
        Ok(Parsed::Part(_)) | Err(_) => None,
    }
}

fn ends() -> impl Strategy<Value = PassedOn> {
    let v4 = any::<(Ipv4Addr, Ipv4Addr)>().prop_map(|(from, to)| (from.into(), to.into()));
    let v6 = any::<(Ipv6Addr, Ipv6Addr)>().prop_map(|(from, to)| (from.into(), to.into()));
    let addresses = prop_oneof![v4, v6];
    (addresses, any::<u16>(), any::<u16>()).prop_map(|((from, to), source, destination)| PassedOn {
        source: SocketAddr::new(from, source),
        destination: SocketAddr::new(to, destination),
    })
}

/// Bytes that get far into the grammar.
fn nearly() -> impl Strategy<Value = Vec<u8>> {
    let whole = (ends(), any::<bool>(), prop::collection::vec(any::<u8>(), 0..20));
    let whole = whole.prop_map(|(ends, text, fields)| match text {
        true => ends.in_text().into_bytes(),
        false => ends.in_binary(&fields),
    });
    (whole, any::<prop::sample::Index>(), any::<u8>(), any::<prop::sample::Index>()).prop_map(
        |(mut bytes, at, byte, end)| {
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes.truncate(end.index(bytes.len()) + 1);
            bytes
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read(ends in ends(), behind: Vec<u8>) {
        for header in [ends.in_text().into_bytes(), ends.in_binary(&field(0x04, b"pad"))] {
            let expected = Header { passed_on: Some(ends), length: header.len() };
            let bytes = [&header[..], &behind].concat();
            prop_assert_eq!(parse(&bytes), Ok(Parsed::Whole(expected)));
            for end in 0..header.len() {
                let parsed = parse(&header[..end]);
                let Ok(Parsed::Part(missing)) = parsed else { panic!("{end} bytes: {parsed:?}") };
                prop_assert!(missing > 0 && end + missing <= header.len(), "{}: {}", end, missing);
            }
        }
    }

    #[test]
    fn nothing_panics_and_what_is_read_was_written_so(
        bytes in prop_oneof![nearly(), any::<Vec<u8>>()]
    ) {
        let Ok(Parsed::Whole(Header { passed_on, length })) = parse(&bytes) else {
            return Ok(());
        };
        let header = &bytes[..length];
        match passed_on {
            Some(ends) if header.starts_with(b"PROXY TCP4 ") => {
                prop_assert_eq!(String::from_utf8_lossy(header), ends.in_text());
            }
            // An address of IPv6 may be written in more than one way.
            Some(ends) if header.starts_with(b"PROXY ") => {
                prop_assert_eq!(passed_on_by(ends.in_text().as_bytes()), passed_on);
            }
            Some(ends) => {
                let block = if ends.source.is_ipv4() { 12 } else { 36 };
                prop_assert_eq!(header, ends.in_binary(&header[FIXED + block..]));
            }
            None => prop_assert!(header.starts_with(b"PROXY UNKNOWN") || header[12] >> 4 == 2),
        }
    }

    #[test]
    fn a_checksum_holds_for_the_whole_header(ends in ends(), at: prop::sample::Index, bit in 0..8_u32) {
        let mut fields = [field(0x02, b"shop.test"), field(CRC32C, &[0; 4]), field(0x04, b"x")];
        let sum = checksum::crc32c(&[&ends.in_binary(&fields.concat())]);
        fields[1] = field(CRC32C, &sum.to_be_bytes());
        let mut header = ends.in_binary(&fields.concat());
        prop_assert_eq!(passed_on_by(&header), Some(ends));
        let at = at.index(header.len());
        header[at] ^= 1_u8 << bit;
        let misread = passed_on_by(&header);
        // Only where the type of the checksum itself is spoilt is there none left to hold.
        let of_type = FIXED + if ends.source.is_ipv4() { 12 } else { 36 } + 3 + 9;
        prop_assert!(misread.is_none() || at == of_type, "a bit of byte {} goes unnoticed", at);
    }
}

#[test]
fn the_checksum_is_crc32c() {
    assert_eq!(checksum::crc32c(&[b"1234", b"56789"]), 0xe306_9283);
}

#[test]
fn who_speaks_for_itself_or_does_not_know_is_the_peer() {
    let unix = in_binary(0x21, 0x31, &[b'/'; 216]);
    let headers = [
        b"PROXY UNKNOWN\r\n".to_vec(),
        b"PROXY UNKNOWN 1.2.3.4 whatever it says\r\n".to_vec(),
        b"PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n".to_vec(),
        in_binary(0x20, 0x00, b""),
        in_binary(0x20, 0x11, b"short"),
        in_binary(0x20, 0xff, &[7; 300]),
        in_binary(0x21, 0x00, b""),
        in_binary(0x21, 0x00, &field(0x05, b"id")),
        unix,
    ];
    for header in headers {
        let expected = Header { passed_on: None, length: header.len() };
        assert_eq!(
            parse(&[&header[..], b"GET"].concat()),
            Ok(Parsed::Whole(expected)),
            "{header:?}"
        );
    }
}

#[test]
fn what_is_not_to_the_letter_is_malformed() {
    let long = format!("PROXY UNKNOWN {}\r\n", "x".repeat(92));
    let texts = [
        "GET / HTTP/1.1\r\n",
        "proxy TCP4 1.2.3.4 5.6.7.8 1 2\r\n",
        "PROXY  TCP4 1.2.3.4 5.6.7.8 1 2\r\n",
        "PROXY TCP4  1.2.3.4 5.6.7.8 1 2\r\n",
        "PROXY TCP4 1.2.3.4 5.6.7.8 1 2 \r\n",
        "PROXY TCP4 1.2.3.4 5.6.7.8 1 2 3\r\n",
        "PROXY TCP4 1.2.3.4 5.6.7.8 1\r\n",
        "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\n",
        "PROXY TCP4\t1.2.3.4 5.6.7.8 1 2\r\n",
        "PROXY TCP4 01.2.3.4 5.6.7.8 1 2\r\n",
        "PROXY TCP4 1.2.3.256 5.6.7.8 1 2\r\n",
        "PROXY TCP4 1.2.3.4 5.6.7.8 01 2\r\n",
        "PROXY TCP4 1.2.3.4 5.6.7.8 +1 2\r\n",
        "PROXY TCP4 1.2.3.4 5.6.7.8 1 65536\r\n",
        "PROXY TCP4 1.2.3.4 5.6.7.8 00 2\r\n",
        "PROXY TCP4 ::1 ::2 1 2\r\n",
        "PROXY TCP6 1.2.3.4 5.6.7.8 1 2\r\n",
        "PROXY TCP6 fe80::1%eth0 ::2 1 2\r\n",
        "PROXY TCP6 [::1] ::2 1 2\r\n",
        "PROXY UDP4 1.2.3.4 5.6.7.8 1 2\r\n",
        "PROXY UNKNOWNS\r\n",
        "PROXY UNKNOWN\n",
        "PROXY \r\n",
        &long,
        "\r\n\r\n\0\r\nQUIT\r",
    ];
    for text in texts {
        assert!(parse(text.as_bytes()).is_err(), "{text:?} is read");
    }
    let binaries = [
        in_binary(0x11, 0x11, &[0; 12]),
        in_binary(0x22, 0x11, &[0; 12]),
        in_binary(0x31, 0x11, &[0; 12]),
        in_binary(0x21, 0x12, &[0; 12]),
        in_binary(0x21, 0x10, &[0; 12]),
        in_binary(0x21, 0x41, &[0; 12]),
        in_binary(0x21, 0x11, &[0; 11]),
        in_binary(0x21, 0x21, &[0; 35]),
        in_binary(0x21, 0x31, &[0; 215]),
        in_binary(0x21, 0x11, &[&[0; 12][..], &[3, 0]].concat()),
        in_binary(0x21, 0x11, &[&[0; 12][..], &[4, 0, 1]].concat()),
        in_binary(0x21, 0x11, &[&[0; 12][..], &field(CRC32C, &[0; 3])].concat()),
        in_binary(0x21, 0x11, &[&[0; 12][..], &field(CRC32C, &[0; 4])].concat()),
        in_binary(0x21, 0x00, &field(CRC32C, &[0; 4])),
    ];
    for header in binaries {
        assert!(parse(&header).is_err(), "{header:?} is read");
    }
}

#[test]
fn nobody_is_waited_for_who_cannot_send_a_header_any_more() {
    assert!(parse(b"G").is_err());
    assert!(parse(b"PROXI").is_err());
    assert!(parse(&[&SIGNATURE[..], b"\x31"].concat()).is_err());
    assert!(parse(&[&b"PROXY "[..], &[b'x'; 101]].concat()).is_err());
    assert_eq!(parse(&[&b"PROXY "[..], &[b'x'; 100]].concat()), Ok(Parsed::Part(2)));
    assert_eq!(parse(b""), Ok(Parsed::Part(15)));
}
