//! Where the parts of a JSON text end (RFC 8259). Each function takes the text and an offset into it,
//! and returns the offset after the part, or `None` when there is no such part. What they accept is
//! JSON to the last byte; nothing is built or copied.

use wide::u8x16;

/// Bytes looked at together.
const LANES: usize = 16;

/// A bit for each byte of a string that must be looked at: a quotation mark, a backslash, a control
/// character.
#[inline]
fn stops(bytes: u8x16) -> u32 {
    let control = bytes.min(u8x16::splat(0x1f)).simd_eq(bytes);
    (bytes.simd_eq(u8x16::splat(b'"')) | bytes.simd_eq(u8x16::splat(b'\\')) | control).to_bitmask()
}

/// The same, and for each comma.
#[inline]
fn stops_and_commas(bytes: u8x16) -> u32 {
    stops(bytes) | bytes.simd_eq(u8x16::splat(b',')).to_bitmask()
}

/// Where white space from `at` on ends.
#[inline]
pub(super) fn blank(text: &[u8], at: usize) -> usize {
    // Services print no white space.
    if text.get(at).is_some_and(|byte| *byte > b' ') { at } else { skip_blank(text, at) }
}

#[cold]
fn skip_blank(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = text.get(at) {
        at += 1;
    }
    at
}

/// After the byte, which white space may precede.
#[inline]
pub(super) fn expect(text: &[u8], at: usize, byte: u8) -> Option<usize> {
    let at = blank(text, at);
    (text.get(at) == Some(&byte)).then_some(at + 1)
}

/// Where a value ends, and whether it is plain: no list, no object, no backslash, no comma.
#[derive(Clone, Copy)]
pub(super) struct End {
    pub(super) at: usize,
    pub(super) plain: bool,
}

/// After the string literal that begins at `at`.
#[inline]
pub(super) fn string(text: &[u8], at: usize) -> Option<usize> {
    string_with(text, at, stops).map(|end| end.at)
}

/// The end of the string literal that begins at `at`, which is plain if it stops nowhere else.
#[inline]
fn string_with(text: &[u8], at: usize, stops: impl Fn(u8x16) -> u32) -> Option<End> {
    if *text.get(at)? != b'"' {
        return None;
    }
    let (mut at, mut plain) = (at + 1, true);
    loop {
        while let Some(chunk) = text.get(at..).and_then(<[u8]>::first_chunk::<LANES>) {
            let stops = stops(u8x16::new(*chunk));
            if stops != 0 {
                at += stops.trailing_zeros() as usize;
                break;
            }
            at += LANES;
        }
        match *text.get(at)? {
            b'"' => return Some(End { at: at + 1, plain }),
            b'\\' => (at, plain) = (escape(text, at)?, false),
            0..0x20 => return None,
            b',' => (at, plain) = (at + 1, false),
            // The last bytes of a text are looked at one by one.
            _ => at += 1,
        }
    }
}

/// After the escape that begins with the backslash at `at`. A surrogate may stand alone, as RFC 8259
/// has it.
#[inline(never)]
fn escape(text: &[u8], at: usize) -> Option<usize> {
    match *text.get(at + 1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 2),
        b'u' => {
            let digits = text.get(at + 2..at + 6)?;
            digits.iter().all(u8::is_ascii_hexdigit).then_some(at + 6)
        }
        _ => None,
    }
}

/// The end of the value that begins at `at`. `open` is room to note what is nested.
#[inline]
pub(super) fn value(text: &[u8], at: usize, open: &mut Vec<u8>) -> Option<End> {
    match *text.get(at)? {
        b'"' => string_with(text, at, stops_and_commas),
        b'{' | b'[' => Some(End { at: nested(text, at, open)?, plain: false }),
        _ => Some(End { at: scalar(text, at)?, plain: true }),
    }
}

#[inline]
fn scalar(text: &[u8], at: usize) -> Option<usize> {
    match *text.get(at)? {
        b'-' | b'0'..=b'9' => number(text, at),
        b't' => word(text, at, b"true"),
        b'f' => word(text, at, b"false"),
        b'n' => word(text, at, b"null"),
        _ => None,
    }
}

fn word(text: &[u8], at: usize, word: &[u8]) -> Option<usize> {
    text[at..].starts_with(word).then_some(at + word.len())
}

fn number(text: &[u8], mut at: usize) -> Option<usize> {
    if text.get(at) == Some(&b'-') {
        at += 1;
    }
    at = if text.get(at) == Some(&b'0') { at + 1 } else { digits(text, at)? };
    if text.get(at) == Some(&b'.') {
        at = digits(text, at + 1)?;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        let signed = matches!(text.get(at + 1), Some(b'+' | b'-'));
        at = digits(text, at + 1 + usize::from(signed))?;
    }
    Some(at)
}

fn digits(text: &[u8], at: usize) -> Option<usize> {
    let mut end = at;
    while text.get(end).is_some_and(u8::is_ascii_digit) {
        end += 1;
    }
    (end > at).then_some(end)
}

/// After the list or object that begins at `at`. Depth costs memory, not stack: `open` holds what
/// must close.
#[inline(never)]
fn nested(text: &[u8], mut at: usize, open: &mut Vec<u8>) -> Option<usize> {
    open.clear();
    loop {
        at = match *text.get(at)? {
            b'"' => string(text, at)?,
            b'{' => {
                let Some(end) = expect(text, at + 1, b'}') else {
                    open.push(b'}');
                    at = member(text, at + 1)?;
                    continue;
                };
                end
            }
            b'[' => {
                let Some(end) = expect(text, at + 1, b']') else {
                    open.push(b']');
                    at = blank(text, at + 1);
                    continue;
                };
                end
            }
            _ => scalar(text, at)?,
        };
        loop {
            let Some(close) = open.last().copied() else { return Some(at) };
            if let Some(next) = expect(text, at, b',') {
                at = if close == b'}' { member(text, next)? } else { blank(text, next) };
                break;
            }
            at = expect(text, at, close)?;
            open.pop();
        }
    }
}

