//! A request as something to keep or to run: a message of HTTP, or a command of curl.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use formsvc_contract::send::Outgoing;
use formsvc_protocol::is_unsafe_in_terminals;
use http::{HeaderMap, HeaderValue, Method, header};
use url::Position;

use super::capture::Received;
use super::end_to_end::end_to_end;
use super::mask;
use crate::shell;

/// Longest body that stands in a command itself: systems bound the length of a word.
const WORD_MAX: usize = 64 << 10;
/// Headers that curl adds by itself, unless it is told not to.
const OF_CURL: [header::HeaderName; 4] =
    [header::ACCEPT, header::USER_AGENT, header::CONTENT_TYPE, header::EXPECT];

/// The request as it goes over a connection.
pub(crate) fn http(outgoing: &Outgoing, reveal: bool) -> Vec<u8> {
    let Outgoing { method, url, headers, body } = outgoing;
    let mut all = HeaderMap::with_capacity(headers.len() + 1);
    let host = &url[Position::BeforeHost..Position::AfterPort];
    if let (false, Ok(host)) = (headers.contains_key(header::HOST), HeaderValue::from_str(host)) {
        all.insert(header::HOST, host);
    }
    for (name, value) in headers {
        all.append(name, value.clone());
    }
    message(method, &url[Position::BeforePath..Position::AfterQuery], &all, body, reveal)
}

/// A request that came, as it went over its connection. Only how its body was framed is told anew.
pub(crate) fn received(received: &Received, reveal: bool) -> Vec<u8> {
    message(&received.method, &received.request_target, &received.headers, &received.body, reveal)
}

fn message(
    method: &Method,
    target: &str,
    headers: &HeaderMap,
    body: &[u8],
    reveal: bool,
) -> Vec<u8> {
    let mut message = format!("{method} {target} HTTP/1.1\r\n").into_bytes();
    for (name, value) in &mask::headers(headers, reveal) {
        if !matches!(*name, header::CONTENT_LENGTH | header::TRANSFER_ENCODING) {
            push_header(&mut message, name.as_str(), value.as_bytes(), b"\r\n");
        }
    }
    push_header(&mut message, "content-length", body.len().to_string().as_bytes(), b"\r\n\r\n");
    message.extend_from_slice(body);
    message
}

fn push_header(message: &mut Vec<u8>, name: &str, value: &[u8], end: &[u8]) {
    for part in [name.as_bytes(), b": ", value, end] {
        message.extend_from_slice(part);
    }
}

/// The request as a command that a POSIX shell runs, with a line feed at its end: curl sends the same
/// headers and the same bytes.
pub(crate) fn curl(outgoing: &Outgoing, reveal: bool) -> Vec<u8> {
    let Outgoing { method, url, headers, body } = outgoing;
    command(method, url.as_str(), headers, &Body::Here(body), reveal)
}

/// The same with the body in a file, which is read to the byte when the command runs.
pub(crate) fn curl_with_file(outgoing: &Outgoing, path: &str, reveal: bool) -> Vec<u8> {
    let Outgoing { method, url, headers, .. } = outgoing;
    command(method, url.as_str(), headers, &Body::File(path), reveal)
}

/// A request that came, as such a command, to the address that it came to.
pub(crate) fn curl_of(received: &Received, reveal: bool) -> Vec<u8> {
    let headers = end_to_end(&received.headers);
    let body = Body::Here(&received.body);
    command(&received.method, &address(received), &headers, &body, reveal)
}

/// The address that a request came to, as its sender wrote it.
pub(crate) fn address(received: &Received) -> String {
    let host = received.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.filter(|host| !host.is_empty()).unwrap_or("localhost");
    format!("http://{host}{}", received.request_target)
}

