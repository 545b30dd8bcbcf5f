//! `${NAME}` in values.

/// The value of a variable in this process's environment; `None` when unset or not Unicode.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the environment's one owner")]
pub fn process_environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// A value in which every `${NAME}` is replaced, and the first name that was.
pub(super) struct Replaced {
    pub(super) text: String,
    pub(super) variable: Option<String>,
}

pub(super) enum ReplaceError {
    Unset(String),
    NotClosed,
    NotAName,
}

impl ReplaceError {
    /// What is wrong, and what was expected.
    pub(super) fn explained(&self) -> (String, String) {
        let expected = "`${NAME}` with a name of letters, digits and `_`; `$${` for a plain `${`";
        match self {
            ReplaceError::Unset(name) => (
                format!("the environment variable `{name}` is not set"),
                format!("`{name}` to be set in the environment, or the value written here"),
            ),
            ReplaceError::NotClosed => ("`${` without its `}`".to_owned(), expected.to_owned()),
            ReplaceError::NotAName => {
                ("`${…}` without the name of a variable".to_owned(), expected.to_owned())
            }
        }
    }
}

/// Replaces every `${NAME}`; `$${` stands for a plain `${`. What comes from the environment is not
/// looked at again.
pub(super) fn replace(
    written: &str,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Replaced, ReplaceError> {
    let (mut text, mut variable) = (String::with_capacity(written.len()), None);
    let mut rest = written;
    while let Some((before, after)) = rest.split_once("${") {
        if let Some(before) = before.strip_suffix('$') {
            text.push_str(before);
            text.push_str("${");
            rest = after;
            continue;
        }
        let (name, after) = after.split_once('}').ok_or(ReplaceError::NotClosed)?;
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(ReplaceError::NotAName);
        }
        let value = environment(name).ok_or_else(|| ReplaceError::Unset(name.to_owned()))?;
        text.push_str(before);
        text.push_str(&value);
        variable.get_or_insert(name.to_owned());
        rest = after;
    }
    text.push_str(rest);
    Ok(Replaced { text, variable })
}
