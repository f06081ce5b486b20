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

#[test]
fn command_quotes_shell_syntax() {
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
    let command = curl(&sent, false);
    assert_eq!(command.on_lines(), expected);
    assert_eq!(command.on_one_line(), expected.replace(" \\\n  ", " ").trim_end());
    let method = Method::from_bytes(b"DELETE").unwrap();
    let sent = Outgoing { method, ..outgoing("http://host/", &[], b"") };
    let command = curl(&sent, false).on_one_line();
    assert!(command.contains("--path-as-is --request DELETE http://host/ "), "{command}");
}

#[test]
fn repeated_and_empty_headers_are_kept() {
    let sent = outgoing("http://host/", &[("x-a", b""), ("x-a", b"2")], b"");
    let command = curl(&sent, true).on_one_line();
    assert!(command.contains("--header 'x-a;' --header 'x-a: 2'"), "{command}");
}

#[test]
fn control_and_invisible_characters_are_written_by_printf() {
    for (body, begins, ends) in [
        (&b"a\0\xff"[..], "printf %s 'YQD/' | base64 -d | curl ", "--data-binary @-"),
        (b"{\n\t1%}\n", r"printf '{\n\t1%%}\n' | curl ", "--data-binary @-"),
        (b"-\x1b[2J!", r"printf '\055\033[2J\041' | curl ", "--data-binary @-"),
        ("Zoë 漢字 👍".as_bytes(), "curl ", "--data-raw 'Zoë 漢字 👍'"),
    ] {
        let command = curl(&outgoing("http://host/", &[], body), false).on_one_line();
        assert!(command.starts_with(begins) && command.ends_with(ends), "{command}");
    }
    let hidden = "a\u{200b}\u{202e}\u{a0}\u{fe0f}".as_bytes();
    let headers: [(_, &[u8]); 2] = [("x-latin", b"Zo\xeb"), ("x-hidden", hidden)];
    let command = curl(&outgoing("http://host/", &headers, b""), false).on_one_line();
    assert!(command.contains(r#"--header "$(printf 'x-latin: Zo\353')""#), "{command}");
    let octal = r"\342\200\213\342\200\256\302\240\357\270\217";
    assert!(command.contains(&format!("(printf 'x-hidden: a{octal}')")), "{command}");
}

#[test]
fn long_body_is_piped() {
    let body = vec![b'a'; MAX_ARGUMENT + 1];
    let command = curl(&outgoing("http://host/", &[], &body), false).on_one_line();
    assert!(command.starts_with("printf %s 'YWFh") && command.ends_with("--data-binary @-"));
}

#[test]
fn command_masks_secrets_unless_revealed() {
    let sent = outgoing("http://u:p@host/a?token=abc&b=1", &[("x-session", b"abc")], b"");
    let masked = curl(&sent, false).on_one_line();
    assert!(masked.contains("'http://…@host/a?token=…&b=1' --header 'x-session: …'"), "{masked}");
    let revealed = curl(&sent, true).on_one_line();
    assert!(revealed.contains("'http://u:p@host/a?token=abc&b=1' --header 'x-session: abc'"));
}

/// Returns the words of a line in a shell, or `None` if that shell is not installed.
fn words(shell: &str, line: &str) -> Option<Vec<Vec<u8>>> {
    let script = format!("set -- {line}\nfor word; do printf '%s\\000' \"$word\"; done");
    let output = process::Command::new(shell).arg("-c").arg(script).output().ok()?;
    assert!(output.status.success(), "{shell}: {line}");
    let mut words: Vec<_> = output.stdout.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
    words.pop();
    Some(words)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn word_is_its_bytes_in_every_shell(
        bytes in prop::collection::vec(prop_oneof![1..=255_u8, Just(b'\''), Just(b'\\')], 0..60),
        text in "\\PC{0,20}[a-z\u{200b}\u{301}%!]{0,5}x",
    ) {
        // Shells remove line feeds at the end of a command substitution, so `.` is appended to the bytes.
        let bytes = [&bytes[..], b"."].concat();
        for bytes in [&bytes[..], text.as_bytes()] {
            let line = word(bytes);
            prop_assert!(line.chars().all(|c| !c.is_control() && is_plain(c)), "{:?}", line);
            for shell in ["sh", "bash", "zsh"] {
                if let Some(words) = words(shell, &line) {
                    prop_assert_eq!(&words, &[bytes.to_vec()], "{}: {}", shell, line);
                }
            }
            let line = format!("printf {}", printf_format(bytes));
            let output = process::Command::new("sh").arg("-c").arg(&line).output().unwrap();
            prop_assert_eq!(output.stdout, bytes);
        }
    }
}
