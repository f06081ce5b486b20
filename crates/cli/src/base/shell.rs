//! Words as a shell takes them, for commands that a person copies.

use std::borrow::Cow;

/// A word as a POSIX shell takes it for one, and zsh as well, to which `=ls` is the path of `ls`.
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
    fn a_word_stays_one_word() {
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
