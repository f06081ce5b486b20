//! Words of the commands that pages show for copying into a shell.

use std::borrow::Cow;

/// Characters that shell-words leaves without quotes and that shells expand: braces, and the history
/// characters of interactive bash and zsh.
const EXPANDED: [char; 4] = ['{', '}', '!', '^'];

/// Quotes a text so that a POSIX shell reads it as one word, whatever it contains. A text without special
/// characters is returned as it is.
pub(crate) fn shell_word(text: &str) -> Cow<'_, str> {
    match shell_words::quote(text) {
        // Unchanged, so that it contains no quotation mark.
        Cow::Borrowed(bare) if bare.contains(EXPANDED) => Cow::Owned(format!("'{bare}'")),
        quoted => quoted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_word_quotes_special_characters_only() {
        for (text, word) in [
            ("http://127.0.0.1:8080/f/a-1", "http://127.0.0.1:8080/f/a-1"),
            ("ada@example.org", "ada@example.org"),
            ("http://$(id).localhost:18080", "'http://$(id).localhost:18080'"),
            ("http://`id`.localhost", "'http://`id`.localhost'"),
            ("http://a'b.localhost", r"'http://a'\''b.localhost'"),
            ("http://{a,b}.localhost", "'http://{a,b}.localhost'"),
            ("http://a!ls.localhost", "'http://a!ls.localhost'"),
            ("", "''"),
        ] {
            assert_eq!(shell_word(text), word);
            assert_eq!(shell_words::split(word).unwrap(), [text]);
        }
    }
}
