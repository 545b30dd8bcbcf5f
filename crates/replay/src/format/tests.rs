use tollgate_core::{Span, Tick};
use tollgate_policy::KeyPart;

use super::*;
use crate::entry::{Client, Line};

/// Reads a line of a format that knows it; tells what was expected if it does not.
#[track_caller]
fn read(format: Format, line: &[u8], look: impl FnOnce(&Entry<'_>)) {
    read_wanted(format, &Fields::default(), &[], line, look);
}

#[track_caller]
fn read_wanted(
    format: Format,
    fields: &Fields,
    wanted: &[KeyPart],
    line: &[u8],
    look: impl FnOnce(&Entry<'_>),
) {
    let mut parser = Parser::new(format, fields, wanted);
    match parser.parse(line) {
        Ok(entry) => look(&entry),
        Err(error) => panic!("{}: {error}", String::from_utf8_lossy(line)),
    }
}

#[track_caller]
fn expected(format: Format, line: &[u8]) -> &'static str {
    let mut parser = Parser::new(format, &Fields::default(), &[]);
    parser.parse(line).expect_err("the line cannot be read").expected
}

fn address(text: &str) -> Client<'_> {
    Client::Address(text.parse().unwrap())
}

fn asked<'l>(method: &'l str, target: &'l str) -> Line<'l> {
    Line::Asked { method, target: target.as_bytes() }
}

fn at(seconds: u64) -> Tick {
    Tick::EPOCH.after(Span::from_secs(seconds))
}

const NOON: &str = "[17/May/2015:12:00:00 +0200]";
/// date -u -d '2015-05-17 12:00:00 +0200' +%s
const NOON_AT: u64 = 1_431_856_800;

#[test]
fn a_combined_line_is_read_field_by_field() {
    let line = format!(
        r#"192.0.2.7 - ann {NOON} "GET /a?b=c HTTP/1.1" 404 1234 "https://x/" "Firefox/1" 0.250"#
    );
    read(Format::Combined, line.as_bytes(), |entry| {
        assert_eq!(entry.at, at(NOON_AT));
        assert_eq!((entry.client, entry.user), (address("192.0.2.7"), Some(&b"ann"[..])));
        assert_eq!(entry.request, asked("GET", "/a?b=c"));
        assert_eq!((entry.status, entry.bytes), (Some(404), Some(1_234)));
        assert_eq!(entry.referer, Some(&b"https://x/"[..]));
        assert_eq!(entry.agent, Some(&b"Firefox/1"[..]));
        assert_eq!(entry.took, Some(Span::from_millis(250)));
    });
}

