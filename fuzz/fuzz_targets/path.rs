//! Paths: one normal form, on which no two servers disagree, and a matched form that is a function of
//! it alone.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_policy::{Case, RequestPath};

fuzz_target!(|target: &[u8]| {
    let path = match RequestPath::parse(target) {
        Ok(path) => path,
        Err(error) => {
            assert!(error.to_string().contains("expected"), "{error}");
            assert!(error.at() <= target.len(), "{error}");
            return;
        }
    };
    let normal = path.as_str();
    assert_normal(normal);
    assert_eq!(parsed(normal).as_str(), normal, "normalising twice differs from once");
    assert_eq!(path.is_verbatim(), target == path.target().as_bytes());
    assert_eq!(parsed(&path.target()), parsed(parsed(&path.target()).target().as_ref()));
    let query = target.iter().position(|byte| *byte == b'?').map(|at| &target[at + 1..]);
    assert_eq!(path.query().map(str::as_bytes), query, "the query was touched");

    for case in [Case::Kept, Case::Folded] {
        let matched = path.matched(case);
        assert_normal(&matched);
        assert!(!matched.contains(';') && (matched.len() == 1 || !matched.ends_with('/')));
        assert_eq!(parsed(normal).matched(case), matched, "not a function of the normal form");
        assert_eq!(parsed(&matched).matched(case), matched, "matching twice differs from once");
        assert!(
            case == Case::Kept || !unescaped(&matched).contains(|c: char| c.is_ascii_uppercase())
        );
    }
    let kept = path.matched(Case::Kept);
    let folded = path.matched(Case::Folded);
    assert_eq!(parsed(&kept).matched(Case::Folded), folded, "folding is coarser than keeping");
});

fn parsed(target: &str) -> RequestPath<'_> {
    RequestPath::parse(target.as_bytes()).expect("a normal path is a path")
}

/// What may be sent on: plain ASCII, no empty or dot segments, nothing escaped that means a slash, a
/// control character or what needs no escape.
fn assert_normal(path: &str) {
    assert!(path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic()), "{path}");
    assert!(!path.contains("//") && !path.contains(['\\', '#', '?', '"', '<', '>']), "{path}");
    for segment in path.split('/') {
        let name = segment.split(';').next().unwrap_or_default();
        assert!(name != "." && name != "..", "{path}");
    }
    for escape in path.split('%').skip(1) {
        let digits = escape.get(..2).expect("two digits after a percent sign");
        let byte = u8::from_str_radix(digits, 16).expect("two hex digits");
        assert_eq!(digits, digits.to_ascii_uppercase(), "{path}");
        assert!(!byte.is_ascii_control() && byte != b'/' && byte != b'\\', "{path}");
        assert!(!byte.is_ascii_alphanumeric() && !b"-._~".contains(&byte), "{path}");
    }
}

/// The path without its escapes, whose digits are in capitals whatever the case of the path.
fn unescaped(path: &str) -> String {
    let mut pieces = path.split('%');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |plain, piece| plain + piece.get(2..).unwrap_or_default())
}
