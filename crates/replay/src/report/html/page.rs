//! The page around what is told.

use std::fmt::{self, Display, Formatter, Write};

use super::super::numbers::percent;
use crate::shown::is_hidden;

/// Text from anywhere, such as a name that a client chose: nothing in it is markup.
pub(super) struct Text<'t>(pub(super) &'t str);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for letter in self.0.chars() {
            match letter {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                letter if is_hidden(letter) => letter.escape_default().fmt(f)?,
                letter => f.write_char(letter)?,
            }
        }
        Ok(())
    }
}

/// A share in per cent, as markup, never broken at the end of a line.
pub(super) fn share(part: u64, whole: u64) -> String {
    percent(part, whole).replace('<', "&lt;").replace(' ', "&nbsp;")
}

/// The longest name that is shown whole, in letters.
const LONGEST: usize = 100;

/// A name that is no longer than a page has room for.
pub(super) fn short(name: &str) -> String {
    match name.char_indices().nth(LONGEST) {
        None => name.to_owned(),
        Some((end, _)) => format!("{}…", name.get(..end).unwrap_or_default()),
    }
}

/// The rules of what the page may load: nothing. Its style stands in it, and it has no script.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// Begins the page.
pub(super) fn begin(page: &mut String, title: &str) -> fmt::Result {
    writeln!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<title>{}</title>\n<style>\n{}</style>\n\
         </head>\n<body>",
        Text(title),
        include_str!("style.css")
    )
}

/// Ends it.
pub(super) fn end(page: &mut String) -> fmt::Result {
    writeln!(page, "</body>\n</html>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_markup() {
        let text = Text("<a title=\"x\" b='y'>&\n\u{1b}\u{202e}é").to_string();
        assert_eq!(text, "&lt;a title=&quot;x&quot; b=&#39;y&#39;&gt;&amp;\\n\\u{1b}\\u{202e}é");
        assert_eq!(share(1, 100_000), "&lt;&nbsp;0.1&nbsp;%");
        assert_eq!(short(&"é".repeat(101)), format!("{}…", "é".repeat(100)));
        assert_eq!(short(&"é".repeat(100)), "é".repeat(100));
    }
}
