//! Shell quoting, for commands that the user copies from a message.

use std::borrow::Cow;

/// Quotes a word for a POSIX shell and for zsh, which expands `=ls` to the path of `ls`.
pub(crate) fn quoted(word: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=%@+".contains(c);
    if !word.is_empty() && !word.starts_with('=') && word.chars().all(plain) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_are_quoted() {
        for (word, shell) in [
            ("penguins", "penguins"),
            ("2026-01-31T09:30:00.120Z", "2026-01-31T09:30:00.120Z"),
            ("Palmer penguins", "'Palmer penguins'"),
            ("it's", r"'it'\''s'"),
            ("$(rm)", "'$(rm)'"),
            ("=ls", "'=ls'"),
            ("a=ls", "a=ls"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), shell);
        }
    }
}
