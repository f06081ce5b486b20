//! A body that is there in pieces.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::HttpBody;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

/// Bytes that follow each other on the wire, and were not copied together for it. Its length is known.
#[derive(Debug)]
pub(super) struct Pieces(VecDeque<Bytes>);

impl Pieces {
    /// Empty ones are left out: a frame of nothing means nothing.
    pub(super) fn new<const N: usize>(pieces: [Bytes; N]) -> Self {
        Self(pieces.into_iter().filter(|piece| !piece.is_empty()).collect())
    }
}

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.iter().map(|piece| piece.len() as u64).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pieces_come_in_order_and_their_length_is_known() {
        let pieces = [&b"ab"[..], b"", b"c"].map(Bytes::from_static);
        let body = Pieces::new(pieces);
        assert_eq!(body.size_hint().exact(), Some(3));
        assert!(!body.is_end_stream());
        let whole = axum::body::to_bytes(axum::body::Body::new(body), 3).await.unwrap();
        assert_eq!(whole, "abc");
        assert!(Pieces::new([Bytes::new()]).is_end_stream());
    }
}