/// The body of a command.
enum Body<'a> {
    /// In it.
    Here(&'a [u8]),
    /// In a file.
    File(&'a str),
}

/// The body as a word of a command, if it is one that survives that, and being copied from a terminal.
fn word(body: &[u8]) -> Option<&str> {
    let is_plain = |c: char| c == '\n' || c == '\t' || !is_unsafe_in_terminals(c);
    let text = std::str::from_utf8(body).ok()?;
    let is_word = text.len() <= WORD_MAX && text.chars().all(|c| c != '\0' && is_plain(c));
    is_word.then_some(text)
}

fn command(
    method: &Method,
    url: &str,
    headers: &HeaderMap,
    body: &Body<'_>,
    reveal: bool,
) -> Vec<u8> {
    let mut command = Vec::new();
    // Unlike --data, the raw one means what it says where it begins with an @.
    let data: (&[u8], Cow<'_, str>) = match body {
        Body::File(path) => (b"\\\n  --data-binary", format!("@{path}").into()),
        Body::Here(body) => {
            if let Some(text) = word(body) {
                (b"\\\n  --data-raw", text.into())
            } else {
                command.extend_from_slice(b"base64 -d <<'END' |\n");
                for line in STANDARD.encode(body).as_bytes().chunks(76) {
                    command.extend_from_slice(line);
                    command.push(b'\n');
                }
                command.extend_from_slice(b"END\n");
                (b"\\\n  --data-binary", "@-".into())
            }
        }
    };
    command.extend_from_slice(b"curl --globoff --path-as-is");
    if *method != Method::POST {
        push_words(&mut command, &[b"--request", method.as_str().as_bytes()]);
    }
    push_words(&mut command, &[url.as_bytes()]);
    for (name, value) in &mask::headers(headers, reveal) {
        let header = if value.is_empty() {
            format!("{name};").into_bytes()
        } else {
            [name.as_str().as_bytes(), b": ", value.as_bytes()].concat()
        };
        push_words(&mut command, &[b"\\\n  --header", &header]);
    }
    for name in OF_CURL.iter().filter(|name| !headers.contains_key(*name)) {
        push_words(&mut command, &[b"\\\n  --header", format!("{name}:").as_bytes()]);
    }
    push_words(&mut command, &[data.0, data.1.as_bytes()]);
    command.push(b'\n');
    command
}

/// Adds words, the first as it is where there are two: a flag.
fn push_words(command: &mut Vec<u8>, words: &[&[u8]]) {
    for (at, word) in words.iter().enumerate() {
        command.push(b' ');
        let is_flag = at == 0 && words.len() > 1;
        match std::str::from_utf8(word) {
            Ok(text) if is_flag => command.extend_from_slice(text.as_bytes()),
            Ok(text) => command.extend_from_slice(shell::quoted(text).as_bytes()),
            // A quote ends a word whatever bytes stand before it.
            Err(_) => {
                command.push(b'\'');
                for byte in *word {
                    match byte {
                        b'\'' => command.extend_from_slice(br"'\''"),
                        byte => command.push(*byte),
                    }
                }
                command.push(b'\'');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use url::Url;

    use super::*;

    fn outgoing(url: &str, headers: &[(&'static str, &str)], body: &'static [u8]) -> Outgoing {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        let body = Bytes::from_static(body);
        Outgoing { method: Method::POST, url: Url::parse(url).unwrap(), headers: map, body }
    }

    #[test]
    fn a_message_is_framed_anew_and_else_as_it_is() {
        let headers =
            [("x-a", "1"), ("content-length", "9"), ("x-a", "2"), ("transfer-encoding", "chunked")];
        let sent = outgoing("http://u:p@host:8/a?b#c", &headers, b"\xff\n");
        assert_eq!(
            http(&sent, false),
            b"POST /a?b HTTP/1.1\r\nhost: host:8\r\nx-a: 1\r\nx-a: 2\r\ncontent-length: 2\r\n\r\n\xff\n"
        );
    }

    #[test]
    fn a_command_quotes_what_a_shell_would_act_on() {
        let headers = [
            ("x-a", "it's $(rm)"),
            ("x-empty", ""),
            ("accept", "*/*"),
            ("user-agent", "a"),
            ("content-type", "b"),
        ];
        let sent = outgoing("http://host/a?b=1&c", &headers, b"@it's\n`x`");
        let expected = r"curl --globoff --path-as-is 'http://host/a?b=1&c' \
  --header 'x-a: it'\''s $(rm)' \
  --header 'x-empty;' \
  --header 'accept: */*' \
  --header 'user-agent: a' \
  --header 'content-type: b' \
  --header expect: \
  --data-raw '@it'\''s
`x`'
";
        assert_eq!(String::from_utf8(curl(&sent, false)).unwrap(), expected);
    }

    #[test]
    fn a_body_in_a_file_is_named_and_headers_are_none_two_or_empty() {
        let sent = outgoing("http://host/", &[("x-a", ""), ("x-a", "2")], b"");
        let command = String::from_utf8(curl_with_file(&sent, "my body.json", true)).unwrap();
        assert!(command.ends_with("--data-binary '@my body.json'\n"), "{command}");
        assert!(
            command.contains("--header 'x-a;'") && command.contains("--header 'x-a: 2'"),
            "{command}"
        );
    }

    #[test]
    fn bytes_that_are_no_text_go_by_standard_input() {
        let sent = outgoing("http://host/", &[], b"a\0\xff");
        let command = String::from_utf8(curl(&sent, false)).unwrap();
        assert!(command.starts_with("base64 -d <<'END' |\nYQD/\nEND\ncurl "), "{command}");
        assert!(command.ends_with("--data-binary @-\n"), "{command}");
    }
}
