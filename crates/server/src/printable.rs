//! Text of strangers made safe to show: in error messages, in logs, on terminals.

use std::fmt::{self, Write};

use formsvc_protocol::is_unsafe_in_terminals;

/// Longest excerpt of a stranger's value in a message, in characters.
const EXCERPT_MAX: usize = 64;

/// A value as it stands in an error message: control, bidirectional and other invisible characters
/// are escaped, and what goes beyond 64 characters is cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Excerpt<'a>(pub(crate) &'a str);

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut characters = self.0.chars();
        for character in characters.by_ref().take(EXCERPT_MAX) {
            write_escaped(f, character)?;
        }
        if characters.next().is_some() { f.write_char('…') } else { Ok(()) }
    }
}

/// Text with control, bidirectional and other invisible characters escaped, whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Escaped<'a>(pub(crate) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|character| write_escaped(f, character))
    }
}

fn write_escaped(f: &mut fmt::Formatter<'_>, character: char) -> fmt::Result {
    if is_unsafe_in_terminals(character) {
        write!(f, "{}", character.escape_default())
    } else {
        f.write_char(character)
    }
}

/// Text for a terminal: control, bidirectional and other invisible characters are left out.
pub(crate) fn stripped(text: &str) -> String {
    text.chars().filter(|character| !is_unsafe_in_terminals(*character)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_move_a_cursor_or_turn_text_around_is_escaped_or_left_out() {
        let hostile = "a\u{1b}[31m\u{7}b\u{202e}c\u{2066}d\u{200b}e\u{9b}f\r\n\u{feff}\u{3164}";
        assert_eq!(stripped(hostile), "a[31mbcdef");
        let escaped = Escaped(hostile).to_string();
        assert!(escaped.chars().all(|c| (' '..='~').contains(&c)), "{escaped}");
    }

    #[test]
    fn ordinary_text_of_any_script_is_untouched() {
        for text in ["Zoë's \"form\" \\ 50 %", "フォーム", "Обратная связь", "ฟอร์ม?", "😀"]
        {
            assert_eq!(Escaped(text).to_string(), text);
            assert_eq!(stripped(text), text);
        }
    }

    #[test]
    fn an_excerpt_is_cut_and_says_so() {
        assert_eq!(Excerpt("5\u{202e}\n").to_string(), "5\\u{202e}\\n");
        assert_eq!(Excerpt(&"x".repeat(64)).to_string(), "x".repeat(64));
        assert_eq!(Excerpt(&"x".repeat(65)).to_string(), format!("{}…", "x".repeat(64)));
    }
}
