//! Parses HTTP requests as text, for example from the log of a proxy.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use httparse::Status;

/// Maximum number of headers of a dump.
const MAX_HEADERS: usize = 128;
/// Longest head of a dump, in bytes.
const MAX_HEAD: usize = 256 << 10;

/// A text cannot be parsed as an HTTP request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DumpError {
    #[error("no empty line ends the headers within {} KiB", MAX_HEAD >> 10)]
    NoHead,
    #[error("the headers are malformed: {0}")]
    Malformed(httparse::Error),
}

/// Parses a request, with or without the request line. Lines end with CRLF or LF. A body that is longer than its
/// `Content-Length` is truncated, and a chunked body is decoded.
pub fn parse_dump(dump: &Bytes) -> Result<(HeaderMap, Bytes), DumpError> {
    let dump = dump.slice_ref(dump.trim_ascii_start());
    let mut head = dump[..head_length(&dump).ok_or(DumpError::NoHead)?].to_vec();
    // Join continuation lines: replace the line break by spaces.
    for at in 1..head.len() {
        if head[at - 1] == b'\n' && matches!(head[at], b' ' | b'\t') {
            head[at - 1] = b' ';
            if at > 1 && head[at - 2] == b'\r' {
                head[at - 2] = b' ';
            }
        }
    }
    let first = head.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let has_request_line = head[..first].windows(6).any(|part| part == b" HTTP/");
    let headers = parse_headers(&head[if has_request_line { first } else { 0 }..])?;
    let body = dump.slice(head.len()..);
    let is_chunked = headers
        .get(header::TRANSFER_ENCODING)
        .is_some_and(|coding| coding.as_bytes().eq_ignore_ascii_case(b"chunked"));
    if is_chunked {
        // Some programs log the decoded body of a chunked request.
        let body = decode_chunks(&body).unwrap_or(body);
        return Ok((headers, body));
    }
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let length = length.and_then(|length| length.parse().ok()).unwrap_or(body.len());
    let body = body.slice(..length.min(body.len()));
    Ok((headers, body))
}

/// Returns the length of the head, including the empty line at its end.
fn head_length(dump: &[u8]) -> Option<usize> {
    let head = &dump[..dump.len().min(MAX_HEAD)];
    (0..head.len()).filter(|at| head[*at] == b'\n').find_map(|at| match head[at + 1..] {
        [b'\n', ..] => Some(at + 2),
        [b'\r', b'\n', ..] => Some(at + 3),
        _ => None,
    })
}

fn parse_headers(head: &[u8]) -> Result<HeaderMap, DumpError> {
    let mut parsed = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let parsed = match httparse::parse_headers(head, &mut parsed).map_err(DumpError::Malformed)? {
        Status::Complete((_, parsed)) => parsed,
        Status::Partial => return Err(DumpError::NoHead),
    };
    let mut headers = HeaderMap::new();
    for httparse::Header { name, value } in parsed {
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| DumpError::Malformed(httparse::Error::HeaderName))?;
        let value = HeaderValue::from_bytes(value)
            .map_err(|_| DumpError::Malformed(httparse::Error::HeaderValue))?;
        headers.append(name, value);
    }
    Ok(headers)
}

/// Decodes a chunked body. Returns `None` if the body is not chunked, or if it is incomplete.
fn decode_chunks(mut rest: &[u8]) -> Option<Bytes> {
    let mut body = Vec::new();
    loop {
        let Ok(Status::Complete((start, size))) = httparse::parse_chunk_size(rest) else {
            return None;
        };
        if size == 0 {
            return Some(body.into());
        }
        let (chunk, after) = rest[start..].split_at_checked(usize::try_from(size).ok()?)?;
        body.extend_from_slice(chunk);
        rest = after.strip_prefix(b"\r\n")?;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(dump: &'static [u8]) -> (Vec<(String, String)>, Bytes) {
        let (headers, body) = parse_dump(&Bytes::from_static(dump)).unwrap();
        let text = |value: &HeaderValue| value.to_str().unwrap().to_owned();
        (headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect(), body)
    }

    #[test]
    fn dump_is_split_into_headers_and_body() {
        for dump in [
            &b"POST /a:b HTTP/1.1\r\nX-Service-Signature: t=1,v1=a\r\nHost: x\r\n\r\n{}\n"[..],
            b"\nPOST https://h/a HTTP/2\nx-service-signature:t=1,v1=a\nHost: x\n\n{}\n",
            b"X-SERVICE-SIGNATURE: t=1,v1=a \nhost: x\n\n{}\n",
        ] {
            let (headers, body) = parse(dump);
            let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
            assert_eq!(headers, [own("x-service-signature", "t=1,v1=a"), own("host", "x")]);
            assert_eq!(&body[..], b"{}\n");
        }
        assert_eq!(parse(b"POST / HTTP/1.1\n\n  {}").1, b"  {}"[..]);
    }

    #[test]
    fn continued_header_is_joined_and_long_body_is_cut() {
        let (headers, body) =
            parse(b"POST / HTTP/1.1\r\nsig: a,\r\n\tb\nContent-Length: 2\n\n{}\n\n");
        assert_eq!(headers[0].1.split_whitespace().collect::<Vec<_>>(), ["a,", "b"]);
        assert_eq!(&body[..], b"{}");
        assert_eq!(parse(b"POST / HTTP/1.1\nContent-Length: 9\n\n{}").1, b"{}"[..]);
    }

    #[test]
    fn chunked_body_is_decoded_unless_it_already_was() {
        let head = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n";
        let body = |body: &[u8]| parse_dump(&[head, body].concat().into()).unwrap().1;
        assert_eq!(body(b"2\r\n{}\r\n1;a=b\r\n\n\r\n0\r\n\r\n"), b"{}\n"[..]);
        for other in [&b"{\"a\":1}"[..], b"ffffffffffffffff\r\nx", b"9\r\n{}", b""] {
            assert_eq!(body(other), other);
        }
    }

    #[test]
    fn text_without_request_is_an_error() {
        let too_long = format!("a: {}\n\n", "x".repeat(MAX_HEAD));
        for bad in [&b"{}"[..], b"", b"a: b", too_long.as_bytes()] {
            assert_eq!(parse_dump(&Bytes::copy_from_slice(bad)).unwrap_err(), DumpError::NoHead);
        }
        let many = "a: b\n".repeat(MAX_HEADERS + 1) + "\n";
        for bad in [&b"POST / HTTP/1.1\nbad line\n\n"[..], b"{\n\n}", many.as_bytes()] {
            let error = parse_dump(&Bytes::copy_from_slice(bad)).unwrap_err();
            assert!(matches!(error, DumpError::Malformed(_)), "{}", bad.escape_ascii());
        }
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_without_panic(
            dump in prop_oneof![any::<Vec<u8>>(), "[A-C:\r\n 0-2\t]{0,60}".prop_map(String::into_bytes)],
        ) {
            let _ = parse_dump(&dump.into());
        }
    }
}