#[test]
fn what_is_absent_is_a_hyphen() {
    let line = format!(r#"- - - {NOON} "GET / HTTP/1.1" - - "-" "-""#);
    read(Format::Combined, line.as_bytes(), |entry| {
        assert_eq!((entry.client, entry.user), (Client::Absent, None));
        assert_eq!((entry.status, entry.bytes), (None, None));
        assert_eq!((entry.referer, entry.agent, entry.took), (None, None, None));
    });
}

#[test]
fn a_user_may_have_blanks_and_brackets_in_his_name() {
    for user in ["ann lee", "ann [at work] lee", "a [17/May", "DOMAIN\\\\ann"] {
        let line = format!(r#"2001:db8::7 - {user} {NOON} "GET / HTTP/1.1" 200 1"#);
        read(Format::Common, line.as_bytes(), |entry| {
            assert_eq!(entry.client, address("2001:db8::7"));
            let plain = user.replace("\\\\", "\\");
            assert_eq!(entry.user, Some(plain.as_bytes()), "{user}");
            assert_eq!(entry.at, at(NOON_AT));
        });
    }
}

#[test]
fn escapes_are_undone() {
    let line =
        format!(r#"192.0.2.7 - - {NOON} "GET /a\"b HTTP/1.1" 200 1 "x\\" "say \"hi\" \x41\x4a\t""#);
    read(Format::Combined, line.as_bytes(), |entry| {
        assert_eq!(entry.request, asked("GET", "/a\"b"));
        assert_eq!(entry.referer, Some(&b"x\\"[..]));
        assert_eq!(entry.agent, Some(&b"say \"hi\" AJ\t"[..]));
    });
}

#[test]
fn what_is_no_http_is_an_entry_all_the_same() {
    for request in [r"\x16\x03\x01\x02\x00\x01", "-", "", "hello there"] {
        let line = format!(r#"192.0.2.7 - - {NOON} "{request}" 400 226 "-" "-""#);
        read(Format::Combined, line.as_bytes(), |entry| {
            assert!(matches!(entry.request, Line::Garbled(_)), "{request}");
            assert_eq!(entry.status, Some(400));
        });
    }
    let old = format!(r#"192.0.2.7 - - {NOON} "GET /old" 200 1"#);
    read(Format::Common, old.as_bytes(), |entry| assert_eq!(entry.request, asked("GET", "/old")));
}

#[test]
fn a_virtual_host_may_stand_before_the_client() {
    let line = format!(r#"example.com:443 192.0.2.7 - - {NOON} "GET / HTTP/1.1" 200 1 "-" "x""#);
    let recognised = Format::recognise([line.as_bytes()], &Fields::default(), &[]);
    assert_eq!(recognised.map(|(format, _)| format), Some(Format::HostCombined));
    read(Format::HostCombined, line.as_bytes(), |entry| {
        assert_eq!(
            (entry.host, entry.client),
            (Some(&b"example.com:443"[..]), address("192.0.2.7"))
        );
    });
}

#[test]
fn binary_junk_is_told_by_what_was_expected() {
    for line in [&b""[..], b"\0\xff\xfe\0", b"]]]]", b"{\"a\":", b"\"\"\"\"", &[0x1f; 5_000]] {
        for format in Format::ALL {
            assert!(!expected(format, line).is_empty());
        }
    }
    let cut = format!(r#"192.0.2.7 - - {NOON} "GET / HTTP/1.1" 200 1 "-" "Mozilla"#);
    assert_eq!(expected(Format::Combined, cut.as_bytes()), "a user agent between quotes");
    let leap = r#"192.0.2.7 - - [29/Feb/2023:12:00:00 +0000] "GET / HTTP/1.1" 200 1"#;
    assert!(expected(Format::Common, leap.as_bytes()).contains("a time in brackets"));
}

const NGINX: &str = r#"{"time_iso8601":"2015-05-17T12:00:00+02:00","remote_addr":"192.0.2.7","remote_user":"","request":"POST /a?b HTTP/1.1","status":"201","body_bytes_sent":"7","request_time":"0.010","http_referer":"","http_user_agent":"x \"y\"","http_host":"Example.com","http_x_api_key":"k1"}"#;
const CADDY: &str = r#"{"level":"info","ts":1431856800.5,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"10.0.0.1","remote_port":"1","client_ip":"192.0.2.7","proto":"HTTP/2.0","method":"POST","host":"example.com","uri":"/a?b","headers":{"User-Agent":["x"],"X-Api-Key":["k1","k2"],"Accept":["*/*"]}},"bytes_read":3,"user_id":"ann","duration":0.01,"size":7,"status":201,"resp_headers":{"Server":["Caddy"]}}"#;
const TRAEFIK: &str = r#"{"ClientAddr":"192.0.2.7:1","ClientHost":"192.0.2.7","ClientUsername":"-","DownstreamContentSize":7,"DownstreamStatus":201,"Duration":10000000,"RequestContentSize":3,"RequestHost":"example.com","RequestMethod":"POST","RequestPath":"/a?b","StartUTC":"2015-05-17T10:00:00.5Z","request_User-Agent":"x","request_X-Api-Key":"k1","level":"info","msg":"","time":"2015-05-17T10:00:01Z"}"#;
const ENVOY: &str = r#"{"authority":"example.com","bytes_received":3,"bytes_sent":7,"downstream_remote_address":"192.0.2.7:1","duration":10,"method":"POST","path":"/a?b","protocol":"HTTP/1.1","response_code":201,"response_flags":"-","start_time":"2015-05-17T10:00:00.5Z","user_agent":"x","x_api_key":"k1","upstream_host":null}"#;

#[test]
fn envoy_gateways_own_names_are_those_of_envoy() {
    let line = br#"{":authority":"example.com","bytes_received":3,"bytes_sent":7,"connection_termination_details":null,"downstream_remote_address":"[2001:db8::7]:34805","duration":10,"method":"GET","protocol":"HTTP/1.1","response_code":200,"response_flags":"-","start_time":"2015-05-17T10:00:00.5Z","upstream_host":null,"user-agent":"x","x-envoy-origin-path":"/a?b","x-forwarded-for":"192.0.2.9"}"#;
    let (format, known) = Format::recognise([&line[..]], &Fields::default(), &[]).unwrap();
    assert_eq!(format, Format::Envoy);
    assert!(known.contains(&Field::Agent));
    read(format, line, |entry| {
        assert_eq!(entry.client, address("2001:db8::7"));
        assert_eq!(entry.request, asked("GET", "/a?b"));
        assert_eq!((entry.host, entry.agent), (Some(&b"example.com"[..]), Some(&b"x"[..])));
    });
}

#[test]
fn json_of_each_server_is_recognised_and_read() {
    let key = [KeyPart::Header("x-api-key".into())];
    for (format, line) in [
        (Format::Json, NGINX),
        (Format::Caddy, CADDY),
        (Format::Traefik, TRAEFIK),
        (Format::Envoy, ENVOY),
    ] {
        let line = line.as_bytes();
        let (recognised, known) = Format::recognise([line], &Fields::default(), &key).unwrap();
        assert_eq!(recognised, format);
        assert!(known.contains(&Field::Part(key[0].clone())) && known.contains(&Field::Host));
        read_wanted(format, &Fields::default(), &key, line, |entry| {
            let half = if format == Format::Json { 0 } else { 500_000 };
            assert_eq!(entry.at, at(NOON_AT).after(Span::from_micros(half)), "{format}");
            assert_eq!(entry.client, address("192.0.2.7"), "{format}");
            assert_eq!(entry.request, asked("POST", "/a?b"), "{format}");
            assert_eq!((entry.status, entry.bytes), (Some(201), Some(7)), "{format}");
            assert_eq!(entry.took, Some(Span::from_millis(10)), "{format}");
            let user = (format == Format::Caddy).then_some(&b"ann"[..]);
            assert_eq!(entry.user, user, "{format}");
            let keys: Vec<_> = entry.others.iter().map(|(nth, value)| (*nth, *value)).collect();
            let expected: &[(u16, &[u8])] = match format {
                Format::Caddy => &[(0, b"k1"), (0, b"k2")],
                _ => &[(0, b"k1")],
            };
            assert_eq!(keys, expected, "{format}");
        });
    }
}

#[test]
fn fields_of_ones_own_go_before_those_that_are_known() {
    let line = br#"{"at":1431856800,"remote_addr":"10.0.0.1","http":{"peer":"192.0.2.7","to":"/x"},"a.b":"k"}"#;
    let fields = ["time=at", "client=http.peer", "path=http.to", "header:x-key=a.b"];
    let fields = fields.iter().try_fold(Fields::default(), |all, field| all.with(field)).unwrap();
    let wanted = [KeyPart::Header("x-key".into())];
    read_wanted(Format::Json, &fields, &wanted, line, |entry| {
        assert_eq!((entry.at, entry.client), (at(NOON_AT), address("192.0.2.7")));
        assert_eq!(entry.request, asked("GET", "/x"));
        assert_eq!(entry.others[..], [(0, &b"k"[..])]);
    });
    for wrong in ["client", "client=", "nobody=x", "query:a=b", "header:=x"] {
        let error = Fields::default().with(wrong).unwrap_err().to_string();
        assert!(error.contains("names no field; expected FIELD=NAME"), "{error}");
    }
}

#[test]
fn json_that_tells_no_request_says_so() {
    assert!(expected(Format::Json, br#"{"ts":1}"#).contains("the request"));
    assert!(expected(Format::Caddy, br#"{"msg":"started"}"#).contains("the time"));
    assert_eq!(expected(Format::Json, b"[1]"), "one JSON object");
}

#[test]
fn names_of_formats_are_read_back() {
    for format in Format::ALL {
        assert_eq!(format.name().parse::<Format>().unwrap(), format);
        assert!(Format::EXPECTED.contains(&format!("`{}`", format.name())));
    }
    assert!("apache".parse::<Format>().unwrap_err().to_string().contains("expected `common`"));
}

/// What a server has written, and what people have done to it.
fn mutated() -> impl Iterator<Item = (Format, Vec<u8>)> {
    let combined = format!(r#"192.0.2.7 - a b {NOON} "GET /a\"b HTTP/1.1" 200 5 "-" "x\\y" 0.100"#);
    let lines = [
        (Format::Combined, combined.as_str()),
        (Format::Json, NGINX),
        (Format::Caddy, CADDY),
        (Format::Traefik, TRAEFIK),
        (Format::Envoy, ENVOY),
    ];
    lines.map(|(format, line)| (format, line.as_bytes().to_vec())).into_iter().flat_map(
        |(format, line)| {
            (0..line.len()).flat_map(move |place| {
                let line = line.clone();
                let put = move |byte| {
                    let mut other = line.clone();
                    match byte {
                        None => other.truncate(place),
                        Some(byte) => other[place] = byte,
                    }
                    (format, other)
                };
                [None, Some(b'"'), Some(b'\\'), Some(b' '), Some(0xff), Some(b'[')].map(put)
            })
        },
    )
}

#[test]
fn no_line_makes_a_reader_panic() {
    for (format, line) in mutated() {
        let mut parser = Parser::new(format, &Fields::default(), &[]);
        if let Ok(entry) = parser.parse(&line) {
            let _ = format!("{entry:?}");
        }
    }
}
