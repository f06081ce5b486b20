//! The causes of signatures that do not match: one table.

/// A reason why a signature does not match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The signature header is missing.
    HeaderMissing,
    /// The signature is in a header of another name.
    HeaderRenamed,
    /// Two signature headers, or two joined into one.
    HeaderTwice,
    /// The header's value is not `t=…,v1=…`.
    HeaderFormat,
    /// The header lacks `t`, or a `v1` that can be a MAC.
    HeaderIncomplete,
    /// `t` in milliseconds.
    TMillis,
    /// `v1` in upper-case hex.
    V1UpperCase,
    /// `v1` in base64.
    V1Base64,
    /// The time of a valid signature is outside the tolerance.
    Stale,
    /// White space or quotation marks around the secret.
    SecretSpaced,
    /// `whsec_` missing on one side.
    SecretPrefix,
    /// The key is the secret decoded from hex or base64.
    SecretDecoded,
    /// The API key was used as the secret.
    SecretApiKey,
    /// The body was signed without `<t>.` before it.
    SignedBodyOnly,
    /// A line break or byte order mark added or removed.
    BodyEnds,
    /// The body was decoded and encoded with different character sets.
    Charset,
    /// The JSON was parsed and printed again.
    JsonPrinted,
    /// The keys of the JSON were sorted.
    KeysSorted,
    /// The keys that are numbers were moved to the front, as JavaScript does.
    NumberKeysFirst,
    /// The body is shorter than its `Content-Length`.
    BodyTruncated,
    /// The body is a form instead of JSON.
    BodyForm,
    /// The body is compressed or in base64.
    BodyEncoded,
}

/// A row of the table of causes.
#[derive(Clone, Copy, Debug)]
pub struct CauseRow {
    /// The cause.
    pub cause: Cause,
    /// Its stable name.
    pub id: &'static str,
    /// What happened, as the beginning of a sentence.
    pub means: &'static str,
    /// How to fix it.
    pub fix: &'static str,
}

const fn row(cause: Cause, id: &'static str) -> CauseRow {
    CauseRow { cause, id, means: "", fix: "" }
}

impl CauseRow {
    const fn means(self, means: &'static str) -> Self {
        Self { means, ..self }
    }

    const fn fix(self, fix: &'static str) -> Self {
        Self { fix, ..self }
    }
}

const RAW: &str =
    "verify the raw bytes of the request before anything parses, decodes or trims them";
const HEADER: &str = "write `t=<unix-seconds>,v1=<hex>` and read the header's value unchanged";
const SECRET: &str = "use the whole text of the secret as the key, `whsec_` included";

/// All causes.
pub const CAUSES: &[CauseRow] = &[
    row(Cause::HeaderMissing, "header_missing")
        .means("the request has no X-Service-Signature")
        .fix("check the headers of the request as it arrived: a proxy may remove headers, and a framework may \
         rename them"),
    row(Cause::HeaderRenamed, "header_renamed")
        .means("the signature is in a header of another name")
        .fix("read X-Service-Signature, or configure the proxy to keep the name"),
    row(Cause::HeaderTwice, "header_twice")
        .means("the request has two signature headers, or two joined into one")
        .fix("find out what adds the second one; a receiver takes exactly one"),
    row(Cause::HeaderFormat, "header_format")
        .means("the signature header is malformed")
        .fix(HEADER),
    row(Cause::HeaderIncomplete, "header_incomplete")
        .means("the signature header lacks a usable `t` or `v1`")
        .fix(HEADER),
    row(Cause::TMillis, "t_millis")
        .means("`t` is in milliseconds")
        .fix("write `t` in whole seconds since 1970: divide by 1000 before signing"),
    row(Cause::V1UpperCase, "v1_upper_case")
        .means("`v1` is in upper-case hex")
        .fix("write the digits in lower case"),
    row(Cause::V1Base64, "v1_base64")
        .means("`v1` is in base64")
        .fix("write the MAC in lower-case hex: 64 digits"),
    row(Cause::Stale, "stale")
        .means("the signature matches, but its time is outside the tolerance")
        .fix("sign again (`formsvc webhook replay`, `formsvc webhook sign`) or verify at any age \
         (`--ignore-age`); synchronize the clocks if the time is wrong"),
    row(Cause::SecretSpaced, "secret_spaced")
        .means("white space or quotation marks around the secret are part of the key on one side")
        .fix("remove them where the secret is stored, or trim the secret after reading it"),
    row(Cause::SecretPrefix, "secret_prefix")
        .means("the secret has `whsec_` on one side only")
        .fix(SECRET),
    row(Cause::SecretDecoded, "secret_decoded")
        .means("the signer decoded the secret before using it as the key")
        .fix(SECRET),
    row(Cause::SecretApiKey, "secret_api_key")
        .means("the API key was used as the signing secret")
        .fix("use the signing secret of the endpoint, which begins with `whsec_`"),
    row(Cause::SignedBodyOnly, "signed_body_only")
        .means("the body was signed without the time")
        .fix("sign `<t>.<raw body>`: the digits of `t`, one full stop, the bytes of the body"),
    row(Cause::BodyEnds, "body_ends")
        .means("a line break or byte order mark was added to the body or removed from it")
        .fix("save and send the body unchanged (`printf %s`, `curl --data-binary`)"),
    row(Cause::Charset, "charset")
        .means("the body was decoded and encoded with different character sets")
        .fix("verify the raw bytes of the request, which are UTF-8"),
    row(Cause::JsonPrinted, "json_printed")
        .means("the JSON was parsed and printed again")
        .fix(RAW),
    row(Cause::KeysSorted, "keys_sorted")
        .means("the JSON was parsed and printed again with sorted keys")
        .fix(RAW),
    row(Cause::NumberKeysFirst, "number_keys_first")
        .means("the JSON was parsed and printed again by JavaScript, which moves keys that are numbers to the front")
        .fix(RAW),
    row(Cause::BodyTruncated, "body_truncated")
        .means("the body is shorter than its Content-Length")
        .fix("read the whole body before verifying; a size limit or timeout may cut it"),
    row(Cause::BodyForm, "body_form")
        .means("the body is form data, not JSON")
        .fix("a framework parsed the body as a form: disable its parser for this path and read the raw bytes"),
    row(Cause::BodyEncoded, "body_encoded")
        .means("the body is compressed or encoded")
        .fix("decode the body before verifying: a proxy or gateway encoded it"),
];

impl Cause {
    /// Returns its row.
    pub fn row(self) -> &'static CauseRow {
        &CAUSES[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_one_row_and_one_id() {
        for (at, row) in CAUSES.iter().enumerate() {
            assert_eq!(row.cause as usize, at, "{}: out of order", row.id);
            assert!(CAUSES[..at].iter().all(|other| other.id != row.id), "{}", row.id);
        }
        assert_eq!(CAUSES.len(), Cause::BodyEncoded as usize + 1);
    }
}
