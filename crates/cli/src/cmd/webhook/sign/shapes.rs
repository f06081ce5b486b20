//! A delivery as a command of curl, and as it goes over the wire.

use formsvc_contract::send::Outgoing;
use http::header::{CONTENT_LENGTH, HOST};
use http::{HeaderName, HeaderValue};
use url::{Position, Url};

use crate::error::CliError;
use crate::shell::quoted;
use crate::webhook::payload::Place;

/// Longest body that is written into a command; systems bound what one word can hold.
const INLINE_MAX: usize = 64 << 10;

/// Whether deliveries can go there.
pub(super) fn check(url: &Url) -> Result<(), CliError> {
    if matches!(url.scheme(), "http" | "https") && url.has_host() {
        return Ok(());
    }
    let hint = "an address is http://… or https://…, such as http://127.0.0.1:3000/hook";
    Err(CliError::usage(format!("nothing can be sent to `{url}`")).hint(hint))
}

/// A command that sends the delivery, for any POSIX shell. The body is read from its file again; one that
/// came by standard input stands in the command, if it is text and short.
pub(super) fn curl(outgoing: &Outgoing, place: &Place) -> Result<String, CliError> {
    let data = match place {
        Place::File(path) => match path.to_str() {
            Some(path) => format!("@{path}"),
            None => return Err(CliError::usage("the name of the file is not UTF-8 text")),
        },
        Place::Stdin => inline(&outgoing.body)?,
    };
    let headers = outgoing.headers.iter();
    let mut words = vec!["curl --include".to_owned()];
    words.extend(
        headers.map(|(name, value)| format!("--header {}", quoted(&argument(name, value)))),
    );
    // With the one `@` stands before the name of a file, which is read to the byte; with the other it is
    // text.
    let flag = if matches!(place, Place::File(_)) { "--data-binary" } else { "--data-raw" };
    words.push(format!("{flag} {}", quoted(&data)));
    words.push(quoted(outgoing.url.as_str()).into_owned());
    Ok(words.join(" \\\n  ") + "\n")
}

/// A header as curl takes it, for which `name:` would take the header away.
fn argument(name: &HeaderName, value: &HeaderValue) -> String {
    match String::from_utf8_lossy(value.as_bytes()) {
        value if value.is_empty() => format!("{name};"),
        value => format!("{name}: {value}"),
    }
}

fn inline(body: &[u8]) -> Result<String, CliError> {
    let why = match std::str::from_utf8(body) {
        _ if body.len() > INLINE_MAX => "is too long to stand in a command",
        Ok(text) if !text.contains('\0') => return Ok(text.to_owned()),
        _ => "is no text that can stand in a command",
    };
    Err(CliError::usage(format!("the body {why}")).hint("put it into a file: `--file PATH`"))
}

/// The request as it goes over the wire.
pub(super) fn http(outgoing: &Outgoing) -> Vec<u8> {
    let url = &outgoing.url;
    let target = &url[Position::BeforePath..Position::AfterQuery];
    let host = &url[Position::BeforeHost..Position::AfterPort];
    let mut text =
        format!("{} {target} HTTP/1.1\r\n{HOST}: {host}\r\n", outgoing.method).into_bytes();
    for (name, value) in &outgoing.headers {
        text.extend_from_slice(name.as_str().as_bytes());
        text.extend_from_slice(b": ");
        text.extend_from_slice(value.as_bytes());
        text.extend_from_slice(b"\r\n");
    }
    let length = outgoing.body.len();
    text.extend_from_slice(
        format!("{CONTENT_LENGTH}: {length}\r\nconnection: close\r\n\r\n").as_bytes(),
    );
    text.extend_from_slice(&outgoing.body);
    text
}

#[cfg(test)]
mod tests {
    use formsvc_contract::variant::Variant;

    use super::*;

    fn outgoing(body: &'static [u8], variant: Variant) -> Outgoing {
        let url = Url::parse("http://127.0.0.1:3000/a%20b?c='d'#e").unwrap();
        let made = variant.sign(&["whsec_for_these_tests".into()], 1_767_225_600, body);
        super::super::delivery(url, &made, body.into())
    }

    #[test]
    fn the_request_is_what_a_server_reads() {
        let text = http(&outgoing(b"{}\n\xff", Variant::Fresh));
        let head = String::from_utf8_lossy(&text);
        assert!(
            head.starts_with("POST /a%20b?c=%27d%27 HTTP/1.1\r\nhost: 127.0.0.1:3000\r\n"),
            "{head}"
        );
        assert!(head.contains("\r\nx-service-signature: t=1767225600,v1="), "{head}");
        assert!(
            text.ends_with(b"content-length: 4\r\nconnection: close\r\n\r\n{}\n\xff"),
            "{head}"
        );
    }

    #[test]
    fn a_command_names_the_file_or_holds_the_text() {
        let named = curl(&outgoing(b"{}", Variant::Fresh), &Place::File("my body.json".into()));
        assert!(named.unwrap().contains("--data-binary '@my body.json'"));
        let held = curl(&outgoing(b"@it's $(x)\n", Variant::Fresh), &Place::Stdin).unwrap();
        assert!(held.contains("--data-raw '@it'\\''s $(x)\n'"), "{held}");
        assert!(curl(&outgoing(b"\xff", Variant::Fresh), &Place::Stdin).is_err());
        assert!(curl(&outgoing(b"a\0b", Variant::Fresh), &Place::Stdin).is_err());
    }

    #[test]
    fn headers_are_none_two_or_empty_as_the_variant_has_them() {
        let held = |variant| curl(&outgoing(b"{}", variant), &Place::Stdin).unwrap();
        let count = |variant| held(variant).matches("x-service-signature").count();
        assert_eq!(count(Variant::Missing), 0);
        assert_eq!(count(Variant::TwoHeaders), 2);
        assert!(held(Variant::Empty).contains("'x-service-signature;'"));
    }
}
