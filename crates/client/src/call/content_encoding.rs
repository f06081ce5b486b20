//! Decodes the content encoding of an answer: gzip, or none.

use std::io::{self, Read};

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use http::HeaderMap;
use http::header::CONTENT_ENCODING;

/// `Accept-Encoding` of every request. Without it, any encoding would be acceptable (RFC 9110 §12.5.3).
pub(super) const ACCEPTED: &str = "gzip";

/// Why a body could not be decoded.
#[derive(Debug)]
pub(super) enum ContentEncodingError {
    /// The decoded body is larger than allowed.
    TooLarge,
    /// The encoding is not gzip: the value of the header.
    Unsupported(String),
    /// The body is not gzip, or is damaged.
    Damaged(io::Error),
    /// The body ends before the gzip stream does.
    Truncated(io::Error),
}

/// Returns the body without its content encoding, of at most `max` bytes.
pub(super) fn decode(
    headers: &HeaderMap,
    body: &Bytes,
    max: usize,
) -> Result<Bytes, ContentEncodingError> {
    if !is_gzip(headers)? {
        return Ok(body.clone());
    }
    let (decoded, end) = gunzip(body, max.saturating_add(1));
    match end {
        // Checked first: whether the rest is damaged does not matter then.
        _ if decoded.len() > max => Err(ContentEncodingError::TooLarge),
        Ok(()) => Ok(decoded.into()),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Err(ContentEncodingError::Truncated(error))
        }
        Err(error) => Err(ContentEncodingError::Damaged(error)),
    }
}

/// Returns the beginning of the body of an error without its content encoding, as far as it can be
/// decoded; the body as it is when nothing can be.
pub(super) fn decode_start(headers: &HeaderMap, body: &Bytes, max: usize) -> Bytes {
    match is_gzip(headers) {
        Ok(true) => match gunzip(body, max) {
            (decoded, Err(_)) if decoded.is_empty() => body.clone(),
            (decoded, _) => decoded.into(),
        },
        Ok(false) | Err(_) => body.clone(),
    }
}

/// Decodes up to `max` bytes; also returns them when the rest is damaged.
fn gunzip(body: &[u8], max: usize) -> (Vec<u8>, io::Result<()>) {
    let mut decoded = Vec::new();
    let end = MultiGzDecoder::new(body).take(max as u64).read_to_end(&mut decoded);
    (decoded, end.map(drop))
}

fn is_gzip(headers: &HeaderMap) -> Result<bool, ContentEncodingError> {
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
        _ => Err(ContentEncodingError::Unsupported(text)),
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
            let ContentEncodingError::Unsupported(name) = error else { panic!("{error:?}") };
            assert_eq!(name, values.join(", "));
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
        assert!(matches!(error, ContentEncodingError::Truncated(_)), "{error:?}");
        let plain = Bytes::from_static(b"{\"id\":\"usr_1\"}");
        let error = decode(&encoded_as(&["gzip"]), &plain, 99).unwrap_err();
        assert!(matches!(error, ContentEncodingError::Damaged(_)), "{error:?}");
        assert_eq!(decode_start(&encoded_as(&["gzip"]), &plain, 99), plain);
    }
}
