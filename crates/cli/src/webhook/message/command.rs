//! A request as a command of curl, which a POSIX shell runs: curl sends the same headers and the same bytes.
//!
//! People copy such commands, and strangers wrote most of what is in them. So nothing in one acts on a
//! terminal or a shell that it is pasted into, and nothing hides there: `printf` writes what would.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use formsvc_contract::send::Outgoing;
use formsvc_protocol::is_unsafe_in_terminals;
use http::{HeaderMap, Method, header};
use unicode_width::UnicodeWidthChar;

use super::address;
use crate::shell;
use crate::webhook::capture::Received;
use crate::webhook::end_to_end::end_to_end;
use crate::webhook::mask;

/// Longest body that stands in a command as text: systems bound the length of a word.
const TEXT_MAX: usize = 64 << 10;
/// Headers that curl adds by itself, unless it is told not to.
const OF_CURL: [header::HeaderName; 4] =
    [header::ACCEPT, header::USER_AGENT, header::CONTENT_TYPE, header::EXPECT];

/// A command.
#[derive(Debug)]
pub(crate) struct Command {
    /// Where and how, then each header, then the body.
    parts: Vec<String>,
}

impl Command {
    /// On one line without an end, so that it waits for whoever has pasted it.
    pub(crate) fn on_a_line(&self) -> Vec<u8> {
        self.parts.join(" ").into_bytes()
    }

    /// On lines to be read, of which a shell takes the last one's end for that of the command.
    pub(crate) fn in_lines(&self) -> Vec<u8> {
        (self.parts.join(" \\\n  ") + "\n").into_bytes()
    }
}

/// The request as a command.
pub(crate) fn curl(outgoing: &Outgoing, reveal: bool) -> Command {
    let Outgoing { method, url, headers, body } = outgoing;
    command(method, url.as_str(), headers, &Body::of(body), reveal)
}

/// The same with the body in a file, which is read to the byte when the command runs.
pub(crate) fn curl_with_file(outgoing: &Outgoing, path: &str, reveal: bool) -> Command {
    let Outgoing { method, url, headers, .. } = outgoing;
    let body = Body { input: String::new(), flag: "--data-binary", word: format!("@{path}") };
    command(method, url.as_str(), headers, &body, reveal)
}

/// A request that came, to the address that it came to.
pub(crate) fn curl_of(received: &Received, reveal: bool) -> Command {
    let headers = end_to_end(&received.headers);
    command(&received.method, &address(received), &headers, &Body::of(&received.body), reveal)
}

/// The body of a command.
struct Body {
    /// What stands before the command, and writes the body to it.
    input: String,
    flag: &'static str,
    word: String,
}

impl Body {
    fn of(body: &[u8]) -> Self {
        let text = std::str::from_utf8(body).ok();
        let text = text.filter(|text| text.len() <= TEXT_MAX && !text.contains('\0'));
        let input = match text {
            Some(text) if text.chars().all(is_plain) => {
                // Unlike --data, the raw one means what it says where it begins with an @.
                return Self { input: String::new(), flag: "--data-raw", word: text.to_owned() };
            }
            Some(text) => format!("printf {} | ", format_of(text.as_bytes())),
            // The shell's own printf takes a word of any length.
            None => format!("printf %s '{}' | base64 -d | ", STANDARD.encode(body)),
        };
        Self { input, flag: "--data-binary", word: "@-".to_owned() }
    }
}

fn command(method: &Method, url: &str, headers: &HeaderMap, body: &Body, reveal: bool) -> Command {
    let mut first = format!("{}curl --globoff --path-as-is", body.input);
    for flag in (*method != Method::POST).then(|| ["--request", method.as_str()]).iter().flatten() {
        first = format!("{first} {}", word(flag.as_bytes()));
    }
    let url = mask::target(url, reveal);
    let mut parts = vec![format!("{first} {}", word(url.as_bytes()))];
    for (name, value) in &mask::headers(headers, reveal) {
        let header = if value.is_empty() {
            format!("{name};").into_bytes()
        } else {
            [name.as_str().as_bytes(), b": ", value.as_bytes()].concat()
        };
        parts.push(format!("--header {}", word(&header)));
    }
    for name in OF_CURL.iter().filter(|name| !headers.contains_key(*name)) {
        parts.push(format!("--header {name}:"));
    }
    parts.push(format!("{} {}", body.flag, word(body.word.as_bytes())));
    Command { parts }
}

/// Whether a character is seen as what it is, and does nothing: it can be copied from a screen.
fn is_plain(c: char) -> bool {
    c == ' '
        || (!c.is_whitespace() && c.width().is_some_and(|cells| cells > 0))
            && !is_unsafe_in_terminals(c)
}

/// A word that a shell takes for these bytes.
fn word(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.chars().all(is_plain) => shell::quoted(text).into_owned(),
        _ => format!("\"$(printf {})\"", format_of(bytes)),
    }
}

/// What `printf` writes these bytes for, in quotation marks.
fn format_of(bytes: &[u8]) -> String {
    let mut format = String::from("'");
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' => format.push_str("\\n"),
                '\t' => format.push_str("\\t"),
                '%' => format.push_str("%%"),
                '\\' => format.push_str("\\\\"),
                // What ends the word; what an interactive shell looks up; what would begin an option.
                '\'' | '!' => push_octal(&mut format, c.encode_utf8(&mut [0; 4]).as_bytes()),
                '-' if format.len() == 1 => push_octal(&mut format, b"-"),
                c if is_plain(c) => format.push(c),
                c => push_octal(&mut format, c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        push_octal(&mut format, chunk.invalid());
    }
    format + "'"
}

fn push_octal(format: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a text does not fail.
        let _ = write!(format, "\\{byte:03o}");
    }
}

