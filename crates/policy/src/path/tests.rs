use proptest::prelude::*;

use super::*;

fn sent_on(target: &str) -> String {
    RequestPath::parse(target.as_bytes()).expect(target).as_str().to_owned()
}

fn matched(target: &str, case: Case) -> String {
    RequestPath::parse(target.as_bytes()).expect(target).matched(case).into_owned()
}

fn fault(target: &[u8]) -> Reason {
    RequestPath::parse(target).expect_err("a refusal").reason
}

#[test]
fn b173_every_spelling_of_login_is_one_path() {
    let spellings =
        ["/login", "/login/", "//login", "/./login", "/%6Cogin", "/login?x=1", "/login;v=1"];
    for spelling in spellings {
        assert_eq!(matched(spelling, Case::Kept), "/login", "{spelling}");
    }
    assert_eq!(matched("/LOGIN", Case::Kept), "/LOGIN");
    assert_eq!(matched("/LOGIN", Case::Folded), "/login");
    assert_eq!(matched("/%4cogin/", Case::Folded), "/login");
}

#[test]
fn what_is_sent_on_is_normal() {
    let pairs = [
        ("/", "/"),
        ("//", "/"),
        ("/.", "/"),
        ("/a/.", "/a/"),
        ("/a/..", "/"),
        ("/a/b/..", "/a/"),
        ("/a/b/../", "/a/"),
        ("/a//../b", "/b"),
        ("/a/../b", "/b"),
        ("/a/%2e%2E/b", "/b"),
        ("/a/.%2e/b", "/b"),
        ("/%2e/b", "/b"),
        ("/a\\b\\..\\c", "/a/c"),
        ("/\\evil", "/evil"),
        ("/...", "/..."),
        ("/.a/..b", "/.a/..b"),
        ("/%61%2D%7e%5f", "/a-~_"),
        ("/%3a%40%21", "/%3A%40%21"),
        ("/a;v=1/b;", "/a;v=1/b;"),
        ("/%252e%252e/a", "/%252e%252e/a"),
        ("/caf\u{e9}", "/caf%C3%A9"),
        ("/caf%c3%a9", "/caf%C3%A9"),
        ("/\u{1F600}%f0%9f%98%80", "/%F0%9F%98%80%F0%9F%98%80"),
        ("/{id}|\"[0]", "/%7Bid%7D%7C%22%5B0%5D"),
        ("/a?b//../%zz%2f?c", "/a"),
    ];
    for (spelled, normal) in pairs {
        assert_eq!(sent_on(spelled), normal, "{spelled}");
    }
}

#[test]
fn what_servers_disagree_on_is_refused() {
    let pairs: [(&[u8], Reason); 30] = [
        (b"", Reason::NotRooted),
        (b"login", Reason::NotRooted),
        (b"\\login", Reason::NotRooted),
        (b"?a", Reason::NotRooted),
        (b"http://host/", Reason::NotRooted),
        (b"*", Reason::Asterisk),
        (b"**", Reason::NotRooted),
        (b"/a\0", Reason::Control),
        (b"/a%00", Reason::Control),
        (b"/a%0a", Reason::Control),
        (b"/a%7F", Reason::Control),
        (b"/a\x7f", Reason::Control),
        (b"/a\r\n", Reason::Control),
        (b"/a b", Reason::Space),
        (b"/a#b", Reason::Fragment),
        (b"/a?b#c", Reason::Fragment),
        (b"/a?b c", Reason::Space),
        (b"/a?b\n", Reason::Control),
        (b"/a%2fb", Reason::EscapedSlash),
        (b"/a%2F..%2Fb", Reason::EscapedSlash),
        (b"/a%5cb", Reason::EscapedSlash),
        (b"/a%", Reason::Escape),
        (b"/a%4", Reason::Escape),
        (b"/a%+4", Reason::Escape),
        (b"/a%c0%ae", Reason::Encoding),
        (b"/a%ff", Reason::Encoding),
        (b"/a%C3", Reason::Encoding),
        (b"/a\xc3%A9", Reason::Encoding),
        (b"/..", Reason::AboveRoot),
        (b"/a/../%2e%2e/b", Reason::AboveRoot),
    ];
    for (target, reason) in pairs {
        assert_eq!(fault(target), reason, "{}", target.escape_ascii());
    }
    for target in ["/a/..;/b", "/..;x", "/.;/b", "/a/%2e%2e;x/b"] {
        assert_eq!(fault(target.as_bytes()), Reason::DotParameters, "{target}");
    }
    for overlong in ["%c0%af", "%e0%80%af", "%f0%80%80%af", "%ed%a0%80", "%f4%90%80%80", "%80"] {
        assert_eq!(fault(format!("/{overlong}").as_bytes()), Reason::Encoding, "{overlong}");
    }
}

