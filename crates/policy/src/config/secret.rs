//! What a message or a shown line must not tell: passwords.

/// `text` with a star for each character of a password: of what stands before the host of a URL, and of
/// what is given to a key that is called a password. So no typing error tells one, whatever is wrong.
pub(super) fn hidden(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut secrets = Vec::new();
    let slashes = lower.find("://");
    if let Some(slashes) = slashes {
        let start = slashes + 3;
        let rest = lower.get(start..).unwrap_or_default();
        let end = match rest.rfind('@') {
            // The last there is, since a password may hold more of them than it should.
            Some(at) => start + at,
            // A password where a host was expected.
            None if rest.starts_with(':') => text.len(),
            None => start,
        };
        secrets.push(start..end);
    }
    // An address whose scheme is missing or wrong.
    if slashes.is_none()
        && let Some(name) = ["redis", "valkey"].iter().filter_map(|name| lower.find(name)).min()
        && let Some(at) = lower.rfind('@')
        && let Some(equals) = lower.get(name..at).and_then(|between| between.find('='))
    {
        secrets.push(name + equals + 1..at);
    }
    for word in ["password", "passwd", "pasword"] {
        let key = lower.find(word).unwrap_or(text.len());
        let equals = lower.get(key..).and_then(|rest| rest.find('='));
        secrets.extend(equals.map(|equals| key + equals + 1..text.len()));
    }
    // Words that are part of much else: only where a key ends or goes on with them.
    for word in ["pass", "pwd", "auth", "secret", "token", "credential"] {
        for (key, _) in lower.match_indices(word) {
            let rest = lower.get(key..).unwrap_or_default();
            let is_key = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '"' | '\'' | ' ');
            let after = rest.trim_start_matches(is_key);
            if after.starts_with('=') {
                secrets.push(text.len() - after.len() + 1..text.len());
            }
        }
    }
    let is_secret = |at: usize| secrets.iter().any(|secret| secret.contains(&at));
    let shown = |(at, c)| match c {
        '"' | '\'' | ' ' => c,
        _ if is_secret(at) => '*',
        _ => c,
    };
    text.char_indices().map(shown).collect()
}

/// A line of a file with stars for passwords. `before` is all that stands before it: what goes on with a
/// text that began there may be one, and is hidden whole.
pub(super) fn hidden_line(before: &str, line: &str) -> String {
    if !is_inside_text(before) && !follows_an_open_quote(before) {
        return hidden(line);
    }
    let shown = |c| if matches!(c, '"' | '\'' | ' ') { c } else { '*' };
    line.chars().map(shown).collect()
}

/// Whether a text of several lines has begun and not ended.
fn is_inside_text(before: &str) -> bool {
    let mut mark = None;
    for line in before.lines() {
        if mark.is_none() && line.trim_start().starts_with('#') {
            continue;
        }
        let mut rest = line;
        loop {
            let of = |mark: &'static str| Some((rest.find(mark)?, mark));
            let next = match mark {
                Some(mark) => of(mark),
                None => [r#"""""#, "'''"].into_iter().filter_map(of).min(),
            };
            let Some((at, found)) = next else { break };
            mark = if mark.is_none() { Some(found) } else { None };
            rest = rest.get(at + found.len()..).unwrap_or_default();
        }
    }
    mark.is_some()
}

/// Whether the line above ends within quotes, as one that was broken in two does.
fn follows_an_open_quote(before: &str) -> bool {
    let above = before.lines().next_back().unwrap_or_default();
    let mut open = None;
    for c in above.chars() {
        match open {
            None if c == '#' => break,
            None if matches!(c, '"' | '\'') => open = Some(c),
            Some(quote) if c == quote => open = None,
            _ => {}
        }
    }
    open.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_on_with_a_text_from_above_is_hidden_whole() {
        for before in [
            "sentinel_password = \"\"\"\n",
            "sentinel_password = '''\nmore\n",
            "redis = \"redis://:\n",
            "a = \"\"\"one\"\"\"\nb = \"\"\"\n",
        ] {
            assert_eq!(hidden_line(before, "S CRET\""), "* ****\"", "{before}");
        }
        for before in ["", "a = \"b\"\n", "a = \"\"\"b\"\"\"\n", "# don't\n", "a = 1 # it's \"\n"] {
            assert_eq!(hidden_line(before, "keys = 1"), "keys = 1", "{before}");
        }
    }

    #[test]
    fn no_form_of_a_line_tells_a_password() {
        for line in [
            r#"redis = "redis://:SECRET@localhost:6379""#,
            r#"redis = "redis://limits:SECRET@localhost:99999""#,
            r#"redis = "redis://limits:S@E/CRET@localhost"#,
            r#"redis = 'rediss-sentinel://limits:S"ECRET@one,two/group'"#,
            r#"redis = "redis://:SECRET"#,
            r#"store = { redis = "redis://:SECRET@localhost", deadlin = 1 }"#,
            r#"redis = "limits:SECRET@localhost:6379""#,
            r#"redis = "redis:/limits:SECRET@localhost:6379""#,
            r#"redis = "redis//:S@ECRET@localhost""#,
            r#"sentinel_password = "SECRET""#,
            r#"pass = "SECRET""#,
            r#"store = { redis = "redis://localhost", "auth" = "SECRET" }"#,
            r#"auth_token = 'SECRET'"#,
            r#"Sentinel_Pasword = 'SECRET"#,
            "the value `redis://:SECRET@h` does not fit",
        ] {
            let shown = hidden(line);
            assert!(!shown.contains("CRET"), "{shown}");
            assert_eq!(shown.chars().count(), line.chars().count(), "carets point where they did");
        }
    }

    #[test]
    fn a_host_behind_a_password_stays() {
        let line = r#"redis = "redis://:SECRET@localhost:99999""#;
        assert_eq!(hidden(line), r#"redis = "redis://*******@localhost:99999""#);
    }

    #[test]
    fn what_is_no_password_stays() {
        for line in [
            r#"redis = "redis://localhost:6379""#,
            r#"redis = "${REDIS_URL}""#,
            r#"upstream = "http://127.0.0.1:3000""#,
            r#""header:x-user" = "ann@example.org""#,
            r#"when = { path = "/auth/token", method = "POST" }"#,
            r#"by = ["cookie:auth"]"#,
            "redis address: `@` was found after the host",
        ] {
            assert_eq!(hidden(line), line);
        }
    }
}
