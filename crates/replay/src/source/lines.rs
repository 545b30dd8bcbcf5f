//! Lines of an input, found in one buffer.

use std::{fmt, io};

/// The lines of an input. A line that is longer than [`Lines::LONGEST`] is passed over without being
/// held.
pub(crate) struct Lines {
    input: Box<dyn io::Read>,
    /// What was read; the lines that are still to come stand in `start..end`.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Up to where no line ends.
    searched: usize,
    /// Where the last line began.
    last: usize,
    ended: bool,
    fault: Option<io::Error>,
    /// By what lines end: LF, if there is one at the beginning, or CR.
    line_end: u8,
    /// Whether a byte order mark may still come.
    may_be_marked: bool,
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines").field("fault", &self.fault).finish_non_exhaustive()
    }
}

/// One line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Read<'l> {
    Line(&'l [u8]),
    /// It was longer than can be; how it began.
    TooLong(&'l [u8]),
}

impl Lines {
    /// The longest line that is read, in bytes.
    pub(crate) const LONGEST: usize = 1 << 20;

    pub(crate) fn of(input: Box<dyn io::Read>) -> Lines {
        Lines {
            input,
            buffer: vec![0; 1 << 18],
            start: 0,
            end: 0,
            searched: 0,
            last: 0,
            ended: false,
            fault: None,
            line_end: b'\n',
            may_be_marked: true,
        }
    }

    /// What the input begins with, as far as it fits the buffer, which grows for a long first line, and by
    /// what its lines end; nothing is used up. To be asked before the first line.
    pub(crate) fn head(&mut self) -> (&[u8], u8) {
        while !self.ended && (self.end < self.buffer.len() || self.may_grow_for_a_line()) {
            self.fill();
        }
        let head = self.buffer.get(self.start..self.end).unwrap_or_default();
        // A CR among lines that end by LF may stand in one of them.
        if memchr::memchr(b'\n', head).is_none() && memchr::memchr(b'\r', head).is_some() {
            self.line_end = b'\r';
        }
        (head, self.line_end)
    }

    fn may_grow_for_a_line(&self) -> bool {
        self.end < 4 * Lines::LONGEST && memchr::memchr(b'\n', &self.buffer).is_none()
    }

    /// The next line; `None` at the end, or where nothing more can be read.
    pub(crate) fn next(&mut self) -> Option<Read<'_>> {
        loop {
            let unread = self.buffer.get(self.searched..self.end).unwrap_or_default();
            if let Some(at) = memchr::memchr(self.line_end, unread) {
                let (from, to) = (self.start, self.searched + at);
                self.start = to + 1;
                self.searched = self.start;
                return Some(self.read(from, to));
            }
            self.searched = self.end;
            if self.end - self.start > Lines::LONGEST {
                return Some(self.pass_over());
            }
            if self.ended {
                let (from, to) = (self.start, self.end);
                self.start = self.end;
                return (from < to).then(|| self.read(from, to));
            }
            self.fill();
        }
    }

    /// Why nothing more can be read, if that is not the end of the input.
    pub(crate) fn fault(&self) -> Option<&io::Error> {
        self.fault.as_ref()
    }

    /// Has the last line come once more.
    pub(crate) fn back(&mut self) {
        (self.start, self.searched) = (self.last, self.last);
    }

    fn read(&mut self, from: usize, to: usize) -> Read<'_> {
        self.last = from;
        let line = self.buffer.get(from..to).unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match line.len() > Lines::LONGEST {
            true => Read::TooLong(line.get(..SHOWN).unwrap_or(line)),
            false => Read::Line(line),
        }
    }

    /// Reads on to the end of a line that is too long, and keeps its beginning alone.
    fn pass_over(&mut self) -> Read<'_> {
        self.buffer.copy_within(self.start..self.start + SHOWN, 0);
        loop {
            (self.start, self.searched, self.end) = (SHOWN, SHOWN, SHOWN);
            if self.ended {
                break;
            }
            self.fill();
            let unread = self.buffer.get(SHOWN..self.end).unwrap_or_default();
            if let Some(at) = memchr::memchr(self.line_end, unread) {
                self.start = SHOWN + at + 1;
                self.searched = self.start;
                break;
            }
        }
        Read::TooLong(self.buffer.get(..SHOWN).unwrap_or_default())
    }

    /// Reads once more. Makes room before that: what was used goes, and a long line gets a larger
    /// buffer.
    fn fill(&mut self) {
        if self.start > SHOWN && self.end == self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            self.searched -= self.start;
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        let room = self.buffer.get_mut(self.end..).unwrap_or_default();
        match self.input.read(room) {
            Ok(0) => self.ended = true,
            Ok(bytes) => {
                self.end += bytes;
                if self.may_be_marked {
                    self.skip_mark();
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                self.ended = true;
                self.fault = Some(error);
            }
        }
    }

    /// Passes over a byte order mark at the beginning, once there is enough to tell.
    fn skip_mark(&mut self) {
        let begin = self.buffer.get(..self.end).unwrap_or_default();
        if begin.starts_with(MARK) {
            (self.start, self.searched) = (MARK.len(), MARK.len());
        }
        self.may_be_marked = begin.len() < MARK.len();
    }
}

