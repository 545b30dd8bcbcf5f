//! A line in the making.

/// Bytes in a row, without an allocation as long as they are few.
pub(super) struct Text {
    few: [u8; Text::FEW],
    length: usize,
    /// All of them, once they are more.
    many: Vec<u8>,
}

impl Text {
    /// What most answers are told of three limits is shorter.
    const FEW: usize = 192;

    pub(super) const fn new() -> Text {
        Text { few: [0; Text::FEW], length: 0, many: Vec::new() }
    }

    #[inline]
    pub(super) fn push(&mut self, piece: &[u8]) {
        let end = self.length.saturating_add(piece.len());
        match self.few.get_mut(self.length..end) {
            Some(room) => room.copy_from_slice(piece),
            None => self.push_to_many(piece),
        }
        self.length = end;
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.few.get(..self.length).unwrap_or(&self.many)
    }

    pub(super) fn clear(&mut self) {
        self.length = 0;
        self.many.clear();
    }

    #[cold]
    fn push_to_many(&mut self, piece: &[u8]) {
        if self.many.is_empty() {
            self.many.extend(self.few.get(..self.length).unwrap_or_default());
        }
        self.many.extend(piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_its_pieces_in_a_row_whatever_their_lengths() {
        for step in 1..200 {
            let (mut text, mut all) = (Text::new(), Vec::new());
            for nth in 0..=u8::MAX {
                let piece = vec![nth; step];
                text.push(&piece);
                all.extend(piece);
                assert_eq!(text.as_bytes(), all);
            }
            text.clear();
            text.push(b"again");
            assert_eq!(text.as_bytes(), b"again");
        }
    }
}
