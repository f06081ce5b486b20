//! What may keep a signature from matching. What each means and what to do about it is in the table.

/// Something that keeps a signature from matching.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hypothesis {
    /// No header.
    HeaderMissing,
    /// Under another name.
    HeaderRenamed,
    /// Twice.
    HeaderTwice,
    /// With its name in the value.
    HeaderWithName,
    /// In quotation marks.
    HeaderQuoted,
    /// Percent-encoded.
    HeaderPercentEncoded,
    /// With white space.
    HeaderSpaced,
    /// With other separators.
    HeaderSeparators,
    /// With keys in capitals.
    HeaderKeysCase,
    /// The MAC under another key.
    HeaderOtherKey,
    /// No `t`.
    TMissing,
    /// `t` is no Unix time.
    TNoNumber,
    /// `t` in milliseconds.
    TMillis,
    /// No MAC.
    V1Missing,
    /// A prefix before the digits.
    V1Prefixed,
    /// Digits in capitals.
    V1UpperCase,
    /// The MAC in base64.
    V1Base64,
    /// Not all digits.
    V1Truncated,
    /// Right, and too old.
    Stale,
    /// Right, and too old when it came.
    Late,
    /// Right, and ahead of the clock.
    Ahead,
    /// White space around the secret.
    SecretSpaced,
    /// Quotation marks around the secret.
    SecretQuoted,
    /// Signed without `whsec_`.
    SecretPrefixCut,
    /// Given without `whsec_`.
    SecretPrefixLost,
    /// Decoded from hex.
    SecretHex,
    /// Decoded from base64.
    SecretBase64,
    /// An API key.
    SecretApiKey,
    /// No secret.
    SecretUnset,
    /// The body alone was signed.
    SignedBodyOnly,
    /// Another separator.
    SignedSeparator,
    /// Body first.
    SignedOrder,
    /// With words around.
    SignedWords,
    /// Another unit of time.
    SignedUnit,
    /// A part of the body.
    SignedData,
    /// Another algorithm.
    SignedAlgorithm,
    /// A line feed after the body.
    LineFeedAdded,
    /// A line feed lost.
    LineFeedLost,
    /// A byte order mark before the body.
    BomAdded,
    /// A byte order mark lost.
    BomLost,
    /// White space around the body.
    BodySpaced,
    /// Other line endings.
    LineEndings,
    /// Another encoding of text.
    Charset,
    /// The body in base64.
    BodyBase64,
    /// The body as a string of JSON.
    BodyInString,
    /// More than the body.
    BodyTooLong,
    /// Less than the body.
    BodyTruncated,
    /// Laid out without spaces.
    JsonCompact,
    /// Laid out with spaces after separators.
    JsonSpaced,
    /// Laid out in lines.
    JsonPretty,
    /// Members sorted.
    JsonSorted,
    /// Members in the service's order.
    JsonOrder,
    /// `/` escaped.
    JsonSlashEscaped,
    /// `\/` unescaped.
    JsonSlashPlain,
    /// Characters as escapes.
    JsonUnicodeEscaped,
    /// Escapes as characters.
    JsonUnicodePlain,
    /// `<`, `>` and `&` as escapes.
    JsonHtmlEscaped,
    /// Numbers spelled in another way.
    JsonNumbers,
    /// Printed again, in a way that cannot be undone.
    JsonPrinted,
}
