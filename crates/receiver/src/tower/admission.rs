//! What the head of a request decides, before one byte of its body is read.

use http::{HeaderMap, HeaderValue, header};
use http_body::Body;

use crate::{Event, Rejection, SIGNATURE_HEADER, Verifier, VerifyError, signature_header};

/// The header that tells the kind of the event beside the body (SPEC §6).
const EVENT_HEADER: &str = "x-service-event";

/// The signature header of a request whose body is worth reading: there is one header, it is
/// well-formed and of about now, and no announced length is over the cap.
pub(crate) fn admit<B: Body>(
    verifier: &Verifier,
    headers: &HeaderMap,
    body: &B,
) -> Result<HeaderValue, VerifyError> {
    let signature = signature_header(headers.get_all(SIGNATURE_HEADER))?;
    verifier.admit(signature.as_bytes())?;
    let max = u64::try_from(verifier.max_body()).unwrap_or(u64::MAX);
    if announced(headers) > max || body.size_hint().lower() > max {
        return Err(VerifyError::TooLarge);
    }
    Ok(signature.clone())
}

/// Refuses what is another event than its head says. Only the body is signed: whoever sends a recorded
/// delivery again could have a router that goes by the header take it for something else.
pub(crate) fn check_event(headers: &HeaderMap, event: &Event) -> Result<(), Rejection> {
    let mut kinds = headers.get_all(EVENT_HEADER).iter();
    if kinds.all(|kind| kind.as_bytes() == event.kind().as_bytes()) {
        Ok(())
    } else {
        Err(Rejection::EventMismatch)
    }
}

/// The length that the head announces. What is no number is for the server to judge, and bounded
/// while it is read in any case.
fn announced(headers: &HeaderMap) -> u64 {
    let lengths = headers.get_all(header::CONTENT_LENGTH).iter();
    lengths.filter_map(|length| length.to_str().ok()?.parse().ok()).max().unwrap_or(0)
}