/// The byte order mark of UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// How much is kept of a line that is too long.
const SHOWN: usize = 160;

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;

    fn lines(text: &[u8]) -> Vec<Option<Vec<u8>>> {
        lines_of(Box::new(Cursor::new(text.to_vec())))
    }

    fn lines_of(input: Box<dyn io::Read>) -> Vec<Option<Vec<u8>>> {
        let mut lines = Lines::of(input);
        lines.head();
        let mut all = Vec::new();
        while let Some(line) = lines.next() {
            all.push(match line {
                Read::Line(line) => Some(line.to_vec()),
                Read::TooLong(_) => None,
            });
        }
        assert!(lines.buffer.len() <= 4 * Lines::LONGEST, "the buffer is {}", lines.buffer.len());
        all
    }

    #[test]
    fn a_line_ends_by_either_end_or_with_the_input() {
        let expected: Vec<_> = ["one", "", "two", "three"].map(|l| Some(l.into())).into();
        assert_eq!(lines(b"one\r\n\ntwo\nthree"), expected);
        assert_eq!(lines(b""), []);
    }

    #[test]
    fn a_line_of_a_mebibyte_is_read_and_a_longer_one_passed_over() {
        let whole = vec![b'x'; Lines::LONGEST];
        for longer in [Lines::LONGEST + 1, 3 * Lines::LONGEST, 20 * Lines::LONGEST + 7] {
            let text = [&whole[..], b"\n", &vec![b'y'; longer], b"\nshort\n"].concat();
            assert_eq!(lines(&text), [Some(whole.clone()), None, Some(b"short".to_vec())]);
        }
        assert_eq!(lines(&vec![b'z'; 9 * Lines::LONGEST]), [None]);
    }

    #[test]
    fn lines_end_by_cr_where_none_ends_by_lf() {
        let expected: Vec<_> = ["one", "", "two"].map(|l| Some(l.into())).into();
        assert_eq!(lines(b"one\r\rtwo"), expected);
        assert_eq!(lines(b"one\r\rtwo\r"), expected);
        let long = [&vec![b'x'; Lines::LONGEST + 1][..], b"\rshort\r"].concat();
        assert_eq!(lines(&long), [None, Some(b"short".to_vec())]);
        assert_eq!(lines(b"o\rne\r\ntwo"), [Some(b"o\rne".to_vec()), Some(b"two".to_vec())]);
    }

    /// Gives a byte at a time.
    struct Slow(Cursor<Vec<u8>>);

    impl io::Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.read(&mut buffer[..1])
        }
    }

    #[test]
    fn a_byte_order_mark_is_passed_over_at_the_beginning_alone() {
        let mark = "\u{feff}";
        for text in
            [format!("{mark}a\n{mark}b"), format!("{mark}{mark}b"), format!("a{mark}"), mark.into()]
        {
            let bare = text.strip_prefix(mark).unwrap_or(&text);
            let expected: Vec<_> = bare.lines().map(|line| Some(line.into())).collect();
            assert_eq!(lines(text.as_bytes()), expected, "{text:?}");
            let slow = Slow(Cursor::new(text.into_bytes()));
            assert_eq!(lines_of(Box::new(slow)), expected);
        }
        // The beginning of a mark is none.
        assert_eq!(lines(b"\xef\xbb"), [Some(b"\xef\xbb".to_vec())]);
    }

    #[test]
    fn the_head_is_not_used_up() {
        let mut lines = Lines::of(Box::new(Cursor::new(b"a\nb\n".to_vec())));
        assert_eq!(lines.head(), (&b"a\nb\n"[..], b'\n'));
        assert_eq!(lines.next(), Some(Read::Line(b"a")));
    }

    #[test]
    fn the_head_has_the_first_line_whole_and_ends_even_without_one() {
        let mut text = vec![b'x'; 2 * Lines::LONGEST];
        text.push(b'\n');
        let mut lines = Lines::of(Box::new(Cursor::new(text)));
        assert!(lines.head().0.contains(&b'\n'));
        let mut endless = Lines::of(Box::new(io::repeat(b'x')));
        assert_eq!(endless.head().0.len(), 4 * Lines::LONGEST);
    }

    proptest! {
        #[test]
        fn lines_are_those_of_a_split(parts in proptest::collection::vec("[a-z\r]{0,40}", 0..60)) {
            // Without an end of its kind a text may be lines that end by CR.
            let text = parts.join("\n") + "\n" + &parts.concat();
            let split = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
            let mut expected: Vec<_> = split.map(|line| Some(line.as_bytes().to_vec())).collect();
            // What stands behind the last end is a line only if there is something.
            if text.is_empty() || text.ends_with('\n') {
                expected.pop();
            }
            prop_assert_eq!(lines(text.as_bytes()), expected);
        }
    }
}
