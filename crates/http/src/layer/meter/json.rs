//! A number in JSON that comes in pieces, found without keeping any of it.

/// What stands at the end of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    /// A whole number; one too long to read is the largest.
    Whole(u64),
    /// Anything else, but for `null`, which says nothing.
    Other,
}

/// The number under a path of keys, in one JSON text. Given twice, the last one counts, as most
/// parsers have it. Keys are compared as they are written: one with an escape in it is another key.
///
/// It follows the text's structure and no more: a text that is no JSON may have a number too.
pub(in crate::layer) struct Field {
    path: Vec<Box<str>>,
    found: Option<Number>,
    state: State,
    /// Whether each open container is an object (1) or an array (0), the innermost in the lowest bit.
    objects: u64,
    /// How many containers are open.
    depth: usize,
    /// How many of these, from the outside, are objects that the path goes through.
    on_path: usize,
    /// What the value to come is.
    next: Next,
}

/// What a value is to the path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// Nothing.
    Other,
    /// If it is an object, the path goes through it.
    Step,
    /// Its end.
    Wanted,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// A value is to come.
    Value,
    /// A value, or the end of an array.
    First,
    /// A key, or the end of an object.
    Key,
    /// Inside a key of which so many bytes fit the path.
    InKey(Option<usize>),
    /// Behind a backslash in a key.
    KeyEscape,
    Colon,
    /// Inside a text.
    Text,
    TextEscape,
    /// Inside a number that is so much as yet.
    Number(Number),
    /// Inside `true`, `false` or `null`.
    Word,
    /// Behind a value.
    Behind,
    /// Behind the whole, or where this is no JSON.
    Done,
}

impl Field {
    /// Containers within each other; a text with more is not read further.
    const DEEPEST: usize = 64;

    pub(super) fn new(path: &[Box<str>]) -> Field {
        Field {
            path: path.to_vec(),
            found: None,
            state: State::Value,
            objects: 0,
            depth: 0,
            on_path: 0,
            next: Next::Step,
        }
    }

    /// What was found as yet.
    pub(super) fn number(&self) -> Option<Number> {
        self.found
    }

    /// Begins a new text on the same path.
    pub(super) fn restart(&mut self) {
        let path = std::mem::take(&mut self.path);
        *self = Field { path, ..Field::new(&[]) };
    }

    /// Reads on.
    pub(super) fn see(&mut self, piece: &[u8]) {
        let mut rest = piece;
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            match self.state {
                // Most of a body is text of no interest.
                State::Text if !matches!(byte, b'"' | b'\\') => {
                    let end = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'));
                    rest = end.and_then(|end| rest.get(end..)).unwrap_or_default();
                }
                State::Done => return,
                _ => self.read(byte),
            }
        }
    }

    fn read(&mut self, byte: u8) {
        self.state = match (self.state, byte) {
            (State::InKey(fits), b'"') => self.end_key(fits),
            (State::InKey(_), b'\\') => State::KeyEscape,
            (State::InKey(fits), _) => State::InKey(self.fitting(fits, byte)),
            (State::KeyEscape, _) => State::InKey(None),
            (State::Text, b'"') => State::Behind,
            (State::Text, b'\\') => State::TextEscape,
            (State::Text | State::TextEscape, _) => State::Text,
            (State::Number(number), b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r') => {
                self.find(number);
                self.behind(byte)
            }
            (State::Number(number), _) => State::Number(number.and(byte)),
            (State::Word, b'a'..=b'z') => State::Word,
            (State::Word, _) => self.behind(byte),
            (state, b' ' | b'\t' | b'\n' | b'\r') => state,
            (State::First, b']') => self.close(byte),
            (State::Value | State::First, _) => self.value(byte),
            (State::Key, b'"') => State::InKey((self.depth == self.on_path).then_some(0)),
            (State::Key, b'}') => self.close(byte),
            (State::Colon, b':') => State::Value,
            (State::Behind, _) => self.behind(byte),
            (State::Key | State::Colon | State::Done, _) => State::Done,
        };
    }

    /// The first byte of a value.
    fn value(&mut self, byte: u8) -> State {
        match byte {
            b'{' | b'[' => {
                self.find(Number::Other);
                self.open(byte)
            }
            b'"' => {
                self.find(Number::Other);
                State::Text
            }
            b'0'..=b'9' => State::Number(Number::Whole(0).and(byte)),
            b'-' => State::Number(Number::Other),
            b'n' => State::Word,
            b't' | b'f' => {
                self.find(Number::Other);
                State::Word
            }
            _ => State::Done,
        }
    }

    /// Takes note of a value, if it is the one.
    fn find(&mut self, number: Number) {
        if self.next == Next::Wanted {
            self.found = Some(number);
        }
    }

    fn open(&mut self, byte: u8) -> State {
        if self.depth == Field::DEEPEST {
            return State::Done;
        }
        self.depth = self.depth.saturating_add(1);
        self.objects = self.objects << 1 | u64::from(byte == b'{');
        if byte == b'[' {
            self.next = Next::Other;
            return State::First;
        }
        if self.next == Next::Step {
            self.on_path = self.depth;
        }
        State::Key
    }

    fn close(&mut self, byte: u8) -> State {
        if self.is_in_object() != (byte == b'}') {
            return State::Done;
        }
        self.objects >>= 1;
        self.depth = self.depth.saturating_sub(1);
        self.on_path = self.on_path.min(self.depth);
        if self.depth == 0 { State::Done } else { State::Behind }
    }

    /// What comes behind a value.
    fn behind(&mut self, byte: u8) -> State {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => State::Behind,
            b',' if self.is_in_object() => State::Key,
            b',' if self.depth > 0 => {
                self.next = Next::Other;
                State::Value
            }
            b']' | b'}' if self.depth > 0 => self.close(byte),
            _ => State::Done,
        }
    }

    fn is_in_object(&self) -> bool {
        self.depth > 0 && self.objects & 1 == 1
    }

    /// The key of the path that those of the innermost object are compared with, and its place.
    fn wanted(&self) -> Option<(usize, &str)> {
        let at = self.depth.checked_sub(1)?;
        Some((at, self.path.get(at)?))
    }

    fn fitting(&self, fits: Option<usize>, byte: u8) -> Option<usize> {
        let (at, (_, wanted)) = (fits?, self.wanted()?);
        (wanted.as_bytes().get(at) == Some(&byte)).then(|| at.saturating_add(1))
    }

    fn end_key(&mut self, fits: Option<usize>) -> State {
        self.next = match (fits, self.wanted()) {
            (Some(fits), Some((at, wanted))) if fits == wanted.len() => {
                let is_last = self.path.get(at.saturating_add(1)).is_none();
                if is_last { Next::Wanted } else { Next::Step }
            }
            _ => Next::Other,
        };
        State::Colon
    }
}

impl Number {
    /// The number with a further character.
    fn and(self, byte: u8) -> Number {
        match self {
            Number::Whole(number) if byte.is_ascii_digit() => {
                let digit = u64::from(byte.saturating_sub(b'0'));
                Number::Whole(number.saturating_mul(10).saturating_add(digit))
            }
            Number::Whole(_) | Number::Other => Number::Other,
        }
    }
}

#[cfg(test)]
mod tests;
