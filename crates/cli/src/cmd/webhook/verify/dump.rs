//! An HTTP request as text: what `--http` of `sign` writes, proxies log and people paste.

use bytes::Bytes;

use super::source::Headers;

/// The headers and the body of a request, with or without its first line. Lines may end in CRLF or in LF;
/// a line that begins with space goes on where the one before ended. A body that is longer than its
/// `Content-Length` is cut there, since what follows belongs to something else; a chunked one is put
/// together.
pub(super) fn read(text: &Bytes) -> Result<(Headers, Bytes), String> {
    let (head, body_at) = head(text).ok_or("no empty line ends its head")?;
    let mut headers = Headers::default();
    for (number, line) in head.into_iter().enumerate() {
        if line.first().is_some_and(u8::is_ascii_whitespace) {
            let Some((_, value)) = headers.0.last_mut() else { continue };
            // Folded: the line break and the space after it are one space.
            value.push(b' ');
            value.extend_from_slice(line.trim_ascii());
            continue;
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let name = colon.map(|at| &line[..at]).filter(|name| is_name(name));
        match (name, colon) {
            (Some(name), Some(at)) => {
                let name = String::from_utf8_lossy(name).to_ascii_lowercase();
                headers.0.push((name, line[at + 1..].trim_ascii().to_vec()));
            }
            _ if number == 0 => {}
            _ => return Err(format!("line {} of its head is no header", number + 1)),
        }
    }
    let body = text.slice(body_at..);
    let body = match headers.get("transfer-encoding") {
        Some(coding) if coding.eq_ignore_ascii_case(b"chunked") => unchunked(&body).unwrap_or(body),
        _ => body,
    };
    let length = headers
        .get("content-length")
        .and_then(|length| std::str::from_utf8(length).ok()?.parse::<usize>().ok());
    let body = match length {
        Some(length) if length < body.len() => body.slice(..length),
        _ => body,
    };
    Ok((headers, body))
}

/// The lines of the head, and where the body begins.
fn head(text: &[u8]) -> Option<(Vec<&[u8]>, usize)> {
    let (mut lines, mut at) = (Vec::new(), 0);
    loop {
        let end = at + text[at..].iter().position(|byte| *byte == b'\n')?;
        let line = text[at..end].strip_suffix(b"\r").unwrap_or(&text[at..end]);
        at = end + 1;
        match line {
            // Empty lines before the first are passed over.
            [] if lines.is_empty() => {}
            [] => return Some((lines, at)),
            line => lines.push(line),
        }
    }
}

/// `POST /hook HTTP/1.1` has no colon before a space, unless its address has one.
fn is_name(name: &[u8]) -> bool {
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !name.is_empty() && name.iter().all(is_token)
}

/// The body that came in chunks; none if these are no chunks.
fn unchunked(text: &[u8]) -> Option<Bytes> {
    let (mut body, mut rest) = (Vec::new(), text);
    loop {
        let end = rest.windows(2).position(|pair| pair == b"\r\n")?;
        let size = std::str::from_utf8(&rest[..end]).ok()?.split(';').next()?.trim();
        let size = usize::from_str_radix(size, 16).ok()?;
        rest = &rest[end + 2..];
        if size == 0 {
            return Some(body.into());
        }
        let (chunk, after) = rest.split_at_checked(size)?;
        body.extend_from_slice(chunk);
        rest = after.strip_prefix(b"\r\n")?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &'static [u8]) -> (Vec<(String, String)>, Bytes) {
        let (headers, body) = read(&Bytes::from_static(text)).unwrap();
        let text = |value: Vec<u8>| String::from_utf8(value).unwrap();
        (headers.0.into_iter().map(|(name, value)| (name, text(value))).collect(), body)
    }

    #[test]
    fn head_and_body_are_told_apart_whatever_ends_the_lines() {
        for text in [
            &b"POST /a:b HTTP/1.1\r\nX-Service-Signature: t=1,v1=a\r\nHost: x\r\n\r\n{}\n"[..],
            b"\nPOST https://h/a HTTP/1.1\nx-service-signature:t=1,v1=a\nHost: x\n\n{}\n",
            b"X-SERVICE-SIGNATURE: t=1,v1=a \nhost: x\n\n{}\n",
        ] {
            let (headers, body) = split(text);
            let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
            assert_eq!(headers, [own("x-service-signature", "t=1,v1=a"), own("host", "x")]);
            assert_eq!(&body[..], b"{}\n");
        }
    }

    #[test]
    fn a_folded_header_is_one_and_the_length_is_believed_where_there_is_more() {
        let (headers, body) = split(b"POST / HTTP/1.1\nsig: a,\n  b\nContent-Length: 2\n\n{}\n\n");
        assert_eq!(headers[0].1, "a, b");
        assert_eq!(&body[..], b"{}");
        let (_, body) = split(b"POST / HTTP/1.1\nContent-Length: 9\n\n{}");
        assert_eq!(&body[..], b"{}");
    }

    #[test]
    fn chunks_are_put_together_and_what_is_none_stays() {
        let head = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
        let with = |body: &[u8]| Bytes::from([head, body].concat());
        let body = |text: &[u8]| read(&with(text)).unwrap().1;
        assert_eq!(&body(b"2\r\n{}\r\n1;a=b\r\n\n\r\n0\r\n\r\n")[..], b"{}\n");
        assert_eq!(&body(b"{\"a\":1}")[..], b"{\"a\":1}");
        assert_eq!(&body(b"ffffffffffffffff\r\nx")[..], b"ffffffffffffffff\r\nx");
    }

    #[test]
    fn what_is_no_request_is_refused() {
        for bad in [&b"{}"[..], b"", b"POST / HTTP/1.1\nbad line\n\n", b"a: b"] {
            assert!(read(&Bytes::from_static(bad)).is_err(), "{}", bad.escape_ascii());
        }
    }
}
