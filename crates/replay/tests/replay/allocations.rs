//! A line of a text format costs no allocation.

use tollgate_replay::{Fields, Format, Parser};

#[test]
fn lines_of_the_combined_format_are_read_without_an_allocation() {
    let mut parser = Parser::new(Format::Combined, &Fields::default(), &[]);
    let line = |second: u64| {
        format!(
            "192.0.2.7 - ann [17/May/2015:10:{:02}:{:02} +0000] \"GET /a?b=c HTTP/1.1\" 200 5 \
             \"https://example.com/\" \"Mozilla/5.0 \\\"x\\\"\" 0.100",
            second / 60 % 60,
            second % 60
        )
    };
    let lines: Vec<String> = (0..3_000).map(line).collect();
    // The first line with an escape makes room for all.
    let mut read = |line: &String| parser.parse(line.as_bytes()).map(|entry| entry.at).ok();
    assert!(read(&lines[0]).is_some());
    let mut count = 0;
    let allocations = allocation_counter::measure(|| {
        count = lines.iter().filter_map(&mut read).count();
    });
    assert_eq!((count, allocations.count_total), (3_000, 0));
}
