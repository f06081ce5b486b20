//! Removes the characters that control a terminal from untrusted text.

use std::borrow::Cow;
use std::io::{self, Write};

use formsvc_protocol::{is_stray_selector, is_unsafe_in_terminals};
use unicode_width::UnicodeWidthChar;

/// Characters of an emoji tag sequence, which names a region such as `gbsct`.
const TAGS: std::ops::RangeInclusive<usize> = 3..=6;
/// The flag that a tag sequence follows.
const BLACK_FLAG: char = '\u{1f3f4}';
/// The end of a tag sequence.
const CANCEL_TAG: char = '\u{e007f}';

/// Returns the text on one line: line breaks and tabs become spaces. Other control characters, the
/// introducers of escape sequences, invisible characters and characters that change the direction of writing
/// are removed. Joiners stay within words and emoji.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    // Most text is printable ASCII.
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Cow::Borrowed(text);
    }
    let line = sanitize(text, Breaks::None);
    if line == text { Cow::Borrowed(text) } else { Cow::Owned(line) }
}

/// Returns the text without the characters that control a terminal, except line feeds and tabs.
pub(crate) fn lines(text: &str) -> String {
    sanitize(text, Breaks::Lines)
}

fn sanitize(text: &str, breaks: Breaks) -> String {
    let (mut sanitizer, mut out) = (Sanitizer::new(breaks), String::with_capacity(text.len()));
    text.chars().for_each(|c| sanitizer.push(c, &mut out));
    out
}

/// Treatment of line breaks and tabs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Breaks {
    /// Line breaks and tabs become spaces.
    None,
    /// Line feeds and tabs stay; carriage returns are removed.
    Lines,
    /// Line feeds and tabs stay; other line breaks become spaces.
    Stream,
}

/// Sanitizes text character by character.
#[derive(Debug)]
struct Sanitizer {
    breaks: Breaks,
    /// The last character of the output.
    before: Option<char>,
    /// A joiner or a tag sequence, until the next characters show if it is valid.
    pending: String,
}

impl Sanitizer {
    fn new(breaks: Breaks) -> Self {
        Self { breaks, before: None, pending: String::new() }
    }

    fn push(&mut self, c: char, out: &mut String) {
        match c {
            '\u{200c}' | '\u{200d}' => {
                self.pending.clear();
                self.pending.push(c);
                return;
            }
            '\u{e0020}'..='\u{e007e}' if self.before == Some(BLACK_FLAG) => {
                self.pending.push(c);
                return;
            }
            CANCEL_TAG if TAGS.contains(&self.pending.chars().count()) => self.pending.push(c),
            _ => {}
        }
        let pending = std::mem::take(&mut self.pending);
        let is_valid = match pending.chars().next() {
            None => false,
            Some('\u{200c}') => joins_letters(self.before) && joins_letters(Some(c)),
            Some('\u{200d}') => {
                joins_letters(self.before) && joins_letters(Some(c))
                    || joins_emoji(self.before) && c != '\u{fe0f}' && joins_emoji(Some(c))
            }
            Some(_) => pending.ends_with(CANCEL_TAG),
        };
        if is_valid {
            self.before = pending.chars().last();
            out.push_str(&pending);
        }
        let replacement = match c {
            '\n' | '\t' if self.breaks != Breaks::None => Some(c),
            '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' if self.breaks != Breaks::Lines => {
                Some(' ')
            }
            // A blank Braille pattern looks like a space.
            '\u{2800}' => Some(' '),
            c if is_unsafe_in_terminals(c) || is_stray_selector(self.before, c) => None,
            c => Some(c),
        };
        if let Some(c) = replacement {
            self.before = Some(c);
            out.push(c);
        }
    }
}

/// Returns true for a letter or a mark of a script that needs joiners, such as Arabic and Devanagari.
fn joins_letters(c: Option<char>) -> bool {
    c.is_some_and(|c| {
        let is_in_script = matches!(c,
            '\u{600}'..='\u{109f}' | '\u{1780}'..='\u{18af}' | '\u{1a20}'..='\u{1aff}'
            | '\u{1b00}'..='\u{1c4f}' | '\u{a800}'..='\u{abff}' | '\u{fb50}'..='\u{fdff}'
            | '\u{fe70}'..='\u{fefc}' | '\u{11000}'..='\u{11fff}');
        is_in_script && (c.is_alphabetic() || c.width() == Some(0))
    })
}

/// Returns true for a character before or after a joiner in an emoji sequence.
fn joins_emoji(c: Option<char>) -> bool {
    matches!(c, Some('\u{fe0f}' | '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}'))
}

