//! Names of headers and query parameters with secret values.

/// Names of secrets, such as `X-Api-Key`, contain one of these parts if separators are removed.
const PARTS: [&str; 13] = [
    "token",
    "secret",
    "passw",
    "passphrase",
    "apikey",
    "accesskey",
    "signature",
    "authoriz",
    "authenti",
    "cookie",
    "credential",
    "session",
    "sessid",
];
/// A value is a secret if its name, such as `X-Auth-User` or `?sig=`, has one of these words.
const WORDS: [&str; 10] =
    ["auth", "authn", "authz", "jwt", "hmac", "otp", "sid", "sig", "pwd", "dpop"];
/// A value is a secret if the last word of its name is in this list: `X-Subscription-Key`, but not `monkey` or
/// `key-count`.
const LAST_WORDS: [&str; 3] = ["key", "pass", "pin"];
/// Complete names of query parameters with secrets. A header named `code` contains a status, not a secret.
const QUERY_NAMES: [&str; 1] = ["code"];
/// Complete names of headers that match the lists above but contain no secret. Their values help users to find
/// mistakes.
const PUBLIC_HEADERS: [&str; 5] = [
    "access-control-allow-credentials",
    "idempotency-key",
    "proxy-authenticate",
    "www-authenticate",
    "x-idempotency-key",
];

/// Returns true if the values of this header are secrets.
pub(super) fn is_secret_header(name: &str) -> bool {
    !PUBLIC_HEADERS.iter().any(|public| name.eq_ignore_ascii_case(public)) && is_secret(name)
}

/// Returns true if the values of this query parameter are secrets. The name may be percent-encoded.
pub(super) fn is_secret_query(name: &str) -> bool {
    let mut pairs = url::form_urlencoded::parse(name.as_bytes());
    let decoded = pairs.next().map(|(name, _)| name).unwrap_or_default();
    QUERY_NAMES.iter().any(|query| decoded.eq_ignore_ascii_case(query)) || is_secret(&decoded)
}

fn is_secret(name: &str) -> bool {
    let words = words(name);
    let letters = words.concat();
    words.iter().any(|word| WORDS.contains(&&**word))
        || words.last().is_some_and(|word| LAST_WORDS.contains(&&**word))
        || PARTS.iter().any(|part| letters.contains(part))
}

/// Splits a name into words in lower case: `access-key`, `access_key` and `accessKey` each have two words.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    for part in name.split(|c: char| !c.is_ascii_alphanumeric()) {
        let mut was_upper = true;
        let mut word = String::new();
        for c in part.chars() {
            if c.is_ascii_uppercase() && !was_upper {
                words.push(std::mem::take(&mut word));
            }
            was_upper = c.is_ascii_uppercase();
            word.push(c.to_ascii_lowercase());
        }
        if !word.is_empty() {
            words.push(word);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_names_are_found_in_any_spelling() {
        for name in [
            "x-auth",
            "x-auth-request-user",
            "x-authentication",
            "x-session",
            "x-session-id",
            "phpsessid",
            "x-access-token",
            "x-csrftoken",
            "ocp-apim-subscription-key",
            "x-api-key",
            "x-apikey",
            "x_api_key_id",
            "cf-access-jwt-assertion",
            "x-hub-signature-256",
            "cookie2",
            "x-original-cookie",
            "x-proxy-password",
            "X-Amz-Security-Token",
            "accessToken",
            "userKey",
            "sid",
            "sig",
            "auth",
        ] {
            assert!(is_secret_header(name), "{name}");
            assert!(is_secret_query(name), "{name}");
        }
        for query in ["code", "to%6ben", "api%5Fkey", "user[password]", "a.key", "X-Amz-Signature"]
        {
            assert!(is_secret_query(query), "{query}");
        }
    }

    #[test]
    fn other_names_are_not_secret() {
        for name in [
            "content-type",
            "user-agent",
            "x-author",
            "x-monkey",
            "keyword",
            "key-count",
            "x-design",
            "x-side",
            "pass-through",
            "x-status-code",
            "x-service-event",
            "x-request-id",
            "sec-fetch-site",
            "host",
            "",
            "-",
            "größe",
        ] {
            assert!(!is_secret_header(name), "{name}");
            assert!(!is_secret_query(name), "{name}");
        }
        for name in PUBLIC_HEADERS {
            assert!(!is_secret_header(name), "{name}");
        }
    }
}