#[test]
fn a_refusal_says_what_and_where_and_repeats_nothing() {
    let error = RequestPath::parse(b"/secret/%2Fx").unwrap_err();
    assert_eq!(error.at(), 8);
    assert_eq!(
        error.to_string(),
        "expected no escaped slash or backslash, which servers read differently, \
         at byte 8 of the request target"
    );
    assert_eq!(RequestPath::parse(b"/a/b/../../../c").unwrap_err().at(), 11);
    assert_eq!(RequestPath::parse(b"/a?b=#").unwrap_err().at(), 5);
    assert!(RequestPath::parse(b"*").unwrap_err().is_asterisk());
    assert!(!error.is_asterisk());
}

#[test]
fn the_query_stays_as_it_came() {
    let ask = |target| RequestPath::parse(target).unwrap();
    assert_eq!(ask(b"/a").query(), None);
    assert_eq!(ask(b"/a?").query(), Some(""));
    assert_eq!(ask(b"/a?").target(), "/a?");
    assert_eq!(ask(b"//a?x=%2f&y=%zz?/../").query(), Some("x=%2f&y=%zz?/../"));
    assert_eq!(ask(b"//a?x=%2f&y=%zz?/../").target(), "/a?x=%2f&y=%zz?/../");
    assert_eq!(ask(b"//a").target(), "/a");
    assert_eq!(ask(b"/a/..?x").target(), "/?x");
}

#[test]
fn a_normal_path_is_borrowed_and_verbatim() {
    for normal in ["/", "/a", "/a/", "/a/b;c=1/..d", "/caf%C3%A9/%20%25", "/a?b//c"] {
        let path = RequestPath::parse(normal.as_bytes()).unwrap();
        assert!(path.is_verbatim(), "{normal}");
        assert!(matches!(path.normal, Cow::Borrowed(_)), "{normal}");
        assert!(matches!(path.target(), Cow::Borrowed(all) if all == normal), "{normal}");
    }
    for other in ["//a", "/a/.", "/a/b/..", "/%61", "/%c3%a9", "/a\\", "/a/../a", "/a\\?b"] {
        assert!(!RequestPath::parse(other.as_bytes()).unwrap().is_verbatim(), "{other}");
    }
    // A dropped tail or a slash at the end costs no allocation either.
    let path = RequestPath::parse(b"/a/b/..").unwrap();
    assert!(matches!(path.normal, Cow::Borrowed("/a/")));
    assert!(matches!(path.matched(Case::Folded), Cow::Borrowed("/a")));
}

#[test]
fn the_matched_form_sheds_what_routers_shed() {
    let pairs = [
        ("/", "/"),
        ("/;x", "/"),
        ("/;x/a;/;;/b;y=;z/", "/a/b"),
        ("/a%3Bx", "/a%3Bx"),
        ("/a%21%24%26%27%28%29%2a%2b%2c%3d%3a%40", "/a!$&'()*+,=:@"),
        ("/a%20%25%3F%23", "/a%20%25%3F%23"),
        ("/a%253B", "/a%253B"),
    ];
    for (spelled, expected) in pairs {
        assert_eq!(matched(spelled, Case::Kept), expected, "{spelled}");
    }
}

#[test]
fn folding_makes_the_forms_of_a_letter_one() {
    let same = [("/\u{c4}", "/%c3%a4"), ("/\u{3a3}", "/\u{3c2}"), ("/\u{3c3}", "/\u{3c2}")];
    for (one, other) in same {
        assert_eq!(matched(one, Case::Folded), matched(other, Case::Folded), "{one} {other}");
        assert_ne!(matched(one, Case::Kept), matched(other, Case::Kept), "{one} {other}");
    }
}

#[test]
fn folding_any_character_twice_changes_nothing() {
    let folds = |c: &char| !c.to_lowercase().eq([*c]) || !c.to_uppercase().eq([*c]);
    for character in (char::MIN..=char::MAX).filter(folds) {
        let once = matched(&format!("/{character}"), Case::Folded);
        assert_eq!(matched(&once, Case::Folded), once, "{character:?}");
    }
}

/// The segments of one URL, and every way below to write them down.
const SEGMENTS: [&str; 4] = ["api", "v1.0", "caf\u{e9}!", "log_in~"];
const ITS_MATCHED_FORM: &str = "/api/v1.0/caf%C3%A9!/log_in~";

fn a_spelling() -> impl Strategy<Value = String> {
    let segments = SEGMENTS.map(|segment| (between(), a_segment(segment), parameters()));
    let end = prop::sample::select(vec!["", "/", "//", "/.", "/%2e", "\\", "/x/..", "/;x", "/./"]);
    let query = prop::sample::select(vec!["", "?", "?x=1", "?a=%2f/../b", "?y;z/"]);
    (Vec::from(segments), end, query).prop_map(|(segments, end, query)| {
        let path: String =
            segments.into_iter().map(|(between, name, more)| between + &name + more).collect();
        // What comes first must be a real slash.
        format!("/{}{end}{query}", path.trim_start_matches(['/', '\\']))
    })
}

fn between() -> impl Strategy<Value = String> {
    let detours =
        ["/", "\\", "/./", "/%2e/", "/%2E\\", "/x/../", "/x/y/.%2e\\%2e./", "/;p/", "/z;p/../"];
    prop::collection::vec(prop::sample::select(detours.to_vec()), 1..4)
        .prop_map(|parts| parts.concat())
}