/// The value of the member whose name begins at `at` or after it: where it begins.
fn member(text: &[u8], at: usize) -> Option<usize> {
    let name_end = string(text, blank(text, at))?;
    Some(blank(text, expect(text, name_end, b':')?))
}

/// Where the name of a member stands, as a literal.
#[derive(Clone, Copy)]
pub(super) struct Name {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Calls `each` with the name of every member of the object that begins at `at`, and where its value
/// begins; `each` returns where that ends. Returns where the object ends.
#[inline]
pub(super) fn members(
    text: &[u8],
    at: usize,
    mut each: impl FnMut(Name, usize) -> Option<usize>,
) -> Option<usize> {
    listed(text, at, [b'{', b'}'], |start| {
        let end = string(text, start)?;
        each(Name { start, end }, blank(text, expect(text, end, b':')?))
    })
}

/// Calls `each` with where each item of the list that begins at `at` begins; it returns where the
/// item ends. Returns where the list ends.
#[inline]
pub(super) fn items(
    text: &[u8],
    at: usize,
    each: impl FnMut(usize) -> Option<usize>,
) -> Option<usize> {
    listed(text, at, [b'[', b']'], each)
}

/// What stands between two brackets, with commas between.
#[inline]
fn listed(
    text: &[u8],
    at: usize,
    [open, close]: [u8; 2],
    mut each: impl FnMut(usize) -> Option<usize>,
) -> Option<usize> {
    if *text.get(at)? != open {
        return None;
    }
    if let Some(end) = expect(text, at + 1, close) {
        return Some(end);
    }
    let mut at = at + 1;
    loop {
        at = each(blank(text, at))?;
        match expect(text, at, b',') {
            Some(next) => at = next,
            None => return expect(text, at, close),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::value::RawValue;

    use super::*;

    /// Whether the whole text is one value, white space around it aside.
    fn accepts(text: &str) -> bool {
        let text = text.as_bytes();
        let end = value(text, blank(text, 0), &mut Vec::new());
        end.is_some_and(|end| blank(text, end.at) == text.len())
    }

    fn parser_accepts(text: &str) -> bool {
        serde_json::from_str::<&RawValue>(text).is_ok()
    }

    #[test]
    fn what_is_json_and_what_is_not() {
        for text in [
            "0",
            "-0",
            "1.5e-7",
            "1E+2",
            "\"\"",
            "\"a\\u00e9\\/\\\"\"",
            "\"\\ud800\"",
            "[]",
            "{}",
            " [ 1 , [ ] , { \"a\" : [ { } ] } ] ",
            "\"\u{7f}é\u{80}🙂 long enough for two words\"",
        ] {
            assert!(accepts(text) && parser_accepts(text), "{text}");
        }
        for text in [
            "",
            " ",
            "01",
            "-",
            "1.",
            ".5",
            "1e",
            "1e+",
            "+1",
            "tru",
            "nul",
            "truex",
            "\"",
            "\"\\",
            "\"\\x\"",
            "\"\\u00g0\"",
            "\"\\u00",
            "\"\n\"",
            "\"\u{1f}\"",
            "[",
            "[1",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{a:1}",
            "{\"a\":1",
            "[}",
            "{]",
            "[[]",
            "1 2",
            "'a'",
            "\u{feff}1",
            "\"a long text that does not end",
        ] {
            assert!(!accepts(text) && !parser_accepts(text), "{text}");
        }
    }

    #[test]
    fn plain_is_what_holds_no_comma_no_backslash_and_nothing_nested() {
        let plain = |text: &str| value(text.as_bytes(), 0, &mut Vec::new()).unwrap().plain;
        for at in 0..20 {
            let text = |special: &str| format!("\"{}{special}{}\"", "é".repeat(at), "x".repeat(at));
            assert!(plain(&text("")) && plain(&text("-")) && plain(&text("\u{2c00}")));
            assert!(!plain(&text(",")) && !plain(&text("\\n")) && !plain(&text("\\\"")));
            // What comes after the string is no part of it.
            assert!(plain(&format!("{},,,,,,,,", text(""))));
        }
        assert!(plain("1.5") && plain("null") && !plain("[]") && !plain("{}"));
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = 1_000_000;
        assert!(accepts(&format!("{}{}", "[".repeat(deep), "]".repeat(deep))));
        assert!(!accepts(&format!("{}{}", "[".repeat(deep), "]".repeat(deep - 1))));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn it_accepts_what_the_parser_accepts(
            text in "[\\[{]{0,2}([\\[\\]{}\",:\\\\ \n]|[0-9.eE+-]|true|null|\"a\"|\"\\\\u00e9\"|u|é){0,12}[\\]}]{0,2}"
        ) {
            prop_assert_eq!(accepts(&text), parser_accepts(&text));
        }

        #[test]
        fn it_accepts_no_string_that_the_parser_refuses(
            text in "(\\PC|[\\x00-\\x22\\\\]|\\\\[\"\\\\/bfnrtux]|\\\\u[0-9a-gA-G]{3,5}){0,24}"
        ) {
            let text = format!("\"{text}\"");
            prop_assert_eq!(accepts(&text), parser_accepts(&text));
        }
    }
}
