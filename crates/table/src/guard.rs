//! The formula guard: text that a spreadsheet must not run as a formula.

use std::borrow::Cow;

use formsvc_protocol::is_unsafe_in_terminals;

/// Returns true if a spreadsheet may run the text as a formula.
///
/// This is a text that begins with `=`, `+`, `-`, `@`, a tab, a line break, NUL, or a full-width or
/// small form of the first four. A plain number is exempt: digits with an optional minus sign and one
/// decimal point or comma. Nothing else is exempt; a telephone number such as `+1-1` is arithmetic,
/// too. Spaces and invisible characters at the start are skipped, because some programs trim them.
pub fn needs_guard(text: &str) -> bool {
    match text.as_bytes().first() {
        Some(b'-') => !is_plain_number(text.as_bytes()),
        Some(b'=' | b'+' | b'@' | b'\t' | b'\r' | b'\n' | 0) => true,
        _ => {
            let is_invisible = |c: char| {
                c.is_whitespace() || is_unsafe_in_terminals(c) || is_variation_selector(c)
            };
            text.trim_start_matches(is_invisible).starts_with(SIGNS)
        }
    }
}

/// First characters of formulas, with their full-width and small forms.
const SIGNS: [char; 12] =
    ['=', '+', '-', '@', '＝', '＋', '－', '＠', '\u{fe66}', '\u{fe62}', '\u{fe63}', '\u{fe6b}'];

/// Returns true for an invisible character that chooses the form of the character before it.
fn is_variation_selector(c: char) -> bool {
    matches!(c, '\u{180b}'..='\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Returns the text with a leading apostrophe if it needs one; spreadsheets treat it as text then.
pub fn guarded(text: &str) -> Cow<'_, str> {
    if needs_guard(text) { Cow::Owned(format!("'{text}")) } else { Cow::Borrowed(text) }
}

fn is_plain_number(text: &[u8]) -> bool {
    let unsigned = text.strip_prefix(b"-").unwrap_or(text);
    let digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let mut parts = unsigned.splitn(2, |byte| matches!(byte, b'.' | b','));
    parts.next().is_some_and(digits) && parts.next().is_none_or(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formula_gets_an_apostrophe() {
        for text in [
            "=1+1",
            "+1",
            "+1-1",
            "-1+1",
            "-",
            "--1",
            "-1.",
            "-.5",
            "-1,2,3",
            "-1.2.3",
            "@SUM(A1)",
            "\t=1",
            "\r=1",
            "\0=1",
            "＝1",
            "＋1",
            "－1",
            "＠x",
            "-1e5",
            "-１",
            "\n=1",
            " =1",
            "\u{a0}=1",
            "\u{feff}=1",
            "\u{200b}-1",
            "　＝1",
            " -1",
            "\u{fe0f}=1",
            "\u{e0100}+1",
            "\u{fe62}1",
            "\u{fe63}1",
            "\u{fe66}1",
            "\u{fe6b}x",
        ] {
            assert!(needs_guard(text), "{text:?}");
            assert_eq!(guarded(text), format!("'{text}"));
        }
    }

    #[test]
    fn number_and_plain_text_stay_unchanged() {
        for text in ["", "1", "-1", "-1.5", "-1,5", "007", "a=b", "'=1", " a=1", "（", "ﾟ", " "]
        {
            assert!(!needs_guard(text), "{text:?}");
            assert_eq!(guarded(text), text);
        }
    }
}
