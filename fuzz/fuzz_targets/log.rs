//! Lines of logs: whatever stands there is an entry or told by what was expected, and what is read of a
//! line stands in it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_policy::KeyPart;
use tollgate_replay::{Client, Fields, Format, Line, Parser};

fuzz_target!(|input: &[u8]| {
    let wanted = [KeyPart::Header("x-api-key".into())];
    let fields = Fields::default();
    for format in Format::ALL {
        let mut parser = Parser::new(format, &fields, &wanted);
        for line in input.split(|byte| *byte == b'\n') {
            let is_plain = !line.contains(&b'\\');
            let entry = match parser.parse(line) {
                Ok(entry) => entry,
                Err(error) => {
                    assert!(error.to_string().starts_with("expected "), "{error}");
                    continue;
                }
            };
            // Escapes are undone, and numbers of JSON written anew, so only plain text is compared.
            let texts = [entry.user, entry.referer, entry.agent, entry.host];
            let is_text = matches!(format, Format::Common | Format::Combined);
            for text in texts.into_iter().flatten() {
                assert!(!text.is_empty(), "what is empty is absent");
                assert!(!(is_text && is_plain) || contains(line, text), "{text:?} is nowhere");
            }
            if let Line::Asked { method, target } = entry.request {
                assert!(!method.is_empty() && method.len() <= 32 && !target.is_empty());
            }
            if let Client::Name(name) = entry.client {
                assert!(!name.is_empty() && name != b"-");
            }
            assert!(entry.others.iter().all(|(nth, _)| usize::from(*nth) < wanted.len()));
            // The same line is the same entry, whatever was read before.
            let mut anew = Parser::new(format, &fields, &wanted);
            let told = format!("{entry:?}");
            assert_eq!(format!("{:?}", anew.parse(line).expect("it was read before")), told);
        }
    }
    let lines = input.split(|byte| *byte == b'\n');
    if let Some((format, _)) = Format::recognise(lines.clone(), &fields, &wanted) {
        let mut parser = Parser::new(format, &fields, &wanted);
        assert!(lines.into_iter().any(|line| parser.parse(line).is_ok()), "none is of {format}");
    }
});

fn contains(line: &[u8], text: &[u8]) -> bool {
    line.windows(text.len()).any(|window| window == text)
}
