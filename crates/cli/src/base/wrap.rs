//! Text in lines that fit a width.

use std::io;

use terminal_size::terminal_size_of;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Least width of a terminal that text is laid out for; a narrower one breaks it by itself.
pub(crate) const WIDTH_MIN: usize = 30;

/// A paragraph in lines that fit the width. It is broken between words; within `a command` only where
/// that is longer than a line; and within a word only where that is.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for piece in pieces(text, width) {
        if used > 0 && used + piece.trim_end().width() > width {
            lines.push(String::new());
            used = 0;
        }
        for c in piece.chars() {
            let wide = c.width().unwrap_or(0);
            if used > 0 && used + wide > width && c != ' ' {
                lines.push(String::new());
                used = 0;
            }
            lines.last_mut().expect("there is a line from the beginning").push(c);
            used += wide;
        }
    }
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

/// The same for what somebody may copy: a command or a word that is longer than a line is not broken,
/// for a terminal breaks it by itself, and copies it whole.
pub(crate) fn folded(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for piece in pieces(text, usize::MAX) {
        let line = lines.last().expect("there is a line from the beginning");
        if !line.is_empty() && line.width() + piece.trim_end().width() > width {
            lines.push(String::new());
        }
        lines.last_mut().expect("there is a line from the beginning").push_str(piece);
    }
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

/// What stays together, each with the space after it: words, and commands up to a width.
fn pieces(text: &str, longest: usize) -> Vec<&str> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let word = rest.find(' ').map_or(rest.len(), |space| space + 1);
        let quoted = end_of_quoted(rest, word)
            .filter(|end| *end > word && rest[..*end].trim_end().width() <= longest);
        let (piece, after) = rest.split_at(quoted.unwrap_or(word));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Where the word ends that has the other backtick of the one in the first word.
fn end_of_quoted(text: &str, word: usize) -> Option<usize> {
    if text[..word].matches('`').count().is_multiple_of(2) {
        return None;
    }
    let close = word + text[word..].find('`')? + 1;
    Some(text[close..].find(' ').map_or(text.len(), |space| close + space + 1))
}

/// How wide a line on standard error is, where that is a terminal of some width.
pub(crate) fn stderr_width() -> Option<usize> {
    let size = terminal_size_of(io::stderr());
    size.map(|(width, _)| usize::from(width.0)).filter(|width| *width >= WIDTH_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_broken_between_words_and_nothing_of_it_is_lost() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("abcdefghij kl", 4), ["abcd", "efgh", "ij", "kl"]);
        assert_eq!(wrapped("漢字漢字", 5), ["漢字", "漢字"]);
        assert_eq!(wrapped("", 5), [""]);
        assert_eq!(wrapped("x", 0), ["x"]);
    }

    #[test]
    fn a_command_stays_whole_while_it_fits_a_line() {
        assert_eq!(wrapped("try `a b c`, or not", 11), ["try", "`a b c`, or", "not"]);
        assert_eq!(wrapped("try `a b c` now", 6), ["try `a", "b c`", "now"]);
        assert_eq!(wrapped("one ` two three", 9), ["one ` two", "three"]);
        assert_eq!(wrapped("`a` `b c` `d e`", 9), ["`a` `b c`", "`d e`"]);
    }

    #[test]
    fn what_may_be_copied_is_not_broken() {
        assert_eq!(folded("one `two three` four", 8), ["one", "`two three`", "four"]);
        assert_eq!(folded("one two three", 7), ["one two", "three"]);
        assert_eq!(folded("one `two three", 7), ["one", "`two", "three"]);
        assert_eq!(folded("abcdefghij kl", 4), ["abcdefghij", "kl"]);
        assert_eq!(folded("", 7), [""]);
        assert_eq!(folded("漢字 漢字", 5), ["漢字", "漢字"]);
    }
}
