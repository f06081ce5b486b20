//! Request bodies that leave time for an early answer.

use std::convert::Infallible;
use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body::{Body, Frame};
use http_body_util::{Either, Full, StreamBody};

/// Size of the pieces of a long body.
const PIECE: usize = 256 << 10;
/// Time between two pieces.
const PAUSE: Duration = Duration::from_millis(20);

/// Creates a request body. A long one is sent in pieces with pauses: hyper discards an answer that it
/// has not read when a write fails. A receiver that answers 413 and closes the connection before it has
/// read the body makes writes fail, so its answer must be read before the next write.
pub(super) fn request_body(
    body: Bytes,
) -> impl Body<Data = Bytes, Error = Box<dyn Error + Send + Sync>> + Send + Sync + 'static {
    if body.len() <= PIECE {
        return Either::Left(Full::new(body));
    }
    let pieces = stream::unfold((None, body), async |(pause, mut rest)| {
        if rest.is_empty() {
            return None;
        }
        if let Some(pause) = pause {
            tokio::time::sleep(pause).await;
        }
        let piece = rest.split_to(rest.len().min(PIECE));
        Some((Ok::<_, Infallible>(Frame::data(piece)), (Some(PAUSE), rest)))
    });
    Either::Right(StreamBody::new(pieces))
}
