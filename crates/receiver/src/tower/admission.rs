//! What the head of a request decides, before one byte of its body is read.

use http::{HeaderMap, HeaderValue, header};
use http_body::Body;

use crate::{SIGNATURE_HEADER, Verifier, VerifyError, signature_header};

/// The signature header of a request whose body is worth reading: there is one header, it is
/// well-formed, and no announced length is over the cap.
pub(crate) fn admit<B: Body>(
    verifier: &Verifier,
    headers: &HeaderMap,
    body: &B,
) -> Result<HeaderValue, VerifyError> {
    let signature = signature_header(headers.get_all(SIGNATURE_HEADER))?;
    Verifier::check_header(signature.as_bytes())?;
    let max = u64::try_from(verifier.max_body()).unwrap_or(u64::MAX);
    if announced(headers) > max || body.size_hint().lower() > max {
        return Err(VerifyError::TooLarge);
    }
    Ok(signature.clone())
}

/// The length that the head announces. What is no number is for the server to judge, and bounded
/// while it is read in any case.
fn announced(headers: &HeaderMap) -> u64 {
    let lengths = headers.get_all(header::CONTENT_LENGTH).iter();
    lengths.filter_map(|length| length.to_str().ok()?.parse().ok()).max().unwrap_or(0)
}
