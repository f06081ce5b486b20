//! The hypotheses: one table.

use super::hypothesis::Hypothesis;

/// A row of the table of hypotheses.
#[derive(Clone, Copy, Debug)]
pub struct HypothesisRow {
    /// Which.
    pub hypothesis: Hypothesis,
    /// Its name, which never changes.
    pub id: &'static str,
    /// What happened, as a sentence's beginning.
    pub means: &'static str,
    /// What to do about it.
    pub fix: &'static str,
}

const fn row(
    hypothesis: Hypothesis,
    id: &'static str,
    means: &'static str,
    fix: &'static str,
) -> HypothesisRow {
    HypothesisRow { hypothesis, id, means, fix }
}

/// What to do wherever the body was changed.
const RAW: &str =
    "verify the raw bytes of the request before anything parses, decodes or trims them";
/// What to do wherever the header was changed.
const EXACT: &str = "take the header's value as it came, to the byte";
/// What to do wherever the signed text is another.
const TEXT: &str = "sign `<t>.<raw body>`: the digits of `t`, one full stop, the body's bytes";

use Hypothesis as H;

/// Every hypothesis there is.
pub const HYPOTHESES: &[HypothesisRow] = &[
    row(
        H::HeaderMissing,
        "header_missing",
        "there is no X-Service-Signature",
        "look at what the request had when it arrived: a proxy may take headers away, and a framework may \
         give them under other names",
    ),
    row(
        H::HeaderRenamed,
        "header_renamed",
        "the signature came under another header's name",
        "read X-Service-Signature; what renames it on the way can be told to leave it alone",
    ),
    row(
        H::HeaderTwice,
        "header_twice",
        "the signature header came twice, or two were joined into one",
        "find what adds a second one; a receiver takes exactly one",
    ),
    row(
        H::HeaderWithName,
        "header_with_name",
        "the value begins with the name of the header",
        "take what stands after `X-Service-Signature:`",
    ),
    row(
        H::HeaderQuoted,
        "header_quoted",
        "the value, or a part of it, stands in quotation marks",
        EXACT,
    ),
    row(H::HeaderPercentEncoded, "header_percent_encoded", "the value is percent-encoded", EXACT),
    row(
        H::HeaderSpaced,
        "header_spaced",
        "there is white space in the value: it was folded, or laid out",
        EXACT,
    ),
    row(
        H::HeaderSeparators,
        "header_separators",
        "the parts are separated by something else than commas",
        "write `t=<unix-seconds>,v1=<hex>`",
    ),
    row(
        H::HeaderKeysCase,
        "header_keys_case",
        "the keys are in capitals",
        "write `t` and `v1` in lower case",
    ),
    row(
        H::HeaderOtherKey,
        "header_other_key",
        "the right MAC stands under another key than `v1`, or under none",
        "write `t=<unix-seconds>,v1=<hex>`",
    ),
    row(
        H::TMissing,
        "t_missing",
        "the header has no `t`",
        "write `t=<unix-seconds>,v1=<hex>`, and sign the time along",
    ),
    row(
        H::TNoNumber,
        "t_no_number",
        "`t` is no Unix time in digits, and was signed so",
        "write `t` in whole seconds since 1970",
    ),
    row(
        H::TMillis,
        "t_millis",
        "`t` is in milliseconds, and was signed so",
        "write `t` in whole seconds since 1970: divide by 1000 before signing",
    ),
    row(
        H::V1Missing,
        "v1_missing",
        "the header has no `v1` that could be a MAC",
        "write `t=<unix-seconds>,v1=<hex>`",
    ),
    row(
        H::V1Prefixed,
        "v1_prefixed",
        "there is a prefix before the digits of `v1`",
        "write the 64 digits alone",
    ),
    row(H::V1UpperCase, "v1_upper_case", "`v1` is in capitals", "write the digits in lower case"),
    row(
        H::V1Base64,
        "v1_base64",
        "`v1` is the right MAC in base64",
        "write it in lower-case hex: 64 digits",
    ),
    row(
        H::V1Truncated,
        "v1_truncated",
        "`v1` has the first digits of the right MAC, and not all of them",
        "write all 64 digits; a column or a field may be too short for the header",
    ),
    row(
        H::Stale,
        "stale",
        "the signature is right, and older than is taken",
        "sign it afresh (`formsvc webhook replay`, `formsvc webhook sign`), or judge it as of its time \
         (`--at`, `--ignore-age`)",
    ),
    row(
        H::Late,
        "late",
        "the signature is right, and was too old already when the delivery came",
        "look for what held it back on the way, or set the clock of the machine it came to",
    ),
    row(
        H::Ahead,
        "ahead",
        "the signature is right, and of a time that has not come: two clocks differ",
        "set the clock of this machine, or of the one that signed, by a time server",
    ),
    row(
        H::SecretSpaced,
        "secret_spaced",
        "it was signed with white space around the secret, such as the line feed of a file",
        "trim the secret where the signer reads it",
    ),
    row(
        H::SecretQuoted,
        "secret_quoted",
        "the secret stands in quotation marks here or where it was signed, and they were taken for a part \
         of it",
        "take the quotation marks away where the secret is kept",
    ),
    row(
        H::SecretPrefixCut,
        "secret_prefix_cut",
        "it was signed with the secret without its `whsec_`",
        "use the whole text of the secret as the key, `whsec_` included",
    ),
    row(
        H::SecretPrefixLost,
        "secret_prefix_lost",
        "the secret that was given lacks the `whsec_` that it was signed with",
        "give the whole text of the secret, `whsec_` included",
    ),
    row(
        H::SecretHex,
        "secret_hex",
        "it was signed with what the secret means as hex",
        "use the text of the secret as the key, and decode nothing",
    ),
    row(
        H::SecretBase64,
        "secret_base64",
        "it was signed with what the secret means as base64",
        "use the text of the secret as the key, and decode nothing",
    ),
    row(
        H::SecretApiKey,
        "secret_api_key",
        "the API key stands where the signing secret belongs",
        "use the signing secret of the endpoint, which begins with `whsec_`; the API key is for requests \
         to the service",
    ),
    row(
        H::SecretUnset,
        "secret_unset",
        "it was signed with no secret: the setting was empty or not there",
        "look at how the signer reads its secret; one that finds none should not start",
    ),
    row(H::SignedBodyOnly, "signed_body_only", "the body alone was signed, without the time", TEXT),
    row(
        H::SignedSeparator,
        "signed_separator",
        "between the time and the body something else was signed than a full stop",
        TEXT,
    ),
    row(H::SignedOrder, "signed_order", "the body was signed before the time", TEXT),
    row(H::SignedWords, "signed_words", "more than the time and the body was signed", TEXT),
    row(
        H::SignedUnit,
        "signed_unit",
        "the time was signed in another unit than the header has it in",
        "sign the digits of `t` as they stand in the header, in whole seconds",
    ),
    row(
        H::SignedData,
        "signed_data",
        "only the `data` of the body was signed",
        "sign the whole body, as it is sent",
    ),
    row(
        H::SignedAlgorithm,
        "signed_algorithm",
        "it was made with another algorithm than HMAC-SHA256",
        "use HMAC-SHA256, with the secret as the key",
    ),
    row(
        H::LineFeedAdded,
        "line_feed_added",
        "a line break was added at the end of the body, as editors and `echo` do",
        "save the body without it (`printf %s`, `curl --data-binary`); verify the raw bytes of the request",
    ),
    row(
        H::LineFeedLost,
        "line_feed_lost",
        "the body was signed with a line break at its end, which is gone",
        RAW,
    ),
    row(
        H::BomAdded,
        "bom_added",
        "a byte order mark was added before the body, as some editors do",
        "save the body as UTF-8 without one; verify the raw bytes of the request",
    ),
    row(
        H::BomLost,
        "bom_lost",
        "the body was signed with a byte order mark before it, which is gone",
        RAW,
    ),
    row(
        H::BodySpaced,
        "body_spaced",
        "there is white space around the body that was not signed",
        RAW,
    ),
    row(
        H::LineEndings,
        "line_endings",
        "the line breaks of the body were changed between LF and CRLF",
        "send and keep the body as bytes: version control and text mode change line breaks",
    ),
    row(
        H::Charset,
        "charset",
        "the body was decoded as one encoding of text and written as another",
        "verify the raw bytes of the request, which are UTF-8; a file must be written as bytes",
    ),
    row(
        H::BodyBase64,
        "body_base64",
        "the body is in base64, as some gateways hand it on",
        "decode it before verifying, where the gateway says that it is encoded",
    ),
    row(
        H::BodyInString,
        "body_in_string",
        "the body is a string of JSON that holds the body",
        "it was written as JSON twice: verify the raw bytes of the request",
    ),
    row(
        H::BodyTooLong,
        "body_too_long",
        "the body goes on after its Content-Length",
        "read exactly as many bytes as Content-Length says",
    ),
    row(
        H::BodyTruncated,
        "body_truncated",
        "the body is shorter than its Content-Length",
        "read the body to its end before verifying; a limit or a time-out may cut it",
    ),
    row(
        H::JsonCompact,
        "json_compact",
        "the JSON was signed without spaces and line breaks between its parts",
        RAW,
    ),
    row(
        H::JsonSpaced,
        "json_spaced",
        "the JSON was signed with a space after each comma and colon",
        RAW,
    ),
    row(H::JsonPretty, "json_pretty", "the JSON was signed laid out in indented lines", RAW),
    row(H::JsonSorted, "json_sorted", "the JSON was signed with its members sorted by name", RAW),
    row(
        H::JsonOrder,
        "json_order",
        "the JSON was signed with its members in the order in which the service writes them",
        RAW,
    ),
    row(
        H::JsonSlashEscaped,
        "json_slash_escaped",
        "the JSON was signed with `/` written `\\/`",
        RAW,
    ),
    row(
        H::JsonSlashPlain,
        "json_slash_plain",
        "the JSON was signed with `/` where there is `\\/` now",
        RAW,
    ),
    row(
        H::JsonUnicodeEscaped,
        "json_unicode_escaped",
        "the JSON was signed with `\\u…` for every character outside of ASCII",
        RAW,
    ),
    row(
        H::JsonUnicodePlain,
        "json_unicode_plain",
        "the JSON was signed with characters where there are `\\u…` now",
        RAW,
    ),
    row(
        H::JsonHtmlEscaped,
        "json_html_escaped",
        "the JSON was signed with `\\u…` for `<`, `>` and `&`",
        RAW,
    ),
    row(
        H::JsonNumbers,
        "json_numbers",
        "a number of the JSON was signed in another spelling, such as 1.0 for 1",
        RAW,
    ),
    row(
        H::JsonPrinted,
        "json_printed",
        "there is white space between the parts of the JSON, which the service never writes: something \
         parsed it and printed it again",
        "take the bytes of the request as they came, which `formsvc webhook events show N --raw` has of a \
         delivery to a listener, and verify those",
    ),
];

impl Hypothesis {
    /// Its row.
    pub fn row(self) -> &'static HypothesisRow {
        HYPOTHESES.iter().find(|row| row.hypothesis == self).expect("every hypothesis has a row")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hypothesis_has_one_row_and_one_name() {
        for (at, row) in HYPOTHESES.iter().enumerate() {
            assert_eq!(row.hypothesis as usize, at, "{}: out of order", row.id);
            assert!(HYPOTHESES[..at].iter().all(|other| other.id != row.id), "{}", row.id);
        }
        assert_eq!(HYPOTHESES.len(), Hypothesis::JsonPrinted as usize + 1);
    }
}
