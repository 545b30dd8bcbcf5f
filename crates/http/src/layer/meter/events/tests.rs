use proptest::prelude::*;

use super::*;

fn events() -> Events {
    Events::new(&[Box::from("n")])
}

fn read(text: &str) -> Option<Number> {
    let mut events = events();
    events.see(text.as_bytes());
    events.number()
}

#[test]
fn the_last_event_that_has_the_field_counts() {
    for (text, found) in [
        ("data: {\"n\":1}\n\ndata: {\"n\":2}\n\ndata: [DONE]\n\n", Some(2)),
        ("data: {\"n\":1}\r\rdata: {\"n\":2}\r\rdata: {}\r\r", Some(2)),
        ("data: {\"n\":1}\r\n\r\ndata:{\"n\":2}\r\n\r\n", Some(2)),
        ("data: {\"n\":\ndata: 3}\n\n", Some(3)),
        ("data: {\"n\":3\ndata: 4}\n\n", Some(3)),
        ("data: {\"n\":5}", Some(5)),
        ("id: 1\nevent: data\n: data: {\"n\":9}\nretry: 5\ndata: {\"n\":1}\n\n", Some(1)),
        ("datas: {\"n\":1}\n\ndat: {\"n\":1}\n\n data: {\"n\":1}\n\n", None),
        ("data\n\ndata: {\"n\":1}\n\n", Some(1)),
        ("event: {\"n\":1}\n\n", None),
        ("\n\n\r\n\r\r", None),
    ] {
        assert_eq!(read(text), found.map(Number::Whole), "{text:?}");
    }
}

proptest! {
    #[test]
    fn it_makes_no_difference_how_a_stream_is_cut(
        parts in prop::collection::vec(
            prop::sample::select(vec!["data", ":", " ", "\n", "\r", "\r\n", "{\"n\":1}", "{\"n\":", "2}", "x"]),
            0..30,
        ),
        at in any::<prop::sample::Index>(),
    ) {
        let text = parts.concat();
        let (first, second) = text.as_bytes().split_at(at.index(text.len() + 1));
        let (mut cut, mut single) = (events(), events());
        cut.see(first);
        cut.see(second);
        for byte in text.bytes() {
            single.see(&[byte]);
        }
        prop_assert_eq!(cut.number(), read(&text));
        prop_assert_eq!(single.number(), read(&text));
    }
}
