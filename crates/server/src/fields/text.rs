//! Texts, as visitors write them.

use std::borrow::Cow;

/// How many lines a text may have.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Lines {
    One,
    Any,
}

/// The rule a text breaks, as the end of a sentence.
pub(super) fn refusal(text: &str, lines: Lines, max_length: u32) -> Option<String> {
    let length = text.chars().count();
    if let Some(control) = text.chars().find(|c| c.is_control() && !['\n', '\t'].contains(c)) {
        return Some(format!("cannot have the control character U+{:04X}", u32::from(control)));
    }
    if lines == Lines::One && text.contains('\n') {
        return Some("takes one line".into());
    }
    (length > max_length as usize)
        .then(|| format!("takes at most {max_length} characters, not {length}"))
}

/// A text with line breaks as they were typed: browsers send each as CR LF.
pub(super) fn typed(text: &str) -> Cow<'_, str> {
    if text.contains("\r\n") { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_are_refused_by_name_and_tabs_and_line_breaks_are_text() {
        let judge = |text| refusal(text, Lines::Any, 100);
        assert_eq!(judge("a\tb\nc"), None);
        for (bad, name) in
            [("a\0", "U+0000"), ("\u{1b}[1m", "U+001B"), ("a\rb", "U+000D"), ("\u{85}", "U+0085")]
        {
            assert!(judge(bad).unwrap().ends_with(name), "{bad:?}");
        }
        assert!(judge("\u{202e}\u{feff}\u{fffd}").is_none(), "odd, but no controls");
        assert!(refusal("a\nb", Lines::One, 100).is_some());
    }

    #[test]
    fn length_is_in_characters() {
        assert_eq!(refusal(&"é".repeat(5), Lines::One, 5), None);
        assert_eq!(
            refusal(&"😀".repeat(6), Lines::One, 5).unwrap(),
            "takes at most 5 characters, not 6"
        );
    }

    #[test]
    fn only_whole_breaks_of_browsers_are_turned_back() {
        assert_eq!(typed("a\r\nb\r\n"), "a\nb\n");
        assert_eq!(typed("a\rb\n\r"), "a\rb\n\r");
    }
}
