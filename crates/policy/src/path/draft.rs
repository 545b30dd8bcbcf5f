//! A text that is written anew only from where it differs from its source.

use std::borrow::Cow;

/// What is written so far: as long as possible only how far the source says the same.
pub(super) struct Draft<'a> {
    source: &'a str,
    same: usize,
    own: Option<String>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(source: &'a str) -> Draft<'a> {
        Draft { source, same: 0, own: None }
    }

    pub(super) fn put(&mut self, text: &str) {
        if let Some(own) = &mut self.own {
            own.push_str(text);
        } else if self.source.get(self.same..).is_some_and(|rest| rest.starts_with(text)) {
            self.same += text.len();
        } else {
            let mut own = String::with_capacity(self.source.len());
            own.push_str(self.written());
            own.push_str(text);
            self.own = Some(own);
        }
    }

    /// Writes the character as escapes, in upper-case hex.
    pub(super) fn put_escaped(&mut self, character: char) {
        for byte in character.encode_utf8(&mut [0; 4]).bytes() {
            self.put(percent_encoding::percent_encode_byte(byte));
        }
    }

    pub(super) fn written(&self) -> &str {
        self.own.as_deref().unwrap_or_else(|| self.source.get(..self.same).unwrap_or_default())
    }

    /// Forgets all but the first `length` bytes.
    pub(super) fn cut(&mut self, length: usize) {
        match &mut self.own {
            Some(own) => own.truncate(length),
            None => self.same = self.same.min(length),
        }
    }

    pub(super) fn finish(self) -> Cow<'a, str> {
        match self.own {
            Some(own) => Cow::Owned(own),
            None => Cow::Borrowed(self.source.get(..self.same).unwrap_or_default()),
        }
    }
}
