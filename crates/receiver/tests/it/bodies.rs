//! Bodies that tell how far they were read.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use formsvc_receiver::VerifierBuilder;
use http_body::{Frame, SizeHint};
use tokio::sync::Notify;

use crate::support::{SECRET, builder};

/// A body of zeros, of any length, whose reader is watched.
pub(crate) struct Watched {
    piece: Bytes,
    pieces: u64,
    announces: bool,
    polls: Arc<AtomicU64>,
}

impl Watched {
    /// A body of 64 KiB pieces.
    pub(crate) fn of_length(bytes: u64) -> Self {
        let piece = Bytes::from(vec![0; 64 << 10]);
        Self { pieces: bytes >> 16, piece, announces: false, polls: Arc::default() }
    }

    /// A body that gives its length away, as one with a `Content-Length` does.
    pub(crate) fn announced(mut self) -> Self {
        self.announces = true;
        self
    }

    pub(crate) fn polls(&self) -> Polls {
        Polls(Arc::clone(&self.polls))
    }
}

/// How often a body was asked for more.
pub(crate) struct Polls(Arc<AtomicU64>);

impl Polls {
    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl http_body::Body for Watched {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.polls.fetch_add(1, Ordering::Relaxed);
        if self.pieces == 0 {
            return Poll::Ready(None);
        }
        self.pieces -= 1;
        Poll::Ready(Some(Ok(Frame::data(self.piece.clone()))))
    }

    fn size_hint(&self) -> SizeHint {
        if self.announces { SizeHint::with_exact(self.pieces << 16) } else { SizeHint::default() }
    }
}

/// A body that does not come, and does not end.
pub(crate) fn stalled() -> Body {
    struct Stalled;
    impl http_body::Body for Stalled {
        type Data = Bytes;
        type Error = std::io::Error;
        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
            Poll::Pending
        }
    }
    Body::new(Stalled)
}

/// A verifier's limit of ten seconds; how often it began to run; and what ends it.
pub(crate) fn time_limit() -> (VerifierBuilder, Arc<AtomicU64>, Arc<Notify>) {
    let (begun, over) = (Arc::new(AtomicU64::new(0)), Arc::new(Notify::new()));
    let (count, end) = (Arc::clone(&begun), Arc::clone(&over));
    let limit = Duration::from_secs(10);
    let builder = builder().secret(SECRET.into()).read_timeout(limit, move |asked| {
        assert_eq!(asked, limit);
        count.fetch_add(1, Ordering::Relaxed);
        let end = Arc::clone(&end);
        async move { end.notified().await }
    });
    (builder, begun, over)
}

/// A body that breaks off.
pub(crate) fn broken() -> Body {
    struct Broken;
    impl http_body::Body for Broken {
        type Data = Bytes;
        type Error = std::io::Error;
        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
            Poll::Ready(Some(Err(std::io::Error::other("hunter2 hung up"))))
        }
    }
    Body::new(Broken)
}
