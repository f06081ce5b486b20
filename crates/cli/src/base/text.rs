//! Text for terminals: wrapping, truncation, counts and durations.

use std::io;
use std::time::Duration;

use indicatif::HumanCount;
use terminal_size::terminal_size_of;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_width::UnicodeWidthStr;

/// Narrowest terminal that text is wrapped for.
pub(crate) const WIDTH_MIN: usize = 30;
/// Characters of a text that are read per cell of width. It bounds the time for a text of combining marks.
const CHARS_PER_CELL: usize = 8;
/// Keeps two words on one line while a text is wrapped.
const NO_BREAK_SPACE: &str = "\u{a0}";

/// Wraps a paragraph to lines of at most `width` cells. A command in backticks stays on one line if it fits;
/// a longer word is broken.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    wrap_words(text, width, true)
}

/// Wraps a paragraph, but never breaks a word or a command in backticks: a terminal breaks a long line
/// itself, and the user can copy it as one line.
pub(crate) fn wrap_whole_words(text: &str, width: usize) -> Vec<String> {
    wrap_words(text, width, false)
}

fn wrap_words(text: &str, width: usize, breaks_words: bool) -> Vec<String> {
    let parts: Vec<&str> = text.split('`').collect();
    let mut joined = String::with_capacity(text.len());
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            joined.push('`');
        }
        let is_quoted = at % 2 == 1 && at + 1 < parts.len();
        if is_quoted && (!breaks_words || part.width() + 2 <= width) {
            joined.push_str(&part.replace(' ', NO_BREAK_SPACE));
        } else {
            joined.push_str(part);
        }
    }
    let options = Options::new(width)
        .break_words(breaks_words)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    let lines = textwrap::wrap(&joined, options);
    lines.iter().map(|line| line.replace(NO_BREAK_SPACE, " ")).collect()
}

/// Returns the width of standard error if it is a terminal that is not too narrow.
pub(crate) fn stderr_width() -> Option<usize> {
    let size = terminal_size_of(io::stderr());
    size.map(|(width, _)| usize::from(width.0)).filter(|width| *width >= WIDTH_MIN)
}

/// Returns the text in at most `width` cells. An ellipsis replaces the end of a longer text.
pub(crate) fn truncate(text: &str, width: usize) -> String {
    if fits(text, width) { text.to_owned() } else { with_ellipsis(text, width) }
}

/// Returns the beginning of the text and an ellipsis, together at most `width` cells.
pub(crate) fn with_ellipsis(text: &str, width: usize) -> String {
    let Some(room) = width.checked_sub(1) else { return String::new() };
    let ends = text.char_indices().take(CHARS_PER_CELL * (width + 1));
    let ends = ends.map(|(at, c)| at + c.len_utf8());
    let end = ends.take_while(|end| text[..*end].width() <= room).last().unwrap_or(0);
    format!("{}…", text[..end].trim_end_matches(['\u{200c}', '\u{200d}']))
}

fn fits(text: &str, width: usize) -> bool {
    text.char_indices().nth(CHARS_PER_CELL * (width + 1)).is_none() && text.width() <= width
}

/// Formats a number and its noun: `1 delivery`, `1,200 deliveries`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    let number_text = HumanCount(number);
    // `delivery` becomes `deliveries`, but `day` becomes `days`.
    let stem = noun.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']));
    match stem {
        _ if number == 1 => format!("1 {noun}"),
        Some(stem) => format!("{number_text} {stem}ies"),
        None => format!("{number_text} {noun}s"),
    }
}

