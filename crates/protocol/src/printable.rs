//! Characters that must not reach a terminal or a log unescaped.

/// Returns true for a character that controls a terminal, changes the direction of text, breaks a
/// line or is invisible, so that the displayed text differs from the actual text:
///
/// - control characters (C0, DEL, C1), which start escape sequences;
/// - marks, embeddings, overrides and isolates of the bidirectional algorithm;
/// - line and paragraph separators;
/// - characters without width or shape: zero-width spaces and joiners, invisible operators, fillers,
///   the byte order mark, annotation and musical formatting, tags, and the Braille pattern without
///   dots, which looks like a space.
///
/// Variation selectors and combining marks return false: emoji and many scripts need them.
/// [`is_stray_selector`] finds the variation selectors that have no effect.
///
/// ```
/// use formsvc_protocol::is_unsafe_in_terminals;
/// assert!("\u{1b}\u{9b}\u{202e}\u{200b}".chars().all(is_unsafe_in_terminals));
/// assert!(!"Zoë ✓ 漢字 ❤️".chars().any(is_unsafe_in_terminals));
/// ```
pub fn is_unsafe_in_terminals(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    matches!(c,
        '\u{80}'..='\u{9f}'
        // Soft hyphen, grapheme joiner.
        | '\u{ad}' | '\u{34f}'
        // Arabic letter mark.
        | '\u{61c}'
        // Invisible: Hangul fillers, Khmer inherent vowels, the Mongolian vowel separator.
        | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}' | '\u{3164}' | '\u{ffa0}'
        // Zero width, direction, line and paragraph, invisible operators.
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff0}'..='\u{fffb}'
        // Braille without dots.
        | '\u{2800}'
        // Formatting of shorthand and of music.
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e007f}')
}

/// Returns true for a variation selector that has no effect after the character before it.
///
/// A selector is invisible. It chooses the form of the preceding character: the heart as a picture
/// (U+FE0F), or the variant of an ideograph in a name (U+E0100 and up). A second selector, and a
/// selector at the start of a text or after a space or a letter without variants, has no effect.
/// There are 256 selectors, so a sequence of them can hide arbitrary bytes in copied text.
///
/// ```
/// use formsvc_protocol::is_stray_selector;
/// assert!(!is_stray_selector(Some('❤'), '\u{fe0f}'));
/// assert!(!is_stray_selector(Some('1'), '\u{fe0f}'), "of a keycap");
/// assert!(is_stray_selector(Some('\u{fe0f}'), '\u{fe01}'));
/// assert!(is_stray_selector(Some('a'), '\u{fe00}'));
/// assert!(is_stray_selector(None, '\u{e0100}'));
/// ```
pub fn is_stray_selector(before: Option<char>, c: char) -> bool {
    is_selector(c)
        && before.is_none_or(|before| {
            is_selector(before)
                || is_unsafe_in_terminals(before)
                || before.is_whitespace()
                || before.is_ascii() && !matches!(before, '0'..='9' | '#' | '*')
        })
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsafe_ranges_match_the_table() {
        for (name, first, last) in [
            ("C0", '\0', '\u{1f}'),
            ("DEL and C1", '\u{7f}', '\u{9f}'),
            ("soft hyphen", '\u{ad}', '\u{ad}'),
            ("grapheme joiner", '\u{34f}', '\u{34f}'),
            ("Arabic letter mark", '\u{61c}', '\u{61c}'),
            ("Hangul fillers", '\u{115f}', '\u{1160}'),
            ("Khmer inherent vowels", '\u{17b4}', '\u{17b5}'),
            ("Mongolian vowel separator", '\u{180e}', '\u{180e}'),
            ("zero width, direction marks", '\u{200b}', '\u{200f}'),
            ("separators, embeddings, overrides", '\u{2028}', '\u{202e}'),
            ("invisible operators, isolates", '\u{2060}', '\u{206f}'),
            ("Braille without dots", '\u{2800}', '\u{2800}'),
            ("Hangul filler", '\u{3164}', '\u{3164}'),
            ("byte order mark", '\u{feff}', '\u{feff}'),
            ("half-width filler", '\u{ffa0}', '\u{ffa0}'),
            ("annotation", '\u{fff0}', '\u{fffb}'),
            ("shorthand", '\u{1bca0}', '\u{1bca3}'),
            ("music", '\u{1d173}', '\u{1d17a}'),
            ("tags", '\u{e0000}', '\u{e007f}'),
        ] {
            for c in first..=last {
                assert!(is_unsafe_in_terminals(c), "{name}: {}", c.escape_unicode());
            }
            let before = char::from_u32(u32::from(first).wrapping_sub(1));
            let after = char::from_u32(u32::from(last) + 1);
            for c in before.into_iter().chain(after) {
                assert!(!is_unsafe_in_terminals(c), "beside {name}: {}", c.escape_unicode());
            }
        }
    }

    #[test]
    fn selector_is_stray_unless_it_selects_a_form() {
        for c in '\0'..=char::MAX {
            let name = c.escape_unicode();
            let known = matches!(u32::from(c), 0x180b..=0x180d | 0x180f | 0xfe00..=0xfe0f | 0xe0100..=0xe01ef);
            assert_eq!(is_stray_selector(None, c), known, "{name}");
            assert_eq!(is_stray_selector(Some('\u{fe0f}'), c), known, "{name}");
            assert!(!is_stray_selector(Some('葛'), c), "{name}");
        }
        for before in [' ', '\n', 'a', '-', '\u{3000}', '\u{1b}', '\u{2800}'] {
            assert!(is_stray_selector(Some(before), '\u{fe0f}'), "{}", before.escape_unicode());
        }
        for before in ['❤', '☂', '9', '#', '*', '葛', 'ᠠ', '≨'] {
            assert!(!is_stray_selector(Some(before), '\u{fe00}'), "{before}");
        }
    }

    #[test]
    fn controls_are_unsafe_and_visible_letters_safe() {
        for c in '\0'..=char::MAX {
            let filler = matches!(c, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}');
            if c.is_control() {
                assert!(is_unsafe_in_terminals(c), "{}", c.escape_unicode());
            } else if c.is_alphanumeric() && !filler {
                assert!(!is_unsafe_in_terminals(c), "{}", c.escape_unicode());
            }
        }
        for text in ["❤️", "ฟอร์ม", "e\u{301}", "葛\u{e0100}", "a\u{a0}b", "\u{fffd}"]
        {
            assert!(!text.chars().any(is_unsafe_in_terminals), "{text}");
        }
    }
}
