//! Text from strangers on its way to a terminal.

use std::borrow::Cow;

use formsvc_protocol::is_unsafe_in_terminals;

/// The text on one line, without anything a terminal would act on: line breaks and tabs become
/// spaces; other control characters, escape sequences' introducers and characters that change the
/// direction of writing or do not show are taken out.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| replacement(c) == Some(c)) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.chars().filter_map(replacement).collect())
    }
}

/// The text with its lines and tabs, without anything else a terminal would act on.
pub(crate) fn lines(text: &str) -> String {
    let keeps = |c: &char| matches!(c, '\n' | '\t') || !is_unsafe_in_terminals(*c);
    text.chars().filter(keeps).collect()
}

fn replacement(c: char) -> Option<char> {
    match c {
        '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => Some(' '),
        c if is_unsafe_in_terminals(c) => None,
        c => Some(c),
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
}
