//! What the `Authorization` header says (SPEC §5).

use formsvc_protocol::ErrorCode;
use http::{HeaderMap, header};

use super::problem::Problem;

/// Longest key that is looked up, in bytes; no key of ours comes near.
const TOKEN_MAX: usize = 512;

/// The key a request carries, as bytes: a key need not be text to be wrong.
///
/// - no header, or a blank one: `missing_authorization`;
/// - any other scheme than `Bearer` (in any case), or no key after it: `invalid_key`;
/// - two headers: `bad_request`, since whoever stands in front of us may have judged the other one.
pub(super) fn bearer_token(headers: &HeaderMap) -> Result<&[u8], Problem> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next().map_or(&b""[..], |value| value.as_bytes().trim_ascii());
    if values.next().is_some() {
        return Err(Problem::bad_request("the `Authorization` header may be sent only once"));
    }
    if value.is_empty() {
        return Err(Problem::new(
            ErrorCode::MissingAuthorization,
            "the request needs the header `Authorization: Bearer <API_KEY>`",
        ));
    }
    let (scheme, token) = match value.iter().position(u8::is_ascii_whitespace) {
        Some(end) => (&value[..end], value[end..].trim_ascii_start()),
        None => (value, &b""[..]),
    };
    if !scheme.eq_ignore_ascii_case(b"bearer") {
        return Err(invalid("the `Authorization` header must use the scheme `Bearer`"));
    }
    if token.is_empty() {
        return Err(invalid("no key follows `Bearer` in the `Authorization` header"));
    }
    if token.len() > TOKEN_MAX {
        return Err(unknown_key());
    }
    Ok(token)
}

/// 401 `invalid_key` for a key nobody has.
pub(super) fn unknown_key() -> Problem {
    invalid("no such key")
}

fn invalid(message: &'static str) -> Problem {
    Problem::new(ErrorCode::InvalidKey, message)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    /// Headers, and the key or the code they are refused with.
    type Row<'a> = (&'a [&'a [u8]], Result<&'a [u8], &'a str>);

    fn judge(values: &[&[u8]]) -> Result<Vec<u8>, String> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::AUTHORIZATION, HeaderValue::from_bytes(value).unwrap());
        }
        bearer_token(&headers).map(<[u8]>::to_vec).map_err(|p| p.code().as_str().to_owned())
    }

    #[test]
    fn each_header_is_judged_by_one_rule() {
        let long = [b"Bearer ".as_slice(), &[b'x'; TOKEN_MAX + 1]].concat();
        let table: &[Row<'_>] = &[
            (&[], Err("missing_authorization")),
            (&[b""], Err("missing_authorization")),
            (&[b" \t "], Err("missing_authorization")),
            (&[b"Bearer"], Err("invalid_key")),
            (&[b"Bearer  "], Err("invalid_key")),
            (&[b"Basic dXNlcjpwYXNz"], Err("invalid_key")),
            (&[b"Bearerfsk_1"], Err("invalid_key")),
            (&[b"fsk_1"], Err("invalid_key")),
            (&[&long], Err("invalid_key")),
            (&[b"Bearer a", b"Bearer a"], Err("bad_request")),
            (&[b"", b"Bearer a"], Err("bad_request")),
            (&[b"Bearer fsk_1"], Ok(b"fsk_1")),
            (&[b"bEARER   fsk_1  "], Ok(b"fsk_1")),
            (&[b"Bearer\tfsk_1"], Ok(b"fsk_1")),
            (&[b"Bearer a b"], Ok(b"a b")),
            (&[b"Bearer \xff\xfe"], Ok(b"\xff\xfe")),
        ];
        for (values, expected) in table {
            let expected = expected.map(<[u8]>::to_vec).map_err(str::to_owned);
            assert_eq!(judge(values), expected, "{values:?}");
        }
    }
}
