//! A body read whole, and no further than the cap.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use http_body::Body;
use http_body_util::LengthLimitError;
use pin_project_lite::pin_project;

use super::limit::TimeLeft;
use crate::{Rejection, Verifier, VerifyError};

pin_project! {
    /// Reads a body of at most `max` bytes, while there is time. A body that comes in one piece is not copied. One that
    /// comes in many is gathered in one buffer: kept as they are, pieces of one byte each would take
    /// up many times the cap.
    pub(crate) struct ReadBody<B> {
        #[pin]
        body: B,
        gathered: Gathered,
        max: usize,
        time: TimeLeft,
    }
}

enum Gathered {
    Nothing,
    One(Bytes),
    Many(BytesMut),
}

impl<B> ReadBody<B> {
    /// Within what the verifier allows.
    pub(crate) fn new(body: B, verifier: &Verifier) -> Self {
        let time = TimeLeft::new(verifier.read_limit());
        Self { body, gathered: Gathered::Nothing, max: verifier.max_body(), time }
    }
}

impl Gathered {
    fn len(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::One(piece) => piece.len(),
            Self::Many(pieces) => pieces.len(),
        }
    }

    fn add(&mut self, mut piece: impl Buf) {
        match self {
            Self::Nothing => *self = Self::One(piece.copy_to_bytes(piece.remaining())),
            Self::One(first) => {
                let mut pieces = BytesMut::with_capacity(2 * (first.len() + piece.remaining()));
                pieces.extend_from_slice(first);
                append(&mut pieces, piece);
                *self = Self::Many(pieces);
            }
            Self::Many(pieces) => append(pieces, piece),
        }
    }

    fn take(&mut self) -> Bytes {
        match std::mem::replace(self, Self::Nothing) {
            Self::Nothing => Bytes::new(),
            Self::One(piece) => piece,
            Self::Many(pieces) => pieces.freeze(),
        }
    }
}

fn append(pieces: &mut BytesMut, mut piece: impl Buf) {
    while piece.has_remaining() {
        let chunk = piece.chunk();
        let length = chunk.len();
        pieces.extend_from_slice(chunk);
        piece.advance(length);
    }
}

impl<B> Future for ReadBody<B>
where
    B: Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Output = Result<Bytes, Rejection>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let polled = this.body.as_mut().poll_frame(context);
            if polled.is_pending() && this.time.is_over(context) {
                return Poll::Ready(Err(Rejection::TooSlow));
            }
            let piece = match ready!(polled) {
                None => return Poll::Ready(Ok(this.gathered.take())),
                Some(Err(error)) => return Poll::Ready(Err(rejection(&*error.into()))),
                Some(Ok(frame)) => frame.into_data(),
            };
            // Trailers are none of our business.
            let Ok(piece) = piece else { continue };
            if piece.remaining() > *this.max - this.gathered.len() {
                return Poll::Ready(Err(VerifyError::TooLarge.into()));
            }
            if piece.has_remaining() {
                this.gathered.add(piece);
            }
        }
    }
}

/// A limit of the server's own, around ours, is told as one.
fn rejection(error: &(dyn Error + 'static)) -> Rejection {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<LengthLimitError>() {
            return VerifyError::TooLarge.into();
        }
        next = error.source();
    }
    Rejection::Unreadable
}

/// The whole of a body that is there already.
#[cfg(test)]
pub(crate) fn read_now<B>(body: B) -> Bytes
where
    B: Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    tests::read(body, usize::MAX).expect("is there")
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use http::HeaderMap;
    use http_body::Frame;
    use http_body_util::Limited;

    use super::*;

    /// A body of given pieces.
    struct Pieces(VecDeque<Frame<Bytes>>);

    impl Body for Pieces {
        type Data = Bytes;
        type Error = std::io::Error;
        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
            Poll::Ready(self.0.pop_front().map(Ok))
        }
    }

    fn pieces(texts: &[&'static str]) -> Pieces {
        Pieces(texts.iter().map(|text| Frame::data(Bytes::from_static(text.as_bytes()))).collect())
    }

    pub(super) fn read<B>(body: B, max: usize) -> Result<Bytes, Rejection>
    where
        B: Body,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let (gathered, time) = (Gathered::Nothing, TimeLeft::new(None));
        let mut reading = Box::pin(ReadBody { body, gathered, max, time });
        match reading.as_mut().poll(&mut Context::from_waker(std::task::Waker::noop())) {
            Poll::Ready(result) => result,
            Poll::Pending => panic!("nothing here waits"),
        }
    }

    #[test]
    fn pieces_are_gathered_up_to_the_cap() {
        let too_large = Err(Rejection::Refused(VerifyError::TooLarge));
        for (texts, text) in [
            (&[][..], ""),
            (&[""], ""),
            (&["abc"], "abc"),
            (&["", "ab", "", "c"], "abc"),
            (&["a", "b", "c"], "abc"),
        ] {
            assert_eq!(read(pieces(texts), 3), Ok(text.into()), "{texts:?}");
            if !text.is_empty() {
                assert_eq!(read(pieces(texts), 2), too_large, "{texts:?}");
                assert_eq!(read(pieces(texts), 0), too_large, "{texts:?}");
            }
        }
        assert_eq!(read(pieces(&["", ""]), 0), Ok(Bytes::new()));
    }

    #[test]
    fn a_single_piece_is_not_copied() {
        let piece = Bytes::from(vec![7; 100]);
        let body = Pieces([Frame::data(piece.clone())].into());
        assert_eq!(read(body, 100).unwrap().as_ptr(), piece.as_ptr());
    }

    #[test]
    fn trailers_are_passed_over() {
        let mut body = pieces(&["a"]);
        body.0.push_back(Frame::trailers(HeaderMap::new()));
        assert_eq!(read(body, 1), Ok("a".into()));
    }

    #[test]
    fn a_limit_around_the_body_is_told_as_one() {
        let limited = Limited::new(pieces(&["abc"]), 2);
        assert_eq!(read(limited, 100), Err(Rejection::Refused(VerifyError::TooLarge)));
        let broken = rejection(&std::io::Error::other("gone"));
        assert_eq!(broken, Rejection::Unreadable);
    }
}