/// Joins the first names: `a, b and 3 more`.
pub(crate) fn first_names(names: &[String], max: usize) -> String {
    let first = names.iter().take(max).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(max) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// Formats a duration: `0.2 ms`, `41 ms`, `12.3 s`, `66 min 40 s`, `2 h 30 min`.
pub(crate) fn duration(duration: Duration) -> String {
    let (secs, tenths_of_ms) = (duration.as_secs(), (duration.as_micros() + 50) / 100);
    let tenths = (duration.as_millis() + 50) / 100;
    match secs {
        _ if tenths_of_ms < 100 => format!("{}.{} ms", tenths_of_ms / 10, tenths_of_ms % 10),
        _ if tenths_of_ms < 9_995 => format!("{} ms", (tenths_of_ms + 5) / 10),
        0..100 => format!("{}.{} s", tenths / 10, tenths % 10),
        100..6_000 => format!("{} min {} s", secs / 60, secs % 60),
        _ => format!("{} h {} min", secs / 3_600, secs % 3_600 / 60),
    }
}

/// Formats an estimated duration: `~40 s`, `~12 min`, `~3 h`.
pub(crate) fn approximate(duration: Duration) -> String {
    match duration.as_secs().max(1) {
        seconds @ 0..=99 => format!("~{seconds} s"),
        seconds @ 100..=5_999 => format!("~{} min", (seconds + 30) / 60),
        seconds => format!("~{} h", (seconds + 1_800) / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn wrap_breaks_between_words_and_loses_nothing() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefghij kl", 4), ["abcd", "efgh", "ij", "kl"]);
        assert_eq!(wrap("漢字漢字", 5), ["漢字", "漢字"]);
        assert_eq!(wrap("", 5), [""]);
        assert_eq!(wrap("x", 0), ["x"]);
    }

    #[test]
    fn wrap_keeps_command_in_backticks_on_one_line() {
        assert_eq!(wrap("see `one two` three", 13), ["see `one two`", "three"]);
        assert_eq!(wrap("see or `one two`", 13), ["see or", "`one two`"]);
        assert_eq!(wrap("`one two three`", 9), ["`one two", "three`"]);
        assert_eq!(wrap("`a` `b c` `d e`", 9), ["`a` `b c`", "`d e`"]);
    }

    #[test]
    fn wrap_whole_words_never_breaks_words_or_commands() {
        assert_eq!(wrap_whole_words("one `two three` four", 8), ["one", "`two three`", "four"]);
        assert_eq!(wrap_whole_words("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap_whole_words("one `two three", 7), ["one", "`two", "three"]);
        assert_eq!(wrap_whole_words("abcdefghij kl", 4), ["abcdefghij", "kl"]);
        assert_eq!(wrap_whole_words("", 7), [""]);
        assert_eq!(wrap_whole_words("漢字 漢字", 5), ["漢字", "漢字"]);
    }

    #[test]
    fn truncate_cuts_between_characters() {
        for (text, width, shown) in [
            ("short", 5, "short"),
            ("longer", 5, "long…"),
            ("漢字漢字", 8, "漢字漢字"),
            ("漢字漢字", 7, "漢字漢…"),
            ("漢字漢字", 6, "漢字…"),
            ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"),
            ("👍🏽👍🏽", 3, "👍🏽…"),
            ("x", 0, ""),
            ("xy", 1, "…"),
        ] {
            assert_eq!(truncate(text, width), shown, "{text} in {width}");
        }
        let piled = format!("a{}", "\u{301}".repeat(100_000));
        assert!(truncate(&piled, 10).chars().count() < 100);
    }

    #[test]
    fn count_has_separators_and_plural() {
        for (number, noun, text) in [
            (1, "submission", "1 submission"),
            (0, "column", "0 columns"),
            (30_000, "submission", "30,000 submissions"),
            (2, "delivery", "2 deliveries"),
            (2, "day", "2 days"),
        ] {
            assert_eq!(count(number, noun), text);
        }
    }

    #[test]
    fn first_names_counts_the_other_names() {
        let names = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(first_names(&names, 3), "a, b, c");
        assert_eq!(first_names(&names, 2), "a, b and 1 more");
    }

    #[test]
    fn duration_unit_depends_on_length() {
        for (micros, text) in [
            (0, "0.0 ms"),
            (200, "0.2 ms"),
            (9_940, "9.9 ms"),
            (41_300, "41 ms"),
            (999_400, "999 ms"),
            (999_500, "1.0 s"),
            (12_340_000, "12.3 s"),
            (4_000_000_000, "66 min 40 s"),
            (9_000_000_000, "2 h 30 min"),
        ] {
            assert_eq!(duration(Duration::from_micros(micros)), text);
        }
        for (seconds, text) in [(0, "~1 s"), (99, "~99 s"), (100, "~2 min"), (7_300, "~2 h")] {
            assert_eq!(approximate(Duration::from_secs(seconds)), text);
        }
    }

    proptest! {
        #[test]
        fn truncated_text_fits_width(text in "\\PC{0,40}", width in 0_usize..50) {
            prop_assert!(truncate(&text, width).width() <= width);
        }
    }
}
