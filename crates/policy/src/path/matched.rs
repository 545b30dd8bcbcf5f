//! The path as limits see it.

use std::borrow::Cow;

use super::Case;
use super::draft::Draft;
use super::normal::{is_plain, read_character};

/// The matched form of a path in its normal form.
pub(super) fn matched(normal: &str, case: Case) -> Cow<'_, str> {
    let stays = |byte: u8| {
        !matches!(byte, b';' | b'%') && (case == Case::Kept || !byte.is_ascii_uppercase())
    };
    if normal.bytes().all(stays) {
        return Cow::Borrowed(
            normal.strip_suffix('/').filter(|name| !name.is_empty()).unwrap_or(normal),
        );
    }
    let mut draft = Draft::new(normal);
    for segment in normal.split('/') {
        let name = segment.split_once(';').map_or(segment, |(name, _)| name);
        if !name.is_empty() {
            draft.put("/");
            copy_name(name, case, &mut draft);
        }
    }
    if draft.written().is_empty() {
        draft.put("/");
    }
    draft.finish()
}

fn copy_name(mut name: &str, case: Case, draft: &mut Draft<'_>) {
    let stays = |byte: u8| byte != b'%' && (case == Case::Kept || !byte.is_ascii_uppercase());
    loop {
        let (run, rest) = name.split_at(name.bytes().take_while(|&byte| stays(byte)).count());
        draft.put(run);
        // A normal path has only whole escapes, so only the end of the name stops this.
        let Ok((character, length)) = read_character(rest) else {
            return;
        };
        match case {
            Case::Kept => spell(character, draft),
            Case::Folded => fold(character).for_each(|small| spell(small, draft)),
        }
        name = rest.get(length..).unwrap_or_default();
    }
}

/// Up and down again, so that letters with two small forms (σ, ς) become one; down first, for the
/// one capital that only a small letter leads up from (ẞ, ß, SS).
fn fold(character: char) -> impl Iterator<Item = char> {
    character.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase)
}

fn spell(character: char, draft: &mut Draft<'_>) {
    match u8::try_from(character) {
        // A raw `;` would begin parameters.
        Ok(byte) if is_plain(byte) && byte != b';' => draft.put(character.encode_utf8(&mut [0; 4])),
        _ => draft.put_escaped(character),
    }
}
