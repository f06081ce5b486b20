//! Text from strangers on its way to a terminal.

use std::borrow::Cow;

use formsvc_protocol::{is_stray_selector, is_unsafe_in_terminals};

/// The text on one line, without anything a terminal would act on: line breaks and tabs become
/// spaces; other control characters, escape sequences' introducers and characters that change the
/// direction of writing or do not show are taken out.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    // Nearly all is like that, and need not be decoded.
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Cow::Borrowed(text);
    }
    let mut sieve = Sieve::default();
    if text.chars().all(|c| sieve.on_a_line(c) == Some(c)) {
        return Cow::Borrowed(text);
    }
    let mut sieve = Sieve::default();
    Cow::Owned(text.chars().filter_map(|c| sieve.on_a_line(c)).collect())
}

/// The text with its lines and tabs, without anything else a terminal would act on.
pub(crate) fn lines(text: &str) -> String {
    let mut sieve = Sieve::default();
    text.chars().filter_map(|c| sieve.in_lines(c)).collect()
}

/// Takes text character by character.
#[derive(Debug, Default)]
pub(crate) struct Sieve {
    /// What was let through last.
    before: Option<char>,
}

impl Sieve {
    /// What stands on a line for the character.
    fn on_a_line(&mut self, c: char) -> Option<char> {
        match c {
            '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => Some(self.through(' ')),
            c => self.harmless(c),
        }
    }

    /// What stands for the character of a stream, which keeps its lines and tabs.
    pub(crate) fn in_a_stream(&mut self, c: char) -> Option<char> {
        if matches!(c, '\n' | '\t') { Some(self.through(c)) } else { self.on_a_line(c) }
    }

    /// What stands for the character of a text, which keeps its lines and tabs however lines end.
    fn in_lines(&mut self, c: char) -> Option<char> {
        if matches!(c, '\n' | '\t') { Some(self.through(c)) } else { self.harmless(c) }
    }

    fn harmless(&mut self, c: char) -> Option<char> {
        match c {
            // Between words of Braille it is the space.
            '\u{2800}' => Some(self.through(' ')),
            c if is_unsafe_in_terminals(c) || is_stray_selector(self.before, c) => None,
            c => Some(self.through(c)),
        }
    }

    fn through(&mut self, c: char) -> char {
        self.before = Some(c);
        c
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_terminal_acts_on_is_left() {
        assert_eq!(one_line("a\u{1b}[31mred\u{7}\nb\tc"), "a[31mred b c");
        assert_eq!(one_line("\u{9b}2Jx\u{202e}gpj.exe\u{2066}"), "2Jxgpj.exe");
        assert!(matches!(one_line("Zoë ✓ 漢字"), Cow::Borrowed(_)));
    }

    #[test]
    fn selectors_that_select_stay_and_those_that_only_hide_go() {
        for kept in ["❤\u{fe0f}", "1\u{fe0f}\u{20e3}", "葛\u{e0100}飾", "☂\u{fe0e}x"] {
            assert!(matches!(one_line(kept), Cow::Borrowed(_)), "{kept:?}");
            assert_eq!(lines(kept), kept);
        }
        let hidden: String = ('\u{e0100}'..='\u{e01ef}').collect();
        for (text, shown) in [
            (format!("❤\u{fe0f}{hidden}!"), "❤\u{fe0f}!"),
            (format!("a{hidden}b"), "ab"),
            (hidden.clone(), ""),
            // What is taken out does not make room for another.
            ("❤\u{fe0f}\u{200d}\u{fe0f}".to_owned(), "❤\u{fe0f}"),
            ("⠓⠊\u{2800}⠥".to_owned(), "⠓⠊ ⠥"),
        ] {
            assert_eq!(one_line(&text), shown, "{text:?}");
            assert_eq!(lines(&text), shown, "{text:?}");
        }
    }
}
