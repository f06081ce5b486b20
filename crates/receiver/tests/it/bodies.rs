//! Request bodies that stall, break, or count how often they are read.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use axum::body::Bytes;
use http_body::{Body, Frame, SizeHint};

/// A body of 64 KiB chunks of zeros that counts its reads.
pub(crate) struct CountedBody {
    chunk: Bytes,
    chunks_left: u64,
    has_length: bool,
    reads: Arc<AtomicU64>,
}

impl CountedBody {
    pub(crate) fn new(bytes: u64) -> Self {
        let chunk = Bytes::from(vec![0; 64 << 10]);
        Self { chunk, chunks_left: bytes >> 16, has_length: false, reads: Arc::default() }
    }

    /// Reports the length, like a body with `Content-Length`.
    pub(crate) fn with_length(mut self) -> Self {
        self.has_length = true;
        self
    }

    /// Returns the number of reads so far.
    pub(crate) fn reads(&self) -> impl Fn() -> u64 + use<> {
        let reads = Arc::clone(&self.reads);
        move || reads.load(Ordering::Relaxed)
    }
}

impl Body for CountedBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        if self.chunks_left == 0 {
            return Poll::Ready(None);
        }
        self.chunks_left -= 1;
        Poll::Ready(Some(Ok(Frame::data(self.chunk.clone()))))
    }

    fn size_hint(&self) -> SizeHint {
        if self.has_length {
            SizeHint::with_exact(self.chunks_left << 16)
        } else {
            SizeHint::default()
        }
    }
}

/// A body that never ends (`Stalled`), or fails (`Broken`).
#[derive(Clone, Copy)]
pub(crate) enum BadBody {
    Stalled,
    Broken,
}

impl Body for BadBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match *self {
            Self::Stalled => Poll::Pending,
            Self::Broken => Poll::Ready(Some(Err(std::io::Error::other("hunter2")))),
        }
    }
}
