//! Which names are those of something that lets in whoever has its value: headers, and what a query asks with.

/// Parts of such names, wherever they stand in one, whatever is between them: `X-Api-Key`, `apiKey`.
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
/// Whole words of such names: `X-Auth-User`, `?sig=`.
const WORDS: [&str; 10] =
    ["auth", "authn", "authz", "jwt", "hmac", "otp", "sid", "sig", "pwd", "dpop"];
/// Words that such names end with: a `monkey` is none, and what a key is of is no key.
const LAST_WORDS: [&str; 3] = ["key", "pass", "pin"];
/// Names of a query alone, whole: a header that ends so says how something went.
const QUERIES: [&str; 1] = ["code"];
/// Names that only look so, and tell what whoever looks for a mistake has to see.
const HARMLESS: [&str; 5] = [
    "access-control-allow-credentials",
    "idempotency-key",
    "proxy-authenticate",
    "www-authenticate",
    "x-idempotency-key",
];

/// Whether the value of a header of this name lets somebody in.
pub(super) fn is_secret_header(name: &str) -> bool {
    !HARMLESS.iter().any(|harmless| name.eq_ignore_ascii_case(harmless)) && is_secret(name)
}

/// Whether what a query says by this name does, as it is spelled there.
pub(super) fn is_secret_query(name: &str) -> bool {
    let mut pairs = url::form_urlencoded::parse(name.as_bytes());
    let decoded = pairs.next().map(|(name, _)| name).unwrap_or_default();
    QUERIES.iter().any(|query| decoded.eq_ignore_ascii_case(query)) || is_secret(&decoded)
}

fn is_secret(name: &str) -> bool {
    let mut last = false;
    for word in words(name) {
        let is_one_of = |set: &[&str]| set.iter().any(|known| word.eq_ignore_ascii_case(known));
        if is_one_of(&WORDS) {
            return true;
        }
        last = is_one_of(&LAST_WORDS);
    }
    let letters = || name.bytes().filter(u8::is_ascii_alphanumeric).map(|b| b.to_ascii_lowercase());
    last || PARTS.iter().any(|part| has(letters(), part.as_bytes()))
}

/// The words of a name: `access-key`, `access_key` and `accessKey` have two.
fn words(name: &str) -> impl Iterator<Item = &str> {
    let parts = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    parts.flat_map(|part| {
        let bytes = part.as_bytes();
        let begins =
            move |at: usize| bytes[at].is_ascii_uppercase() && !bytes[at - 1].is_ascii_uppercase();
        let mut from = 0;
        let ends = (1..part.len()).filter(move |at| begins(*at)).chain([part.len()]);
        ends.map(move |end| &part[std::mem::replace(&mut from, end)..end])
    })
}

/// Whether something stands among the letters.
fn has(letters: impl Iterator<Item = u8> + Clone, part: &[u8]) -> bool {
    let mut rest = letters;
    loop {
        if rest.clone().take(part.len()).eq(part.iter().copied()) {
            return true;
        }
        if rest.next().is_none() {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_what_lets_somebody_in_are_known_however_they_are_spelled() {
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
    fn other_names_are_not() {
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
        for harmless in HARMLESS {
            assert!(!is_secret_header(harmless), "{harmless}");
        }
    }
}
