//! Masks secrets in output with `…`: keys, passwords, tokens, and signatures, because a signed request can be
//! replayed.

mod names;
mod scan;

use std::borrow::Cow;

use formsvc_contract::send::SIGNATURE;
use http::{HeaderMap, HeaderName, HeaderValue, header};

const MASK: char = '…';
/// Number of hex digits of a signature that are shown: enough to distinguish two signatures.
const SIGNATURE_DIGITS: usize = 4;
const SECRET_HEADERS: [HeaderName; 4] =
    [header::AUTHORIZATION, header::PROXY_AUTHORIZATION, header::COOKIE, header::SET_COOKIE];

/// Masks secrets in text of unknown origin: this service's secrets, keys and signatures, values of the
/// headers `Authorization` and `Cookie` as error pages of receivers print them, tokens after `Bearer`, and secrets in
/// URLs.
pub fn text(text: &str) -> Cow<'_, str> {
    scan::mask(text, scan::Context::Text)
}

/// Masks the body of a target's response, which may contain parts of the request. A body without a secret stays byte
/// for byte the same, even if the body is not UTF-8.
pub fn response_body(body: &[u8], reveal: bool) -> Cow<'_, [u8]> {
    if reveal {
        return Cow::Borrowed(body);
    }
    match text(&String::from_utf8_lossy(body)) {
        Cow::Owned(masked) => Cow::Owned(masked.into_bytes()),
        Cow::Borrowed(_) => Cow::Borrowed(body),
    }
}

/// Masks secrets in a request target or URL: user name, password, and the values of query parameters whose names
/// indicate a secret. The rest is unchanged.
pub fn target(target: &str, reveal: bool) -> Cow<'_, str> {
    if reveal { Cow::Borrowed(target) } else { scan::mask(target, scan::Context::RequestTarget) }
}

/// Masks the whole query of a URL, and removes user name and password. The path is not normalized.
pub fn url(url: &str, reveal: bool) -> String {
    if reveal {
        return url.to_owned();
    }
    let (scheme, rest) = url.split_at(url.find("://").map_or(0, |at| at + 3));
    let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (rest, fragment) = rest.split_at(rest.find('#').unwrap_or(rest.len()));
    let (path, query) = rest.split_at(rest.find('?').unwrap_or(rest.len()));
    let query = if query.is_empty() { String::new() } else { format!("?{MASK}") };
    text(&format!("{scheme}{host}{path}{query}{fragment}")).into_owned()
}

/// Masks the values of headers, and keeps the order of the headers.
pub fn headers(headers: &HeaderMap, reveal: bool) -> HeaderMap {
    if reveal {
        return headers.clone();
    }
    let mut masked = HeaderMap::with_capacity(headers.len());
    for (name, original) in headers {
        masked.append(name, value(name, original, false));
    }
    masked
}

pub fn value(name: &HeaderName, value: &HeaderValue, reveal: bool) -> HeaderValue {
    if reveal {
        return value.clone();
    }
    let masked = if *name == SIGNATURE {
        signature(value.as_bytes())
    } else if SECRET_HEADERS.contains(name) {
        credentials(&String::from_utf8_lossy(value.as_bytes()))
    } else if names::is_secret_header(name.as_str()) {
        MASK.to_string()
    } else {
        match text(&String::from_utf8_lossy(value.as_bytes())) {
            Cow::Borrowed(_) => return value.clone(),
            Cow::Owned(masked) => masked,
        }
    };
    // The conversion never fails, because neither the mask nor the rest of the value contains control characters.
    HeaderValue::from_bytes(masked.as_bytes()).unwrap_or_else(|_| HeaderValue::from_static("…"))
}

/// Returns true if masking changes the value of a header.
pub fn hides(name: &HeaderName, original: &HeaderValue) -> bool {
    value(name, original, false) != *original
}

/// Returns true if masking changes one of these headers or the request target or URL.
pub fn hides_in_request(headers: &HeaderMap, target: &str) -> bool {
    headers.iter().any(|(name, value)| hides(name, value)) || self::target(target, false) != target
}

/// Returns true if a value contains a mask, for example because it was copied from masked output.
pub fn is_masked(value: &[u8]) -> bool {
    std::str::from_utf8(value).is_ok_and(|text| text.contains(MASK))
}

/// Masks the value of the signature header, except for its time and the first digits of each signature.
fn signature(value: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(value) else { return MASK.to_string() };
    let mask_part = |part: &str| match part.split_once('=') {
        Some(("t", time)) if time.len() <= 20 && time.bytes().all(|b| b.is_ascii_digit()) => {
            part.to_owned()
        }
        Some((key, digits)) if key.len() <= 4 && key.bytes().all(|b| b.is_ascii_alphanumeric()) => {
            // Mask a short value completely, because four digits would be a large part of the value.
            let count = if digits.len() >= 4 * SIGNATURE_DIGITS { SIGNATURE_DIGITS } else { 0 };
            let shown: String =
                digits.chars().take_while(char::is_ascii_hexdigit).take(count).collect();
            format!("{key}={shown}{MASK}")
        }
        _ => MASK.to_string(),
    };
    text.split(',').map(mask_part).collect::<Vec<_>>().join(",")
}

/// Masks the value of `Authorization` or `Cookie`, except for a scheme such as `Bearer`.
fn credentials(text: &str) -> String {
    match text.split_once(' ') {
        Some((scheme, _)) if scheme.len() <= 16 && scheme.bytes().all(is_scheme_byte) => {
            format!("{scheme} {MASK}")
        }
        _ => MASK.to_string(),
    }
}

fn is_scheme_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

#[cfg(test)]
mod tests;
