//! A request as something to keep or to run: a message of HTTP, or a command of curl.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use formsvc_contract::send::Outgoing;
use formsvc_protocol::is_unsafe_in_terminals;
use http::header;
use url::Position;

use super::mask;
use crate::shell;

/// Longest body that stands in a command itself: systems bound the length of a word.
const WORD_MAX: usize = 64 << 10;
/// Headers that curl adds by itself, unless it is told not to.
const OF_CURL: [header::HeaderName; 4] =
    [header::ACCEPT, header::USER_AGENT, header::CONTENT_TYPE, header::EXPECT];

/// The request as it goes over a connection.
pub(crate) fn http(outgoing: &Outgoing, reveal: bool) -> Vec<u8> {
    let url = &outgoing.url;
    let mut message = format!(
        "{} {} HTTP/1.1\r\nhost: {}\r\n",
        outgoing.method,
        &url[Position::BeforePath..Position::AfterQuery],
        &url[Position::BeforeHost..Position::AfterPort],
    )
    .into_bytes();
    for (name, value) in &mask::headers(&outgoing.headers, reveal) {
        if !matches!(*name, header::HOST | header::CONTENT_LENGTH | header::TRANSFER_ENCODING) {
            push_header(&mut message, name.as_str(), value.as_bytes(), b"\r\n");
        }
    }
    let length = outgoing.body.len().to_string();
    push_header(&mut message, "content-length", length.as_bytes(), b"\r\n\r\n");
    message.extend_from_slice(&outgoing.body);
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
    let body = &*outgoing.body;
    let text = std::str::from_utf8(body).ok().filter(|text| {
        // What does not survive being copied from a terminal, or being a word.
        let is_plain = |c: char| c == '\n' || c == '\t' || !is_unsafe_in_terminals(c);
        text.len() <= WORD_MAX && text.chars().all(|c| c != '\0' && is_plain(c))
    });
    let mut command = Vec::new();
    if text.is_none() {
        command.extend_from_slice(b"base64 -d <<'END' |\n");
        for line in STANDARD.encode(body).as_bytes().chunks(76) {
            command.extend_from_slice(line);
            command.push(b'\n');
        }
        command.extend_from_slice(b"END\n");
    }
    command.extend_from_slice(b"curl --globoff --path-as-is");
    if outgoing.method != http::Method::POST {
        push_words(&mut command, &[b"--request", outgoing.method.as_str().as_bytes()]);
    }
    push_words(&mut command, &[outgoing.url.as_str().as_bytes()]);
    for (name, value) in &mask::headers(&outgoing.headers, reveal) {
        let header = if value.is_empty() {
            format!("{name};").into_bytes()
        } else {
            [name.as_str().as_bytes(), b": ", value.as_bytes()].concat()
        };
        push_words(&mut command, &[b"\\\n  --header", &header]);
    }
    for name in OF_CURL.iter().filter(|name| !outgoing.headers.contains_key(*name)) {
        push_words(&mut command, &[b"\\\n  --header", format!("{name}:").as_bytes()]);
    }
    match text {
        // Unlike --data, it means what it says where it begins with an @.
        Some(text) => push_words(&mut command, &[b"\\\n  --data-raw", text.as_bytes()]),
        None => push_words(&mut command, &[b"\\\n  --data-binary", b"@-"]),
    }
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
            Ok(text) => command.extend_from_slice(quoted(text).as_bytes()),
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

fn quoted(text: &str) -> Cow<'_, str> {
    shell::quoted(text)
}
