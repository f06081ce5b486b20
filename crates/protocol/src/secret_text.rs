//! Checks the text of an API key or a signing secret for damage from copying.

use std::fmt;

use crate::printable::{is_stray_selector, is_unsafe_in_terminals};

/// Quotation marks that env files, shells and word processors put around a value.
const QUOTATION_MARKS: &[char] = &['"', '\'', '`', '“', '”', '„', '‘', '’', '‚', '«', '»'];

/// A problem in the text of an API key or a signing secret. Never contains the text.
///
/// Display is a fragment that completes a sentence about the secret: "the API key *is empty*".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SecretTextError {
    /// There is no text.
    Empty,
    /// The first or the last character is this quotation mark.
    QuotationMark(char),
    /// The text contains this character, which is not visible: a control character, white space, a
    /// zero-width character or a byte order mark.
    InvisibleCharacter(char),
}

impl fmt::Display for SecretTextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("is empty"),
            Self::QuotationMark(mark) => write!(
                f,
                "begins or ends with a quotation mark ({mark}); remove the quotation marks"
            ),
            Self::InvisibleCharacter(c) => {
                write!(f, "contains the invisible character U+{:04X}; copy it again", u32::from(*c))
            }
        }
    }
}

impl std::error::Error for SecretTextError {}

/// Checks that a secret is not empty, not in quotation marks, and contains visible characters only.
///
/// Such a text can be a valid HMAC key or a valid header value, so without this check the mistake
/// shows up later, as a signature that does not match or as a refused key. A space between visible
/// characters is accepted; callers with stricter rules check them as well.
///
/// ```
/// use formsvc_protocol::{SecretTextError, check_secret_text};
/// assert_eq!(check_secret_text("whsec_1"), Ok(()));
/// assert_eq!(check_secret_text("\"whsec_1\""), Err(SecretTextError::QuotationMark('"')));
/// assert_eq!(check_secret_text("whsec_1\n"), Err(SecretTextError::InvisibleCharacter('\n')));
/// ```
pub fn check_secret_text(text: &str) -> Result<(), SecretTextError> {
    let Some(first) = text.chars().next() else { return Err(SecretTextError::Empty) };
    let last = text.chars().next_back().unwrap_or(first);
    let mut previous = None;
    for c in text.chars() {
        let is_space = c.is_whitespace() && c != ' ';
        if is_space || is_unsafe_in_terminals(c) || is_stray_selector(previous, c) {
            return Err(SecretTextError::InvisibleCharacter(c));
        }
        previous = Some(c);
    }
    if let Some(space) = [first, last].into_iter().find(|c| *c == ' ') {
        return Err(SecretTextError::InvisibleCharacter(space));
    }
    match [first, last].into_iter().find(|c| QUOTATION_MARKS.contains(c)) {
        Some(mark) => Err(SecretTextError::QuotationMark(mark)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_of_visible_characters_is_accepted() {
        for text in ["fsk_1", "schlüssel", "a\"b", "it's", "two words", "a=b/c+d==", "葛\u{e0100}"]
        {
            assert_eq!(check_secret_text(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn secret_in_quotation_marks_is_refused() {
        for (text, mark) in [
            ("\"fsk_1\"", '"'),
            ("'fsk_1'", '\''),
            ("`fsk_1`", '`'),
            ("“fsk_1”", '“'),
            ("fsk_1\"", '"'),
            ("'fsk_1", '\''),
            ("\"", '"'),
        ] {
            assert_eq!(
                check_secret_text(text),
                Err(SecretTextError::QuotationMark(mark)),
                "{text}"
            );
        }
    }

    #[test]
    fn secret_with_invisible_character_is_refused() {
        for (text, character) in [
            ("fsk_1\n", '\n'),
            ("\"fsk_1\"\r", '\r'),
            (" fsk_1", ' '),
            ("fsk_1 ", ' '),
            ("fsk\u{200b}_1", '\u{200b}'),
            ("\u{feff}fsk_1", '\u{feff}'),
            ("fsk_1\u{a0}", '\u{a0}'),
            ("fsk\u{3000}_1", '\u{3000}'),
            ("fsk_1\u{ad}", '\u{ad}'),
            ("fsk_1\0", '\0'),
            ("fsk_1\u{1b}[A", '\u{1b}'),
            ("fsk\u{fe0e}_1", '\u{fe0e}'),
        ] {
            let error = check_secret_text(text).unwrap_err();
            assert_eq!(error, SecretTextError::InvisibleCharacter(character), "{text:?}");
        }
    }

    #[test]
    fn message_names_the_problem_and_not_the_secret() {
        for (text, message) in [
            ("", "is empty"),
            ("\"s3cret\"", "begins or ends with a quotation mark (\"); remove the quotation marks"),
            ("s3c\u{200b}ret", "contains the invisible character U+200B; copy it again"),
        ] {
            assert_eq!(check_secret_text(text).unwrap_err().to_string(), message);
        }
    }
}