fn a_segment(segment: &'static str) -> impl Strategy<Value = String> {
    prop::collection::vec(0..4u8, segment.chars().count()).prop_map(move |ways| {
        segment.chars().zip(ways).map(|(character, way)| spell(character, way)).collect()
    })
}

fn spell(character: char, way: u8) -> String {
    let escapes = |write: fn(u8) -> String| {
        character.encode_utf8(&mut [0; 4]).bytes().map(write).collect::<String>()
    };
    match way {
        0 => escapes(|byte| format!("%{byte:02X}")),
        1 => escapes(|byte| format!("%{byte:02x}")),
        _ => character.to_string(),
    }
}

fn parameters() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", "", ";", ";x", ";v=1;w=%3b", ";%C3%A9", ";..", ";a=b,c"])
}

const HOSTILE: [&str; 9] = ["%2f", "%2F", "%5C", "%00", "%c0%ae", "\0", "#", "%0d", "%"];

/// What matters to a path, with spaces between.
const PIECES: &[u8] =
    b"/ / \\ . .. ; ? # % a Z %2e %41 %7E %2F %5c %00 %0A %c3%a9 %C3 \xc3\xa9 \xff \
    %3b %25 %3D %21 %C4%B0 \" * \x01";

fn a_target() -> impl Strategy<Value = Vec<u8>> {
    let pieces: Vec<&[u8]> = PIECES.split(u8::is_ascii_whitespace).collect();
    let of_pieces = prop::collection::vec(prop::sample::select(pieces), 0..16)
        .prop_map(|pieces| [b"/", pieces.concat().as_slice()].concat());
    prop_oneof![prop::collection::vec(any::<u8>(), 0..40), of_pieces]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_thousand_spellings_of_one_url_are_one_path(spelling in a_spelling()) {
        let path = RequestPath::parse(spelling.as_bytes()).expect("a valid spelling");
        prop_assert_eq!(path.matched(Case::Kept), ITS_MATCHED_FORM);
        // What is sent on must mean the same to whoever reads it next.
        prop_assert_eq!(matched(path.as_str(), Case::Kept), ITS_MATCHED_FORM);
    }

    #[test]
    fn a_hostile_spelling_is_refused_wherever_it_stands(
        spelling in a_spelling(),
        place in any::<prop::sample::Index>(),
        hostile in prop::sample::select(HOSTILE.to_vec()),
    ) {
        let path = spelling.split('?').next().unwrap_or_default();
        let slashes: Vec<usize> = path.match_indices('/').map(|(at, _)| at + 1).collect();
        let (before, after) = path.split_at(slashes[place.index(slashes.len())]);
        let target = format!("{before}{hostile}{after}");
        prop_assert!(RequestPath::parse(target.as_bytes()).is_err(), "{}", target);
    }

    #[test]
    fn the_forms_are_normal_and_stable(target in a_target()) {
        let Ok(path) = RequestPath::parse(&target) else { return Ok(()) };
        let sent_on = path.as_str();
        assert_normal(sent_on)?;

        let again = RequestPath::parse(sent_on.as_bytes()).expect("a normal path is accepted");
        prop_assert_eq!(again.as_str(), sent_on);
        prop_assert!(again.is_verbatim());
        prop_assert_eq!(path.is_verbatim(), target.starts_with(sent_on.as_bytes())
            && target.get(sent_on.len()).is_none_or(|&byte| byte == b'?'));

        let whole = path.target();
        let whole = RequestPath::parse(whole.as_bytes()).expect("so is its target");
        prop_assert_eq!((whole.as_str(), whole.query()), (sent_on, path.query()));

        for case in [Case::Kept, Case::Folded] {
            let matched = path.matched(case).into_owned();
            prop_assert_eq!(again.matched(case), matched.as_str());
            let once_more = RequestPath::parse(matched.as_bytes()).expect("so is a matched form");
            prop_assert!(once_more.is_verbatim());
            prop_assert_eq!(once_more.matched(case), matched.as_str());
        }
    }
}

fn assert_normal(path: &str) -> Result<(), TestCaseError> {
    prop_assert!(path.is_ascii() && path.starts_with('/'), "{}", path);
    for forbidden in ["//", "/./", "/../", "\\", "?", "#", " "] {
        prop_assert!(!path.contains(forbidden), "{} in {}", forbidden, path);
    }
    prop_assert!(!path.ends_with("/.") && !path.ends_with("/.."), "{}", path);
    for (at, _) in path.match_indices('%') {
        let digits = &path[at + 1..at + 3];
        let byte = u8::from_str_radix(digits, 16).expect("two hex digits");
        prop_assert_eq!(digits, format!("{byte:02X}"), "{}", path);
        prop_assert!(!(byte.is_ascii_alphanumeric() || b"-._~/\\\0".contains(&byte)), "{}", path);
    }
    Ok(())
}
