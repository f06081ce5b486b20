//! Reads the body of a request within the verifier's limits.

use std::error::Error;
use std::pin::pin;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::HeaderMap;
use http_body::Body;
use http_body_util::{BodyExt, LengthLimitError};

use crate::{Rejection, Verified, Verifier, VerifyError, WebhookEvent};

/// Verifies a request. Reads its body only if the headers are acceptable, and only within the
/// verifier's size and time limits.
pub(crate) async fn verify_stream<B>(
    verifier: &Verifier,
    headers: &HeaderMap,
    body: B,
) -> Result<Verified<WebhookEvent>, Rejection>
where
    B: Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    verifier.check_headers(headers)?;
    let max_body = verifier.max_body();
    if usize::try_from(body.size_hint().lower()).is_ok_and(|length| length <= max_body) {
        let reading = tokio::time::timeout(verifier.read_timeout(), read_body(body, max_body));
        let body = reading.await.map_err(|_| Rejection::BodyTimeout)??;
        return Ok(verifier.verify_request(headers, body)?);
    }
    Err(VerifyError::TooLarge.into())
}

/// Copies the body into one buffer: a list of one-byte chunks would need many times their size.
async fn read_body<B>(body: B, max_body: usize) -> Result<Bytes, Rejection>
where
    B: Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let mut body = pin!(body);
    let mut buffer = BytesMut::new();
    while let Some(frame) = body.as_mut().frame().await {
        let frame = frame.map_err(|error| read_error(&*error.into()))?;
        let Ok(chunk) = frame.into_data() else { continue };
        if chunk.remaining() > max_body - buffer.len() {
            return Err(VerifyError::TooLarge.into());
        }
        buffer.put(chunk);
    }
    Ok(buffer.freeze())
}

/// Recognizes a smaller size limit that the server put around the body.
fn read_error(error: &(dyn Error + 'static)) -> Rejection {
    let mut causes = std::iter::successors(Some(error), |error| (*error).source());
    if causes.any(<dyn Error>::is::<LengthLimitError>) {
        return VerifyError::TooLarge.into();
    }
    Rejection::UnreadableBody
}
