//! Decodes the content encoding of an answer: gzip, or none.

use std::borrow::Cow;
use std::io::{self, Read};

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use http::HeaderMap;
use http::header::CONTENT_ENCODING;

use crate::decode::Broken;
use crate::error::{EscapedText, cut};

/// `Accept-Encoding` of every request. Without it, any encoding would be acceptable (RFC 9110 §12.5.3).
pub(super) const ACCEPTED: &str = "gzip";

/// Characters of an unknown encoding that an error shows.
const MAX_ENCODING_SHOWN: usize = 100;

/// A body that cannot be decoded.
#[derive(Debug)]
pub(super) enum ContentEncodingError {
    /// The decoded body is larger than allowed.
    TooLarge,
    /// The encoding is not supported, or the body is damaged or cut short.
    Broken(Broken),
}

/// Returns the body without its content encoding, of at most `max` bytes.
pub(super) fn decode(
    headers: &HeaderMap,
    body: &Bytes,
    max: usize,
) -> Result<Bytes, ContentEncodingError> {
    let broken = |truncated, what: Cow<'static, str>, why: String| {
        let body = body.to_vec();
        ContentEncodingError::Broken(Broken { truncated, what, json_path: None, why, body })
    };
    let is_gzip = is_gzip(headers).map_err(|encoding| {
        let encoding = EscapedText(cut(&encoding, MAX_ENCODING_SHOWN)).to_string();
        let what =
            format!("the answer's content encoding `{encoding}` is not supported, only gzip");
        broken(false, what.into(), String::new())
    })?;
    let (decoded, end) =
        if is_gzip { gunzip(body, max.saturating_add(1)) } else { (body.clone(), Ok(())) };
    match end {
        // Checked first: whether the rest is damaged does not matter then.
        _ if decoded.len() > max => Err(ContentEncodingError::TooLarge),
        Ok(()) => Ok(decoded),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Err(broken(true, "the answer is cut short".into(), error.to_string()))
        }
        Err(error) => Err(broken(
            false,
            "the answer is not the gzip it is declared to be".into(),
            error.to_string(),
        )),
    }
}

/// Returns the beginning of the body of an error without its content encoding, as far as it can be
/// decoded; the body as it is when nothing can be.
pub(super) fn decode_start(headers: &HeaderMap, body: &Bytes, max: usize) -> Bytes {
    match is_gzip(headers) {
        Ok(true) => match gunzip(body, max) {
            (decoded, Err(_)) if decoded.is_empty() => body.clone(),
            (decoded, _) => decoded,
        },
        Ok(false) | Err(_) => body.clone(),
    }
}

/// Decodes up to `max` bytes; also returns them when the rest is damaged.
fn gunzip(body: &[u8], max: usize) -> (Bytes, io::Result<()>) {
    let mut decoded = Vec::new();
    let end = MultiGzDecoder::new(body).take(max as u64).read_to_end(&mut decoded);
    (decoded.into(), end.map(drop))
}

/// Returns true for gzip and false without an encoding; the error is another encoding.
fn is_gzip(headers: &HeaderMap) -> Result<bool, String> {
    let values = headers.get_all(CONTENT_ENCODING).iter();
    let text: Vec<_> = values.map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
    let text = text.join(", ");
    let codings = text.split(',').map(str::trim);
    let mut codings =
        codings.filter(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case("identity"));
    match (codings.next(), codings.next()) {
        (None, _) => Ok(false),
        (Some(coding), None)
            if ["gzip", "x-gzip"].iter().any(|gzip| coding.eq_ignore_ascii_case(gzip)) =>
        {
            Ok(true)
        }
        _ => Err(text),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use http::HeaderValue;

    use super::*;

    fn encoded_as(values: &[&'static str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(CONTENT_ENCODING, HeaderValue::from_static(value));
        }
        headers
    }

    fn gzip(text: &[u8]) -> Bytes {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap().into()
    }

    #[test]
    fn gzip_is_decoded_and_identity_is_kept() {
        for values in [&["gzip"][..], &["GZIP"], &["x-gzip"], &["identity, gzip"], &["", "gzip"]] {
            let decoded = decode(&encoded_as(values), &gzip(b"{}"), 2).unwrap();
            assert_eq!(&decoded[..], b"{}", "{values:?}");
        }
        for values in [&[][..], &["identity"], &[""]] {
            let body = decode(&encoded_as(values), &Bytes::from_static(b"{}"), 2).unwrap();
            assert_eq!(&body[..], b"{}", "{values:?}");
        }
    }

    #[test]
    fn other_encoding_is_named() {
        for values in [&["br"][..], &["zstd"], &["deflate"], &["gzip, gzip"], &["gzip", "br"]] {
            let error = decode(&encoded_as(values), &gzip(b"{}"), 9).unwrap_err();
            let ContentEncodingError::Broken(broken) = error else { panic!("{error:?}") };
            assert!(broken.what.contains(&format!("`{}`", values.join(", "))), "{broken:?}");
            assert!(!broken.truncated);
        }
    }

    #[test]
    fn decompression_stops_at_the_limit() {
        let bomb = gzip(&vec![b' '; 10 << 20]);
        assert!(bomb.len() < 20_000, "{}", bomb.len());
        let error = decode(&encoded_as(&["gzip"]), &bomb, 1 << 20).unwrap_err();
        assert!(matches!(error, ContentEncodingError::TooLarge), "{error:?}");
        assert!(decode(&encoded_as(&["gzip"]), &bomb, 10 << 20).is_ok());
        assert_eq!(decode_start(&encoded_as(&["gzip"]), &bomb, 9).len(), 9);
    }

    #[test]
    fn cut_gzip_differs_from_damaged_gzip() {
        let whole = gzip(b"{\"id\":\"usr_1\"}");
        let cut = whole.slice(..whole.len() - 9);
        let error = decode(&encoded_as(&["gzip"]), &cut, 99).unwrap_err();
        assert!(matches!(error, ContentEncodingError::Broken(ref b) if b.truncated), "{error:?}");
        let plain = Bytes::from_static(b"{\"id\":\"usr_1\"}");
        let error = decode(&encoded_as(&["gzip"]), &plain, 99).unwrap_err();
        assert!(matches!(error, ContentEncodingError::Broken(ref b) if !b.truncated), "{error:?}");
        assert_eq!(decode_start(&encoded_as(&["gzip"]), &plain, 99), plain);
    }
}
