use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn path(keys: &[&str]) -> Vec<Box<str>> {
    keys.iter().map(|key| Box::from(*key)).collect()
}

fn read(keys: &[&str], text: &str) -> Option<Number> {
    let mut field = Field::new(&path(keys));
    field.see(text.as_bytes());
    field.number()
}

#[test]
fn a_number_is_found_under_its_path_alone() {
    let usage: [&str; 2] = ["usage", "total"];
    for (text, found) in [
        (r#"{"usage":{"total":7}}"#, Some(Number::Whole(7))),
        (r#" { "a" : [ { "usage" : 1 } ] , "usage" : { "x":"}", "total" : 70 , "y":[] } }"#, {
            Some(Number::Whole(70))
        }),
        (r#"{"usage":{"total":0}}"#, Some(Number::Whole(0))),
        (r#"{"usage":{"total":99999999999999999999}}"#, Some(Number::Whole(u64::MAX))),
        (r#"{"usage":{"total":7}} and more"#, Some(Number::Whole(7))),
        (r#"{"usage":{"total":1},"usage":{"total":2}}"#, Some(Number::Whole(2))),
        (r#"{"usage":{"total":1,"total":"x"}}"#, Some(Number::Other)),
        (r#"{"usage":{"total":1,"total":null}}"#, Some(Number::Whole(1))),
        (r#"{"usage":{"total":true}}"#, Some(Number::Other)),
        (r#"{"usage":{"total":[7]}}"#, Some(Number::Other)),
        (r#"{"usage":{"total":7e1}}"#, Some(Number::Other)),
        (r#"{"usage":[{"total":7}]}"#, None),
        (r#"{"usage":{"total_x":7,"tota":7,"":7}}"#, None),
        (r#"{"x":{"usage":{"total":7}}}"#, None),
        (r#"{"x":{"total":7},"usage":{}}"#, None),
        (r#"{"x":"\"usage\":{\"total\":7}"}"#, None),
        (r#"{"x\"usage":{"total":7}}"#, None),
        (r#"{"usage":7}"#, None),
        ("7", None),
        ("", None),
        (r#"}{"usage":{"total":7}}"#, None),
        (r#"{]"usage":{"total":7}}"#, None),
        (r#"{"usage":{"total":7"#, None),
    ] {
        assert_eq!(read(&usage, text), found, "{text}");
    }
}

#[test]
fn deeper_than_anybody_writes_it_stops_and_keeps_what_it_has() {
    let deep = "[".repeat(100_000);
    assert_eq!(read(&["n"], &format!("{{\"n\":5,\"x\":{deep}")), Some(Number::Whole(5)));
    let still = format!("{{\"x\":{}{},\"n\":6}}", "[".repeat(63), "]".repeat(63));
    assert_eq!(read(&["n"], &still), Some(Number::Whole(6)));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u32>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-c\"\\\\{}\\[\\],: ]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[ab]", inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// What is found when the whole is parsed.
fn expected(value: &Value, pointer: &str) -> Option<Number> {
    // Letters never point into an array.
    match value.pointer(pointer)? {
        Value::Null => None,
        Value::Number(number) => Some(number.as_u64().map_or(Number::Other, Number::Whole)),
        _ => Some(Number::Other),
    }
}

proptest! {
    #[test]
    fn it_finds_what_a_parser_finds_however_the_text_is_cut(
        value in any_json(),
        keys in prop::collection::vec("[ab]", 1..4),
        pretty in any::<bool>(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        let text = text.unwrap();
        let mut field = Field::new(&keys.iter().map(|key| Box::from(&**key)).collect::<Vec<_>>());
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.sort_unstable();
        let mut from = 0;
        for cut in cuts.into_iter().chain([text.len()]) {
            field.see(&text.as_bytes()[from..cut]);
            from = cut;
        }
        let pointer: String = keys.iter().map(|key| format!("/{key}")).collect();
        prop_assert_eq!(field.number(), expected(&value, &pointer), "{}", text);
    }

    #[test]
    fn garbage_neither_panics_nor_hangs(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut field = Field::new(&path(&["a"]));
        field.see(&bytes);
        field.restart();
        field.see(json!({"a": 3}).to_string().as_bytes());
        prop_assert_eq!(field.number(), Some(Number::Whole(3)));
    }
}
