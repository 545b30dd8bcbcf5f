//! Text of a log, safe to show: nothing in it is unseen, or moves what stands around it.

use std::borrow::Cow;
use std::fmt::Write as _;

/// On one line, and not too long.
pub(crate) fn shown(text: &[u8]) -> String {
    visible(&short(text)).into_owned()
}

/// As it stands, but as text, and not too long.
pub(crate) fn short(text: &[u8]) -> String {
    const MOST: usize = 120;
    let begin = text.get(..MOST).unwrap_or(text);
    let mut short = String::from_utf8_lossy(begin).into_owned();
    if begin.len() < text.len() {
        short.push('…');
    }
    short
}

/// The same with each letter that is [hidden](is_hidden) written out, as `\u{202e}`.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    written_out(text, |letter, visible| visible.extend(letter.escape_default()))
}

/// The same for text of several lines.
pub(crate) fn visible_lines(text: &str) -> String {
    let lines = text.split_inclusive('\n').map(|line| match line.strip_suffix('\n') {
        Some(line) => visible(line).into_owned() + "\n",
        None => visible(line).into_owned(),
    });
    lines.collect()
}

/// JSON of the same value, with hidden letters as JSON escapes them.
pub(crate) fn visible_json(json: &str) -> String {
    // A line that ends stands between values; in texts it is escaped already.
    let lines = json.split_inclusive('\n').map(|line| {
        let end = if line.ends_with('\n') { "\n" } else { "" };
        let line = line.strip_suffix('\n').unwrap_or(line);
        let line = written_out(line, |letter, visible| {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                // Writing to a string does not fail.
                let _ = write!(visible, "\\u{unit:04x}");
            }
        });
        line.into_owned() + end
    });
    lines.collect()
}

fn written_out(text: &str, write: impl Fn(char, &mut String)) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut visible = String::new();
    for letter in text.chars() {
        match is_hidden(letter) {
            true => write(letter, &mut visible),
            false => visible.push(letter),
        }
    }
    Cow::Owned(visible)
}

/// Whether a letter is a control character, ends a line, or shows nothing: what Unicode calls default
/// ignorable (UAX #44), which has all marks of direction and all letters of no width.
pub(crate) fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_written_out_and_all_else_stays() {
        assert_eq!(visible("/ab\u{202e}c\u{200b}\n"), "/ab\\u{202e}c\\u{200b}\\n");
        let plain = "Größe 漢字 \u{5d0}\u{5d1} 😀 a b";
        assert_eq!(visible(plain), plain);
        assert_eq!(visible_lines("a\u{1b}\nb\u{9b}\nc"), "a\\u{1b}\nb\\u{9b}\nc");
    }

    #[test]
    fn json_is_the_same_value() {
        let value = serde_json::json!({ "name\u{2066}": ["a\u{202e}\u{9b}\n", "\u{e0001}", "ü"] });
        for json in [format!("{value}"), format!("{value:#}\n")] {
            let visible = visible_json(&json);
            assert!(!visible.contains(|letter| letter != '\n' && is_hidden(letter)), "{visible}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&visible).unwrap(), value);
        }
    }

    #[test]
    fn what_is_shown_is_not_too_long() {
        assert_eq!(shown(&[b'x'; 121]), "x".repeat(120) + "…");
        assert_eq!(shown(b"\xff\x07"), "\u{fffd}\\u{7}");
    }
}
