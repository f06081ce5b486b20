//! Formats requests as curl commands for a POSIX shell. curl sends the same headers and body.
//!
//! Users paste these commands, and unknown senders wrote most of their content. Therefore the content is quoted
//! for the shell, and control characters and invisible characters are written by `printf` escapes.

use std::borrow::Cow;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use formsvc_contract::send::{Outgoing, SIGNATURE};
use formsvc_protocol::is_unsafe_in_terminals;
use http::{HeaderMap, Method, header};
use unicode_width::UnicodeWidthChar;

use super::address;
use crate::delivery::Delivery;
use crate::http::end_to_end;
use crate::mask;

/// Longest body that is passed as an argument, in bytes: systems limit the length of an argument.
const MAX_ARGUMENT: usize = 64 << 10;
/// Headers that curl adds unless the command disables them.
const ADDED_BY_CURL: [header::HeaderName; 4] =
    [header::ACCEPT, header::USER_AGENT, header::CONTENT_TYPE, header::EXPECT];

/// A curl command.
#[derive(Debug)]
pub struct CurlCommand {
    /// `curl` with its options and the URL, then each header, then the body.
    parts: Vec<String>,
}

impl CurlCommand {
    /// Returns the command on one line without a final line feed, so that a shell does not run it when it is
    /// pasted.
    pub fn on_one_line(&self) -> String {
        self.parts.join(" ")
    }

    /// Returns the command with each part on its own line, and with a final line feed.
    pub fn on_lines(&self) -> String {
        self.parts.join(" \\\n  ") + "\n"
    }
}

/// Returns the command that sends a request. Secrets are masked unless `reveal`.
pub fn curl(outgoing: &Outgoing, reveal: bool) -> CurlCommand {
    let Outgoing { method, url, headers, body } = outgoing;
    let (url, headers) = masked(url.as_str(), headers, reveal);
    command(method, &url, &headers, &BodyArgument::new(body))
}

/// Returns the command that sends a request with a fresh signature. All secrets but the signature are masked
/// unless `reveal`.
pub fn signed_curl(outgoing: &Outgoing, reveal: bool) -> CurlCommand {
    let Outgoing { method, url, headers, body } = outgoing;
    let mut shown = mask::headers(headers, reveal);
    if let Some(signature) = headers.get(SIGNATURE) {
        shown.insert(SIGNATURE, signature.clone());
    }
    command(method, &mask::target(url.as_str(), reveal), &shown, &BodyArgument::new(body))
}

/// Returns the command that sends a delivery again to its original URL.
pub(super) fn received(delivery: &Delivery, reveal: bool) -> CurlCommand {
    let (headers, body) = (end_to_end(&delivery.headers), BodyArgument::new(&delivery.body));
    let address = address(delivery);
    let (url, headers) = masked(&address, &headers, reveal);
    command(&delivery.summary.method, &url, &headers, &body)
}

fn masked<'a>(url: &'a str, headers: &HeaderMap, reveal: bool) -> (Cow<'a, str>, HeaderMap) {
    (mask::target(url, reveal), mask::headers(headers, reveal))
}

/// The body of a command.
struct BodyArgument {
    /// A command and a pipe that write the body to curl's standard input; empty if the body is an argument.
    input: String,
    flag: &'static str,
    value: String,
}

impl BodyArgument {
    fn new(body: &[u8]) -> Self {
        let text = std::str::from_utf8(body).ok();
        match text.filter(|text| text.len() <= MAX_ARGUMENT && !text.contains('\0')) {
            // Unlike --data, --data-raw does not read a file if the value begins with @.
            Some(text) if text.chars().all(is_plain) => {
                Self { input: String::new(), flag: "--data-raw", value: text.to_owned() }
            }
            Some(text) => {
                let format = printf_format(text.as_bytes());
                Self::from_input(format!("printf {format} | "))
            }
            // `printf` is a built-in command of the shell, so the system does not limit the length of its arguments.
            None => {
                let base64 = STANDARD.encode(body);
                Self::from_input(format!("printf %s '{base64}' | base64 -d | "))
            }
        }
    }

    fn from_input(input: String) -> Self {
        Self { input, flag: "--data-binary", value: "@-".to_owned() }
    }
}

fn command(method: &Method, url: &str, headers: &HeaderMap, body: &BodyArgument) -> CurlCommand {
    let mut first = format!("{}curl --globoff --path-as-is ", body.input);
    if *method != Method::POST {
        // Writing to a `String` cannot fail.
        let _ = write!(first, "--request {} ", word(method.as_str().as_bytes()));
    }
    first += &word(url.as_bytes());
    let mut parts = vec![first];
    for (name, value) in headers {
        let header = if value.is_empty() {
            format!("{name};").into_bytes()
        } else {
            [name.as_str().as_bytes(), b": ", value.as_bytes()].concat()
        };
        parts.push(format!("--header {}", word(&header)));
    }
    for name in ADDED_BY_CURL.iter().filter(|name| !headers.contains_key(*name)) {
        parts.push(format!("--header {name}:"));
    }
    parts.push(format!("{} {}", body.flag, word(body.value.as_bytes())));
    CurlCommand { parts }
}

/// Returns true if a character is visible and has no effect on a terminal, so that it can be copied from a
/// screen.
fn is_plain(c: char) -> bool {
    let is_visible = !c.is_whitespace() && c.width().is_some_and(|cells| cells > 0);
    c == ' ' || is_visible && !is_unsafe_in_terminals(c)
}

/// Returns a shell word for these bytes.
fn word(bytes: &[u8]) -> String {
    let text = std::str::from_utf8(bytes).ok().filter(|text| text.chars().all(is_plain));
    let Some(text) = text else { return format!("\"$(printf {})\"", printf_format(bytes)) };
    let is_unquoted = |c: char| c.is_ascii_alphanumeric() || "-_./:,=%@+".contains(c);
    // zsh replaces `=ls` by the path of `ls`, so a word that begins with `=` is quoted.
    if !text.is_empty() && !text.starts_with('=') && text.chars().all(is_unquoted) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Returns a quoted format with which `printf` writes these bytes.
fn printf_format(bytes: &[u8]) -> String {
    let mut format = String::from("'");
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' => format.push_str("\\n"),
                '\t' => format.push_str("\\t"),
                '%' => format.push_str("%%"),
                '\\' => format.push_str("\\\\"),
                // A `-` at the start would begin an option.
                '-' if format.len() == 1 => push_octal(&mut format, b"-"),
                // `'` ends the word, and interactive shells expand `!`.
                c if is_plain(c) && c != '\'' && c != '!' => format.push(c),
                c => push_octal(&mut format, c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        push_octal(&mut format, chunk.invalid());
    }
    format + "'"
}

fn push_octal(format: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a `String` cannot fail.
        let _ = write!(format, "\\{byte:03o}");
    }
}

#[cfg(test)]
mod tests;
