//! What a body is said to be.

use formsvc_protocol::ErrorCode;
use http::{HeaderMap, header};

use crate::api::Problem;
use crate::printable::Excerpt;

/// Longest boundary of parts (RFC 2046 §5.1.1).
const BOUNDARY_MAX: usize = 70;

/// The types of body that are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MediaType {
    UrlEncoded,
    Multipart { boundary: String },
    Json,
}

impl MediaType {
    /// Reads the `Content-Type` of a request: 415 for any other type, for any other character set than
    /// UTF-8, and for what is compressed.
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        let coding = headers.get(header::CONTENT_ENCODING);
        if coding.is_some_and(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
            return Err(unsupported("a compressed body is not read: send it as it is".into()));
        }
        let mut values = headers.get_all(header::CONTENT_TYPE).iter();
        let value = match (values.next(), values.next()) {
            (Some(value), None) => value.to_str().unwrap_or_default(),
            (None, _) => "",
            (Some(_), Some(_)) => {
                return Err(Problem::bad_request("`Content-Type` may be sent only once"));
            }
        };
        let (name, parameters) = value.split_once(';').unwrap_or((value, ""));
        let parameters = parameters_of(parameters);
        let parameter = |name: &str| {
            let mut named = parameters.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
            named.next().map(|(_, value)| value.as_str())
        };
        if let Some(charset) = parameter("charset")
            && !is_utf_8(charset)
        {
            return Err(unsupported(format!(
                "the charset `{}` is not read: send UTF-8",
                Excerpt(charset)
            )));
        }
        let name = name.trim();
        if name.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            Ok(Self::UrlEncoded)
        } else if name.eq_ignore_ascii_case("application/json") {
            Ok(Self::Json)
        } else if name.eq_ignore_ascii_case("multipart/form-data") {
            let boundary = parameter("boundary").unwrap_or_default();
            if boundary.is_empty() || boundary.len() > BOUNDARY_MAX {
                let rule = "`multipart/form-data` needs a `boundary` of 1 to 70 characters";
                return Err(Problem::bad_request(rule));
            }
            Ok(Self::Multipart { boundary: boundary.to_owned() })
        } else {
            Err(unsupported(format!(
                "the type `{}` is not read: send application/x-www-form-urlencoded, \
                 multipart/form-data or application/json",
                Excerpt(name)
            )))
        }
    }
}

/// Whether a client says that it sends JSON, in whatever character set or compression.
pub(super) fn is_said_to_be_json(headers: &HeaderMap) -> bool {
    let said = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let name = said.and_then(|said| said.split(';').next());
    name.is_some_and(|name| name.trim().eq_ignore_ascii_case("application/json"))
}

/// 415 `unsupported_media_type`.
pub(super) fn unsupported(message: String) -> Problem {
    Problem::new(ErrorCode::UnsupportedMediaType, message)
}

pub(super) fn is_utf_8(charset: &str) -> bool {
    charset.eq_ignore_ascii_case("utf-8") || charset.eq_ignore_ascii_case("utf8")
}

/// `; name=value; name="value"` (RFC 9110 §5.6.6).
fn parameters_of(text: &str) -> Vec<(&str, String)> {
    let (mut parameters, mut rest) = (Vec::new(), text);
    while let Some((name, value)) = rest.split_once('=') {
        let name = name.trim_start_matches([';', ' ', '\t']).trim();
        let value = value.trim_start();
        let (value, left) = if let Some(quoted) = value.strip_prefix('"') {
            unquoted(quoted)
        } else {
            let (value, left) = value.split_once(';').unwrap_or((value, ""));
            (value.trim().to_owned(), left)
        };
        parameters.push((name, value));
        rest = left;
    }
    parameters
}

/// The value up to the closing quote, and what follows it.
fn unquoted(text: &str) -> (String, &str) {
    let (mut value, mut characters) = (String::new(), text.chars());
    while let Some(character) = characters.next() {
        match character {
            '"' => break,
            '\\' => value.extend(characters.next()),
            other => value.push(other),
        }
    }
    (value, characters.as_str())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn of(value: &str) -> Result<MediaType, u16> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_str(value).unwrap());
        MediaType::of(&headers).map_err(|problem| problem.status().as_u16())
    }

    #[test]
    fn three_types_are_read() {
        let parts = |boundary: &str| Ok(MediaType::Multipart { boundary: boundary.into() });
        for (value, wanted) in [
            ("application/x-www-form-urlencoded", Ok(MediaType::UrlEncoded)),
            ("Application/X-WWW-Form-URLEncoded;charset=UTF-8", Ok(MediaType::UrlEncoded)),
            ("application/json", Ok(MediaType::Json)),
            ("application/json ; charset=\"utf-8\"", Ok(MediaType::Json)),
            ("application/json; charset=utf8; x=y", Ok(MediaType::Json)),
            ("multipart/form-data; boundary=----x1", parts("----x1")),
            ("multipart/form-data; charset=utf-8;boundary=\"a; \\\"b\\\"=c\"", parts("a; \"b\"=c")),
            ("multipart/form-data", Err(400)),
            ("multipart/form-data; boundary=", Err(400)),
            ("text/plain", Err(415)),
            ("application/json; charset=latin1", Err(415)),
            ("application/x-www-form-urlencoded; charset=windows-1252", Err(415)),
            ("application/jsonx", Err(415)),
            ("application/xml", Err(415)),
            ("", Err(415)),
        ] {
            assert_eq!(of(value), wanted, "{value}");
        }
        assert_eq!(of(&format!("multipart/form-data; boundary={}", "x".repeat(71))), Err(400));
        assert_eq!(MediaType::of(&HeaderMap::new()).unwrap_err().status().as_u16(), 415);
    }

    #[test]
    fn two_types_are_none() {
        let mut headers = HeaderMap::new();
        for value in ["application/json", "text/plain"] {
            headers.append(header::CONTENT_TYPE, HeaderValue::from_static(value));
        }
        assert_eq!(MediaType::of(&headers).unwrap_err().status().as_u16(), 400);
    }

    proptest! {
        #[test]
        fn any_header_is_read(value in "(multipart/form-data|application/json)?[ -~]{0,40}") {
            let _ = of(&value);
        }
    }
}