/// A writer that sanitizes text for a terminal. Line feeds and tabs stay.
pub(crate) struct SanitizingWriter<W> {
    inner: W,
    /// The beginning of a character that continues in the next write.
    partial: Vec<u8>,
    sanitizer: Sanitizer,
}

impl<W: Write> SanitizingWriter<W> {
    pub(crate) fn new(inner: W) -> Self {
        Self { inner, partial: Vec::new(), sanitizer: Sanitizer::new(Breaks::Stream) }
    }
}

impl<W: Write> Write for SanitizingWriter<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let mut bytes = std::mem::take(&mut self.partial);
        bytes.extend_from_slice(buf);
        let mut text = String::new();
        for chunk in bytes.utf8_chunks() {
            chunk.valid().chars().for_each(|c| self.sanitizer.push(c, &mut text));
        }
        self.inner.write_all(text.as_bytes())?;
        // The output is UTF-8, so that an incomplete character continues in the next write.
        if let Err(error) = std::str::from_utf8(&bytes)
            && error.error_len().is_none()
        {
            self.partial = bytes.split_off(error.valid_up_to());
        }
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_has_no_controls_and_no_direction_marks() {
        assert_eq!(one_line("a\u{1b}[31mred\u{7}\nb\tc"), "a[31mred b c");
        assert_eq!(one_line("\u{9b}2Jx\u{202e}gpj.exe\u{2066}"), "2Jxgpj.exe");
        assert!(matches!(one_line("Zoë ✓ 漢字"), Cow::Borrowed(_)));
    }

    #[test]
    fn selector_stays_only_where_it_has_an_effect() {
        for kept in ["❤\u{fe0f}", "1\u{fe0f}\u{20e3}", "葛\u{e0100}飾", "☂\u{fe0e}x"] {
            assert!(matches!(one_line(kept), Cow::Borrowed(_)), "{kept:?}");
            assert_eq!(lines(kept), kept);
        }
        let hidden: String = ('\u{e0100}'..='\u{e01ef}').collect();
        for (text, shown) in [
            (format!("❤\u{fe0f}{hidden}!"), "❤\u{fe0f}!"),
            (format!("a{hidden}b"), "ab"),
            (hidden.clone(), ""),
            ("❤\u{fe0f}\u{200d}\u{fe0f}\u{fe0f}".to_owned(), "❤\u{fe0f}"),
            ("⠓⠊\u{2800}⠥".to_owned(), "⠓⠊ ⠥"),
        ] {
            assert_eq!(one_line(&text), shown, "{text:?}");
            assert_eq!(lines(&text), shown, "{text:?}");
        }
    }

    #[test]
    fn joiners_stay_within_words_and_emoji_only() {
        for kept in [
            "می\u{200c}خواهم",
            "क्\u{200d}ष",
            "👩\u{200d}💻",
            "👩🏽\u{200d}❤\u{fe0f}\u{200d}👨",
            "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}!",
        ] {
            assert_eq!(one_line(kept), kept);
        }
        for (text, shown) in [
            ("a\u{200d}b\u{200c}c", "abc"),
            ("می\u{200c}\u{200c}خ", "می\u{200c}خ"),
            ("می\u{200c}", "می"),
            ("\u{200d}💻", "💻"),
            ("👩\u{200d} 💻", "👩 💻"),
            ("🏴\u{e0067}\u{e0062}\u{e007f}x", "🏴x"),
            ("🏴\u{e0067}\u{e0062}\u{e0073}x", "🏴x"),
            ("x\u{e0067}\u{e0062}\u{e0073}\u{e007f}", "x"),
        ] {
            assert_eq!(one_line(text), shown, "{text:?}");
        }
    }

    #[test]
    fn writer_output_does_not_depend_on_write_sizes() {
        let text =
            "id,\u{1b}[31mred\u{9b}8m\tZoë ❤\u{fe0f}\u{fe0e}👩\u{200d}💻漢\u{202e}字\r\n\u{7}end\n";
        for size in 1..=text.len() {
            let mut out = SanitizingWriter::new(Vec::new());
            for part in text.as_bytes().chunks(size) {
                out.write_all(part).unwrap();
            }
            let shown = String::from_utf8(out.inner).unwrap();
            let expected = "id,[31mred8m\tZoë ❤\u{fe0f}👩\u{200d}💻漢字 \nend\n";
            assert_eq!(shown, expected, "writes of {size} bytes");
        }
    }
}
