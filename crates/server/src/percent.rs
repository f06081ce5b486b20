//! Percent-encoding, undone to the letter.

use std::borrow::Cow;

/// What `+` means: a space in queries and forms, itself in paths.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Plus {
    IsSpace,
    IsItself,
}

/// Percent-decodes; `None` for a `%` without two hex digits, and for what is then not UTF-8.
pub(crate) fn decode(text: &str, plus: Plus) -> Option<Cow<'_, str>> {
    if !text.bytes().any(|byte| byte == b'%' || (byte == b'+' && plus == Plus::IsSpace)) {
        return Some(Cow::Borrowed(text));
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => hex_digit(bytes.next()?)? << 4 | hex_digit(bytes.next()?)?,
            b'+' if plus == Plus::IsSpace => b' ',
            other => other,
        });
    }
    String::from_utf8(decoded).ok().map(Cow::Owned)
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn whatever_is_encoded_decodes_to_itself(text in "\\PC{0,20}") {
            let encoded: Vec<_> = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
            let encoded = encoded.concat();
            prop_assert_eq!(decode(&encoded, Plus::IsSpace).unwrap(), text);
        }
    }
}
