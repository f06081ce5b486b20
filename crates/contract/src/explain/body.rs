//! The bodies that may have been signed instead of the given one.

use std::borrow::Cow;
use std::io;

use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

use super::Found;
use super::cause::Cause;
use super::header::decode_base64;

const BOM: &[u8] = b"\xef\xbb\xbf";
/// Name of an encoding, and the bytes with which its data begins.
const COMPRESSIONS: [(&str, &[u8]); 4] = [
    ("gzip", b"\x1f\x8b"),
    ("zstd", b"\x28\xb5\x2f\xfd"),
    ("zlib", b"\x78\x9c"),
    ("zlib", b"\x78\xda"),
];

/// Detail of a body whose numbers were printed again, such as 12.5 for 12.50.
pub(super) const LOST_ZERO: &str = "numbers lost a final zero";

/// A body that may have been signed, and how the given one differs from it.
pub(super) type SignedBody<'a> = (Option<Found>, Cow<'a, [u8]>);

/// The causes that are tried by changing the body.
pub(super) const BODY_CAUSES: [Cause; 6] = [
    Cause::BodyEnds,
    Cause::BodyEncoded,
    Cause::Charset,
    Cause::JsonPrinted,
    Cause::KeysSorted,
    Cause::NumberKeysFirst,
];

/// Returns the given body, then what it may have been before, the most likely first.
pub(super) fn bodies(body: &[u8]) -> Vec<SignedBody<'_>> {
    let mut all: Vec<SignedBody<'_>> = vec![(None, body.into())];
    let mut add = |cause, detail: &str, before: Cow<'_, [u8]>| {
        all.push((Some(Found::new(cause, Some(detail))), before.into_owned().into()));
    };
    let ends = body.trim_ascii_end();
    if ends.len() < body.len() {
        add(Cause::BodyEnds, "line break added", ends.into());
    }
    if let Some(rest) = body.strip_prefix(BOM) {
        add(Cause::BodyEnds, "byte order mark added", rest.into());
    }
    add(Cause::BodyEnds, "line break removed", [body, b"\n"].concat().into());
    add(Cause::BodyEnds, "line break removed", [body, b"\r\n"].concat().into());
    add(Cause::BodyEnds, "byte order mark removed", [BOM, body].concat().into());
    for (detail, printed) in printed(body.strip_prefix(BOM).unwrap_or(body)) {
        add(Cause::JsonPrinted, detail, printed.into());
    }
    if let Some(decoded) = decode_base64(body.trim_ascii()).filter(|decoded| !decoded.is_empty()) {
        add(Cause::BodyEncoded, "base64", decoded.into());
    }
    for (detail, before) in charsets(body) {
        add(Cause::Charset, detail, before.into());
    }
    all
}

/// Returns the name of the compression of a body.
pub(super) fn compression(body: &[u8]) -> Option<&'static str> {
    COMPRESSIONS.iter().find(|(_, magic)| body.starts_with(magic)).map(|(name, _)| *name)
}

/// Returns the body's JSON as others print it: the service, which is compact, and common libraries.
fn printed(body: &[u8]) -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    let all = [
        ("it was signed without white space", print(body, CompactFormatter)),
        (LOST_ZERO, print(body, ZeroFormatter)),
        ("it was signed as Python's json.dumps prints it", print(body, PythonFormatter)),
        ("it was signed with an indentation of 2 spaces", print(body, PrettyFormatter::new())),
    ];
    all.into_iter().filter_map(|(detail, printed)| Some((detail, printed?)))
}

/// Prints JSON in another format; `None` if the text is not JSON or nested deeper than 128 levels.
pub(super) fn print(body: &[u8], formatter: impl Formatter) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(body.len());
    let mut from = serde_json::Deserializer::from_slice(body);
    let mut to = Serializer::with_formatter(&mut out, formatter);
    serde_transcode::transcode(&mut from, &mut to).ok()?;
    from.end().ok()?;
    Some(out)
}

/// Compact, with a zero after each number with a fraction: 12.50 for 12.5.
pub(super) struct ZeroFormatter;

impl Formatter for ZeroFormatter {
    fn write_f64<W: ?Sized + io::Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        CompactFormatter.write_f64(out, value)?;
        out.write_all(b"0")
    }
}

/// A space after each comma and colon, and ASCII only.
struct PythonFormatter;

impl Formatter for PythonFormatter {
    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.begin_array_value(out, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }

    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        for unit in fragment.encode_utf16() {
            match u8::try_from(unit) {
                Ok(byte) if byte.is_ascii() => out.write_all(&[byte])?,
                _ => write!(out, "\\u{unit:04x}")?,
            }
        }
        Ok(())
    }
}

/// Returns the body before it was decoded as one character set and encoded as another.
fn charsets(body: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut before = Vec::new();
    if let Some(text) = utf16_text(body) {
        before.push(("it is UTF-16", text.trim_end().as_bytes().to_vec()));
    }
    if body.is_ascii() {
        return before;
    }
    if let Ok(text) = std::str::from_utf8(body) {
        let bytes: Option<Vec<u8>> = text.chars().map(windows_1252).collect();
        before.extend(bytes.map(|bytes| ("UTF-8 was read as Windows-1252", bytes)));
    }
    let text: String = body.iter().copied().map(char::from).collect();
    before.push(("it is Latin-1", text.into_bytes()));
    before
}

/// The text of little-endian UTF-16 with a byte order mark, as a Windows shell writes it.
fn utf16_text(body: &[u8]) -> Option<String> {
    let (units, []) = body.strip_prefix(b"\xff\xfe")?.as_chunks::<2>() else { return None };
    char::decode_utf16(units.iter().map(|unit| u16::from_le_bytes(*unit)))
        .collect::<Result<_, _>>()
        .ok()
}

/// The byte of a character in Windows-1252, of which Latin-1 is a part.
fn windows_1252(c: char) -> Option<u8> {
    const FROM_0X80: &str = "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}Ž\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}žŸ";
    let high = FROM_0X80.chars().position(|high| high == c).and_then(|at| u8::try_from(at).ok());
    high.map(|at| 0x80 + at).or_else(|| u8::try_from(u32::from(c)).ok())
}
