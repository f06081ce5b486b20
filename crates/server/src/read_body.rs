//! Reads a body into one buffer.

use axum::BoxError;
use axum::body::HttpBody;
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};

/// Returns a body of at most `max` bytes; a longer one is a
/// [`LengthLimitError`](http_body_util::LengthLimitError).
///
/// The chunks are copied, because a chunk that is kept keeps the buffer that it was read into: 8 KiB or
/// more for a chunk of one byte.
pub(crate) async fn read_body<B>(body: B, max: usize) -> Result<Bytes, BoxError>
where
    B: HttpBody<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    let mut body = Limited::new(body, max);
    let mut whole = Vec::new();
    while let Some(frame) = body.frame().await {
        if let Ok(chunk) = frame?.into_data() {
            whole.extend_from_slice(&chunk);
        }
    }
    Ok(whole.into())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::body::Body;
    use futures_util::stream;
    use http_body_util::LengthLimitError;

    use super::*;

    /// A read buffer with one byte, and a reference to the counter.
    struct Buffer(u8, #[expect(dead_code, reason = "counted")] Arc<AtomicUsize>);

    impl AsRef<[u8]> for Buffer {
        fn as_ref(&self) -> &[u8] {
            std::slice::from_ref(&self.0)
        }
    }

    /// A body in chunks of one byte, each with a read buffer of its own. The counter becomes the largest
    /// number of its own references.
    pub(crate) fn scattered(text: &'static [u8]) -> (Body, Arc<AtomicUsize>) {
        let peak = Arc::<AtomicUsize>::default();
        let counter = Arc::clone(&peak);
        let chunk = move |byte: &u8| {
            let buffer = Buffer(*byte, Arc::clone(&counter));
            counter.fetch_max(Arc::strong_count(&counter), Ordering::Relaxed);
            Ok::<_, Infallible>(Bytes::from_owner(buffer))
        };
        (Body::from_stream(stream::iter(text.iter().map(chunk))), peak)
    }

    /// Asserts that at most one read buffer of a scattered body was in memory at a time.
    #[track_caller]
    pub(crate) fn assert_one_buffer(peak: &AtomicUsize) {
        let references = peak.load(Ordering::Relaxed);
        assert_eq!(references, 3, "those of the test, the body and one buffer");
    }

    #[tokio::test]
    async fn scattered_body_keeps_one_read_buffer() {
        let (body, peak) = scattered(&[b'a'; 1_000]);
        let whole = read_body(body, 1_000).await.unwrap();
        assert_eq!(whole, [b'a'; 1_000].as_slice());
        assert_one_buffer(&peak);
        let (body, peak) = scattered(&[b'a'; 1_000]);
        let error = read_body(body, 999).await.unwrap_err();
        assert!(error.is::<LengthLimitError>(), "{error}");
        assert_one_buffer(&peak);
    }
}
