//! Checks the text of an API key or a signing secret for damage from copying.

use crate::error_text::error_text;
use crate::printable::{is_stray_selector, is_unsafe_in_terminals};

/// Quotation marks that env files, shells and word processors put around a value.
const QUOTATION_MARKS: &[char] = &['"', '\'', '`', '“', '”', '„', '‘', '’', '‚', '«', '»'];

/// A problem in the text of an API key or a signing secret. Never contains the text.
///
/// Display is a fragment that completes a sentence about the secret: "the API key *is empty*".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretTextError(pub(crate) String);

error_text!(SecretTextError, |error| &error.0);

/// Checks that a secret is not empty, not in quotation marks, and contains visible characters only.
///
/// Such a text can be a valid HMAC key or a valid header value, so without this check the mistake
/// shows up later, as a signature that does not match or as a refused key. A space between visible
/// characters is accepted; callers with stricter rules check them as well.
///
/// ```
/// use formsvc_protocol::check_secret_text;
/// assert!(check_secret_text("whsec_1").is_ok());
/// let error = check_secret_text("whsec_1\n").unwrap_err();
/// assert_eq!(error.to_string(), "contains the invisible character U+000A; copy it again");
/// ```
pub fn check_secret_text(text: &str) -> Result<(), SecretTextError> {
    let ends = [text.chars().next(), text.chars().next_back()].into_iter().flatten();
    let mut previous = None;
    let mut hidden = text.chars().filter(|c| {
        let is_space = c.is_whitespace() && *c != ' ';
        is_space || is_unsafe_in_terminals(*c) || is_stray_selector(previous.replace(*c), *c)
    });
    if text.is_empty() {
        return Err(SecretTextError("is empty".to_owned()));
    }
    if let Some(c) = hidden.next().or(ends.clone().find(|c| *c == ' ')) {
        let code = u32::from(c);
        let rule = format!("contains the invisible character U+{code:04X}; copy it again");
        return Err(SecretTextError(rule));
    }
    match ends.clone().find(|c| QUOTATION_MARKS.contains(c)) {
        Some(mark) => Err(SecretTextError(format!(
            "begins or ends with a quotation mark ({mark}); remove the quotation marks"
        ))),
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
    fn damaged_secret_is_refused_with_the_character() {
        for (text, problem) in [
            ("", "is empty"),
            ("\"fsk_1\"", "a quotation mark (\")"),
            ("'fsk_1'", "a quotation mark (')"),
            ("`fsk_1`", "a quotation mark (`)"),
            ("“fsk_1”", "a quotation mark (“)"),
            ("fsk_1\"", "a quotation mark (\")"),
            ("\"", "a quotation mark (\")"),
            ("fsk_1\n", "U+000A"),
            ("\"fsk_1\"\r", "U+000D"),
            (" fsk_1", "U+0020"),
            ("fsk_1 ", "U+0020"),
            ("fsk\u{200b}_1", "U+200B"),
            ("\u{feff}fsk_1", "U+FEFF"),
            ("fsk_1\u{a0}", "U+00A0"),
            ("fsk\u{3000}_1", "U+3000"),
            ("fsk_1\0", "U+0000"),
            ("fsk_1\u{1b}[A", "U+001B"),
            ("fsk\u{fe0e}_1", "U+FE0E"),
        ] {
            let error = check_secret_text(text).unwrap_err().to_string();
            assert!(error.contains(problem) && !error.contains("fsk"), "{text:?}: {error}");
        }
    }
}