#[cfg(test)]
mod tests {
    use std::process;

    use bytes::Bytes;
    use http::HeaderValue;
    use proptest::prelude::*;
    use url::Url;

    use super::*;

    fn outgoing(url: &str, headers: &[(&'static str, &[u8])], body: &[u8]) -> Outgoing {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_bytes(value).unwrap());
        }
        let body = Bytes::copy_from_slice(body);
        Outgoing { method: Method::POST, url: Url::parse(url).unwrap(), headers: map, body }
    }

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_command_quotes_what_a_shell_would_act_on() {
        let headers: [(_, &[u8]); 5] = [
            ("x-a", b"it's $(rm)!"),
            ("x-empty", b""),
            ("accept", b"*/*"),
            ("user-agent", b"a"),
            ("content-type", b"b"),
        ];
        let sent = outgoing("http://host/a?b=1&c", &headers, b"@it's `x`");
        let expected = r"curl --globoff --path-as-is 'http://host/a?b=1&c' \
  --header 'x-a: it'\''s $(rm)!' \
  --header 'x-empty;' \
  --header 'accept: */*' \
  --header 'user-agent: a' \
  --header 'content-type: b' \
  --header expect: \
  --data-raw '@it'\''s `x`'
";
        assert_eq!(text(curl(&sent, false).in_lines()), expected);
        let line = expected.replace(" \\\n  ", " ");
        assert_eq!(text(curl(&sent, false).on_a_line()), line.trim_end());
    }

    #[test]
    fn a_body_in_a_file_is_named_and_headers_are_none_two_or_empty() {
        let sent = outgoing("http://host/", &[("x-a", b""), ("x-a", b"2")], b"");
        let command = text(curl_with_file(&sent, "my body.json", true).in_lines());
        assert!(command.ends_with("--data-binary '@my body.json'\n"), "{command}");
        assert!(
            command.contains("--header 'x-a;'") && command.contains("--header 'x-a: 2'"),
            "{command}"
        );
    }

    #[test]
    fn what_acts_or_hides_is_written_by_printf() {
        for (body, begins, ends) in [
            (&b"a\0\xff"[..], "printf %s 'YQD/' | base64 -d | curl ", "--data-binary @-"),
            (b"{\n\t1%}\n", r"printf '{\n\t1%%}\n' | curl ", "--data-binary @-"),
            (b"-\x1b[2J!", r"printf '\055\033[2J\041' | curl ", "--data-binary @-"),
            ("Zoë 漢字 👍".as_bytes(), "curl ", "--data-raw 'Zoë 漢字 👍'"),
        ] {
            let command = text(curl(&outgoing("http://host/", &[], body), false).on_a_line());
            assert!(command.starts_with(begins) && command.ends_with(ends), "{command}");
        }
        let hidden = "a\u{200b}\u{202e}\u{a0}\u{fe0f}".as_bytes();
        let headers: [(_, &[u8]); 2] = [("x-latin", b"Zo\xeb"), ("x-hidden", hidden)];
        let command = text(curl(&outgoing("http://host/", &headers, b""), false).on_a_line());
        assert!(command.contains(r#"--header "$(printf 'x-latin: Zo\353')""#), "{command}");
        let octal = r"\342\200\213\342\200\256\302\240\357\270\217";
        assert!(command.contains(&format!("(printf 'x-hidden: a{octal}')")), "{command}");
    }

    #[test]
    fn what_lets_somebody_in_is_in_a_command_only_where_it_is_revealed() {
        let sent = outgoing("http://u:p@host/a?token=abc&b=1", &[("x-session", b"abc")], b"");
        let hidden = text(curl(&sent, false).on_a_line());
        assert!(
            hidden.contains("'http://…@host/a?token=…&b=1' --header 'x-session: …'"),
            "{hidden}"
        );
        let shown = text(curl(&sent, true).on_a_line());
        assert!(shown.contains("'http://u:p@host/a?token=abc&b=1' --header 'x-session: abc'"));
    }

    /// The words that a shell takes a line for.
    fn words(shell: &str, line: &str) -> Option<Vec<Vec<u8>>> {
        let script = format!("set -- {line}\nfor word; do printf '%s\\000' \"$word\"; done");
        let said = process::Command::new(shell).arg("-c").arg(script).output().ok()?;
        assert!(said.status.success(), "{shell}: {line}");
        let words = said.stdout.split(|byte| *byte == 0).map(<[u8]>::to_vec);
        let mut words: Vec<_> = words.collect();
        words.pop();
        Some(words)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn every_shell_takes_a_word_for_the_bytes_it_was_made_of_and_nothing_in_it_acts(
            bytes in prop::collection::vec(prop_oneof![1..=255_u8, Just(b'\''), Just(b'\\')], 0..60),
            said in "\\PC{0,20}[a-z\u{200b}\u{301}%!]{0,5}x",
        ) {
            // An end of line at the end of a word is not kept, and no header or URL has one.
            let bytes = [&bytes[..], b"."].concat();
            for bytes in [&bytes[..], said.as_bytes()] {
                let line = word(bytes);
                let acts = |c: char| c.is_control() || !is_plain(c);
                prop_assert!(!line.contains(acts), "{:?}", line);
                for shell in ["sh", "bash", "zsh"] {
                    if let Some(words) = words(shell, &line) {
                        prop_assert_eq!(&words, &[bytes.to_vec()], "{}: {}", shell, line);
                    }
                }
                let piped = format_of(bytes);
                let line = format!("printf {piped}");
                let said = process::Command::new("sh").arg("-c").arg(&line).output().unwrap();
                prop_assert_eq!(said.stdout, bytes);
            }
        }
    }
}
