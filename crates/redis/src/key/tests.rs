use std::collections::HashMap;
use std::net::IpAddr;

use tollgate_conformance::Random;
use tollgate_core::{Key, Limit, Quota};

use super::{Prefix, name, permits};

fn limit(name: &str) -> Limit {
    Limit::new(name, Quota::per_minute(10)).unwrap()
}

fn name_of(key: Key<'_>) -> String {
    name(&Prefix::default(), &limit("api"), key, key)
}

#[test]
fn keys_can_be_read() {
    let v4: IpAddr = "203.0.113.9".parse().unwrap();
    let v6: IpAddr = "2001:db8::1".parse().unwrap();
    let id = &name_of(Key::from("ada"))["tollgate:{ada}".len()..];
    assert_eq!(id.len(), 6);
    for (key, home) in [
        (Key::from("ada"), "{ada}"),
        (Key::from(":ada"), "{::ada}"),
        (Key::from("+7"), "{:+7}"),
        (Key::from(""), "{:}"),
        (Key::from(7u64), "{+7}"),
        (Key::from(v4), "{@cb007109}"),
        (Key::from(v6), "{@20010db800000000/64}"),
    ] {
        assert_eq!(name_of(key), format!("tollgate:{home}{id}"));
    }
}

#[test]
fn what_a_client_chooses_never_leaves_its_braces_nor_200_bytes() {
    let long = "x".repeat(1 << 20);
    let prefix = Prefix::new(&"p".repeat(64)).unwrap();
    let hostile: [&[u8]; 8] =
        [b"}", b"{", b"a}{b", b" ", b"\0", b"\xff\xfe", long.as_bytes(), "caf\u{e9}".as_bytes()];
    for bytes in hostile {
        for home in hostile {
            let place = name(&prefix, &limit("api"), bytes.into(), home.into());
            assert!(place.len() <= 200, "{place}");
            assert!(place.bytes().all(|byte| byte.is_ascii_graphic()), "{place}");
            assert_eq!(place.matches(['{', '}']).collect::<String>(), "{}", "{place}");
            let of = std::str::from_utf8(home).unwrap_or("db");
            let place = permits(&prefix, of, bytes.into());
            assert!(place.len() <= 200, "{place}");
            assert!(place.bytes().all(|byte| byte.is_ascii_graphic()), "{place}");
            assert_eq!(place.matches(['{', '}']).collect::<String>(), "{}", "{place}");
        }
    }
}

#[test]
fn permits_have_no_place_of_a_limit() {
    let of = |name: &str, key: &str| permits(&Prefix::default(), name, key.into());
    assert_eq!(of("db", "ann"), "tollgate:{ann}permits.db");
    // Wherever a limit's name ends or its key begins, the letters of `permits` go on.
    let id = &name_of(Key::from("ada"))["tollgate:{ada}".len()..];
    assert_eq!(id.len(), 6);
    assert_ne!("permits.".as_bytes()[6], b'.');
    let all =
        [of("a", "b"), of("b", "a"), of("", "b"), of("a b", "b"), of("a.b", "b"), of("#a", "b")];
    let distinct: std::collections::HashSet<_> = all.iter().collect();
    assert_eq!(distinct.len(), all.len());
}

#[test]
fn different_keys_have_different_places() {
    let alphabet: &[&[u8]] =
        &[b"_", b":", b"/", b"{", b"}", b"|", b"%", b"\0", b"\r", b"\n", b"\xff", b"+", b"#", b"a"];
    let limits = [limit("a"), limit("a_b"), limit("b")];
    let mut random = Random::of(5);
    let mut seen: HashMap<String, (u64, Vec<u8>, Vec<u8>)> = HashMap::new();
    for _ in 0..200_000 {
        let mut text = || {
            (0..random.below(6)).flat_map(|_| random.one_of(alphabet).to_vec()).collect::<Vec<u8>>()
        };
        let (key, home) = (text(), text());
        let limit = random.one_of(&limits);
        let place = name(&Prefix::default(), limit, (&key[..]).into(), (&home[..]).into());
        let what = (limit.id(), key, home);
        let first = seen.entry(place).or_insert_with(|| what.clone());
        assert_eq!(*first, what);
    }
}

#[test]
fn kinds_of_keys_do_not_meet() {
    let v4: IpAddr = "0.0.0.7".parse().unwrap();
    let names = [Key::from("7"), Key::from(7u64), Key::from(v4), Key::from("+7"), Key::from(":7")];
    let distinct: std::collections::HashSet<_> = names.into_iter().map(name_of).collect();
    assert_eq!(distinct.len(), names.len());
}
