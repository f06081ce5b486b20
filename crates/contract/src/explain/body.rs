//! The bodies that may have been signed instead of the one that was given: changes that are not about JSON.

use std::borrow::Cow;

use base64::Engine;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::header::{STANDARD, URL_SAFE};
use super::hypothesis::Hypothesis;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// What is known of the body.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub(super) body: &'a [u8],
    /// What `Content-Length` said.
    pub(super) length: Option<u64>,
}

/// A way in which a body is changed, and what it may have been before.
type Change = (Hypothesis, fn(Given<'_>) -> Vec<Vec<u8>>);

/// What is tried, the likeliest first.
pub(super) const CHANGES: &[Change] = &[
    (Hypothesis::LineFeedAdded, line_feed_added),
    (Hypothesis::LineFeedLost, |given| vec![with(given.body, b"\n"), with(given.body, b"\r\n")]),
    (Hypothesis::BodyTooLong, too_long),
    (Hypothesis::BomAdded, |given| {
        given.body.strip_prefix(BOM).map(<[u8]>::to_vec).into_iter().collect()
    }),
    (Hypothesis::BodyInString, in_string),
    (Hypothesis::BodyBase64, base64),
    (Hypothesis::LineEndings, line_endings),
    (Hypothesis::Charset, charset),
    (Hypothesis::BodySpaced, |given| vec![given.body.trim_ascii().to_vec()]),
    (Hypothesis::SignedData, |given| data(given.body).into_iter().collect()),
    (Hypothesis::BomLost, |given| vec![with(BOM, given.body)]),
];

fn with(first: &[u8], second: &[u8]) -> Vec<u8> {
    [first, second].concat()
}

fn line_feed_added(given: Given<'_>) -> Vec<Vec<u8>> {
    let body = given.body;
    let one = body.strip_suffix(b"\r\n").or_else(|| body.strip_suffix(b"\n"));
    let Some(one) = one else { return Vec::new() };
    let end = body.iter().rposition(|byte| !b"\r\n".contains(byte)).map_or(0, |at| at + 1);
    vec![one.to_vec(), body[..end].to_vec()]
}

fn too_long(given: Given<'_>) -> Vec<Vec<u8>> {
    let length = given.length.and_then(|length| usize::try_from(length).ok());
    let cut = length.filter(|length| *length < given.body.len());
    cut.map(|length| given.body[..length].to_vec()).into_iter().collect()
}

/// What a string of JSON holds; or the string that holds the body.
fn in_string(given: Given<'_>) -> Vec<Vec<u8>> {
    if let Ok(inner) = serde_json::from_slice::<String>(given.body) {
        return vec![inner.into_bytes()];
    }
    let text = std::str::from_utf8(given.body).ok();
    text.and_then(|text| serde_json::to_vec(text).ok()).into_iter().collect()
}

fn base64(given: Given<'_>) -> Vec<Vec<u8>> {
    let text = given.body.trim_ascii();
    let decoded = STANDARD.decode(text).or_else(|_| URL_SAFE.decode(text));
    decoded.ok().filter(|decoded| !decoded.is_empty()).into_iter().collect()
}

fn line_endings(given: Given<'_>) -> Vec<Vec<u8>> {
    let (mut short, mut long) = (Vec::new(), Vec::new());
    for (at, byte) in given.body.iter().enumerate() {
        match byte {
            b'\r' if given.body.get(at + 1) == Some(&b'\n') => {}
            b'\n' => {
                short.push(b'\n');
                long.extend_from_slice(b"\r\n");
            }
            byte => {
                short.push(*byte);
                long.push(*byte);
            }
        }
    }
    vec![short, long]
}

/// The body before it was taken for Latin-1 or Windows-1252, or written as that, or as UTF-16.
fn charset(given: Given<'_>) -> Vec<Vec<u8>> {
    let body = given.body;
    let mut before = Vec::new();
    if let Some(text) = utf16(body) {
        let bare = text.trim_end_matches(['\r', '\n']).as_bytes().to_vec();
        before.extend([text.into_bytes(), bare]);
    }
    if body.is_ascii() {
        return before;
    }
    if let Ok(text) = std::str::from_utf8(body) {
        before.extend(text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect::<Option<_>>());
        before.extend(text.chars().map(windows_1252).collect::<Option<_>>());
    }
    before.push(body.iter().copied().map(char::from).collect::<String>().into_bytes());
    before
}

/// The text of UTF-16, with its mark or with a zero in every other byte.
fn utf16(body: &[u8]) -> Option<String> {
    let (pairs, []) = body.as_chunks::<2>() else { return None };
    let little = match body {
        [0xff, 0xfe, ..] | [_, 0, ..] => true,
        [0xfe, 0xff, ..] | [0, _, ..] => false,
        _ => return None,
    };
    let unit =
        |pair: &[u8; 2]| if little { u16::from_le_bytes(*pair) } else { u16::from_be_bytes(*pair) };
    let text: Result<String, _> = char::decode_utf16(pairs.iter().map(unit)).collect();
    text.ok().map(|text| text.trim_start_matches('\u{feff}').to_owned())
}

/// The byte of a character in Windows-1252.
fn windows_1252(c: char) -> Option<u8> {
    /// What the bytes from 0x80 to 0x9f mean.
    const HIGH: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž',
        '\u{8f}', '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}',
        'ž', 'Ÿ',
    ];
    let high = HIGH.iter().position(|high| *high == c).and_then(|at| u8::try_from(at).ok());
    high.map(|at| 0x80 + at).or_else(|| u8::try_from(u32::from(c)).ok())
}

/// The text of `data`.
fn data(body: &[u8]) -> Option<Vec<u8>> {
    #[derive(Deserialize)]
    struct Body<'a> {
        #[serde(borrow)]
        data: &'a RawValue,
    }
    let body: Body<'_> = serde_json::from_slice(body).ok()?;
    Some(body.data.get().as_bytes().to_vec())
}

/// The `submission_id` of a body.
pub(super) fn submission_id(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Body<'a> {
        #[serde(borrow)]
        submission_id: Cow<'a, str>,
    }
    let body: Body<'_> = serde_json::from_slice(body).ok()?;
    Some(body.submission_id.into_owned())
}
