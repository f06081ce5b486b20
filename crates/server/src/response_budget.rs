//! Bounds the memory of large responses that wait for their clients to read them.
//!
//! A response of more than [`SMALL_MAX`] bytes needs room in the budget. It returns the room when the
//! system has taken its last byte, or when its connection is closed. A response that finds no room is
//! dropped at once and built again when there is room; if there is none for some time, the request is
//! answered with 503 `unavailable`. So the memory holds the responses in the budget and those that
//! threads are building, however many clients wait.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::response::Response;
use bytes::Bytes;
use formsvc_protocol::KeyId;
use http::Extensions;
use hyper::body::{Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::api::Problem;
use crate::keyed_semaphore::KeyedSemaphore;

/// Responses of at most this many bytes need no room in the budget.
pub const SMALL_MAX: usize = 64 << 10;
/// Bytes of large responses in memory at a time.
const TOTAL: usize = 128 << 20;
/// Large responses in memory at a time that one API key requested.
const PER_KEY: usize = 2;
/// How long a response waits for room.
const WAIT: Duration = Duration::from_secs(2);

/// Room for large responses. Clones share it.
#[derive(Clone, Debug)]
pub struct ResponseBudget(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Room in KiB, the unit of all permits here.
    room: Arc<Semaphore>,
    total: u32,
    wait: Duration,
    /// Free positions of keys with a large response in memory.
    keys: KeyedSemaphore<KeyId>,
}

/// Room that a response occupies until this is dropped.
#[derive(Debug)]
struct Reservation {
    room: OwnedSemaphorePermit,
    _key: Option<OwnedSemaphorePermit>,
}

impl Default for ResponseBudget {
    fn default() -> Self {
        Self::new(TOTAL, WAIT)
    }
}

impl ResponseBudget {
    /// A budget of `total` bytes, in which a response waits for room up to `wait`.
    pub fn new(total: usize, wait: Duration) -> Self {
        let total = kib(total).max(1);
        let room = Arc::new(Semaphore::new(total as usize));
        Self(Arc::new(Inner { room, total, wait, keys: KeyedSemaphore::new(PER_KEY) }))
    }

    /// Bytes of large responses in memory now.
    pub fn bytes_in_use(&self) -> usize {
        (self.0.total as usize - self.0.room.available_permits()) << 10
    }

    /// Returns the budget that a request came with.
    pub(crate) fn of(extensions: &Extensions) -> Self {
        extensions.get().cloned().unwrap_or_default()
    }

    /// Returns a response once there is room for it: `built`, or what `again` builds if there is no room
    /// yet. The future `again` runs at most once, and only after `built` was dropped.
    pub(crate) async fn admit<E: From<Problem>>(
        &self,
        key: Option<&KeyId>,
        built: Response,
        again: impl Future<Output = Result<Response, E>>,
    ) -> Result<Response, E> {
        let bytes = length(&built);
        // Without room this drops the response.
        if let Ok(admitted) = self.try_admit(key, built) {
            return Ok(admitted);
        }
        self.admit_later(key, bytes, again).await
    }

    /// Returns the response that `build` builds once there is room for the expected number of bytes.
    pub(crate) async fn admit_later<E: From<Problem>>(
        &self,
        key: Option<&KeyId>,
        expected: usize,
        build: impl Future<Output = Result<Response, E>>,
    ) -> Result<Response, E> {
        let reservation = self.reserve(key, expected).await.ok_or_else(no_room)?;
        let response = build.await?;
        let reservation = self.resize(reservation, length(&response)).ok_or_else(no_room)?;
        Ok(reservation.hold(response))
    }

    /// Returns a response that cannot be built again, if there is room for it now.
    pub(crate) fn try_admit(
        &self,
        key: Option<&KeyId>,
        built: Response,
    ) -> Result<Response, Problem> {
        let bytes = length(&built);
        if bytes <= SMALL_MAX {
            return Ok(built);
        }
        self.try_reserve(key, bytes).map(|reservation| reservation.hold(built)).ok_or_else(no_room)
    }

    fn try_reserve(&self, key: Option<&KeyId>, bytes: usize) -> Option<Reservation> {
        let slots = key.map(|key| self.0.keys.of(key));
        let key = slots.map(Semaphore::try_acquire_owned).transpose().ok()?;
        let room = Arc::clone(&self.0.room).try_acquire_many_owned(self.permits(bytes)).ok()?;
        Some(Reservation { room, _key: key })
    }

    async fn reserve(&self, key: Option<&KeyId>, bytes: usize) -> Option<Reservation> {
        let acquire = async {
            // The key first: a key without a free position must not occupy room.
            let key = match key.map(|key| self.0.keys.of(key)) {
                Some(slots) => Some(slots.acquire_owned().await.ok()?),
                None => None,
            };
            let room = Arc::clone(&self.0.room).acquire_many_owned(self.permits(bytes));
            Some(Reservation { room: room.await.ok()?, _key: key })
        };
        tokio::time::timeout(self.0.wait, acquire).await.ok().flatten()
    }

    /// Adapts a reservation to a response of another length; `None` if there is no room to grow.
    fn resize(&self, mut reservation: Reservation, bytes: usize) -> Option<Reservation> {
        let (now, wanted) = (reservation.room.num_permits(), self.permits(bytes));
        let surplus = now.saturating_sub(wanted as usize);
        drop(reservation.room.split(surplus));
        let missing = wanted.saturating_sub(u32::try_from(now).unwrap_or(u32::MAX));
        let more = Arc::clone(&self.0.room).try_acquire_many_owned(missing).ok()?;
        reservation.room.merge(more);
        Some(reservation)
    }

    /// A response larger than the budget gets all of it.
    fn permits(&self, bytes: usize) -> u32 {
        kib(bytes).min(self.0.total)
    }
}

impl Reservation {
    /// A response that occupies the room until its bytes are dropped. The body itself may be dropped
    /// earlier: hyper keeps only the bytes that it could not write yet.
    fn hold(self, response: Response) -> Response {
        let reservation = Arc::new(self);
        response.map(|body| Body::new(HeldBody { body, reservation }))
    }
}

fn no_room() -> Problem {
    let message = "too many large responses wait for their clients, retry in 2 s";
    Problem::unavailable(message, None)
}

fn kib(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(1 << 10)).unwrap_or(u32::MAX)
}

/// Bytes of a response, as far as they are known before it is sent.
pub(crate) fn length(response: &Response) -> usize {
    usize::try_from(response.body().size_hint().lower()).unwrap_or(usize::MAX)
}

/// A body that occupies room until its bytes are dropped.
struct HeldBody {
    body: Body,
    reservation: Arc<Reservation>,
}

/// Bytes of a body, with their room.
struct HeldBytes {
    bytes: Bytes,
    _reservation: Arc<Reservation>,
}

impl AsRef<[u8]> for HeldBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl HttpBody for HeldBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(cx));
        let hold = |bytes| {
            Bytes::from_owner(HeldBytes { bytes, _reservation: Arc::clone(&self.reservation) })
        };
        Poll::Ready(frame.map(|frame| frame.map(|frame| frame.map_data(hold))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use formsvc_protocol::ErrorCode;

    use super::*;

    const MIB: usize = 1 << 20;

    fn response(bytes: usize) -> Response {
        Response::new(Body::from(vec![b'x'; bytes]))
    }

    async fn admit(
        budget: &ResponseBudget,
        key: Option<&KeyId>,
        bytes: usize,
    ) -> Result<Response, Problem> {
        budget.admit(key, response(bytes), async { Ok(response(bytes)) }).await
    }

    #[tokio::test(start_paused = true)]
    async fn large_response_without_room_is_503_after_2_s() {
        let budget = ResponseBudget::default();
        let _held = admit(&budget, None, TOTAL).await.unwrap();
        let began = tokio::time::Instant::now();
        let refused = admit(&budget, None, SMALL_MAX + 1).await.unwrap_err();
        assert_eq!(began.elapsed(), WAIT);
        assert_eq!((refused.code(), refused.retry_after()), (&ErrorCode::Unavailable, Some(2)));
        admit(&budget, None, SMALL_MAX).await.unwrap();
        assert_eq!(began.elapsed(), WAIT, "a small response does not wait");
        assert!(budget.try_admit(None, response(MIB)).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn room_is_returned_with_the_last_bytes() {
        let budget = ResponseBudget::new(4 * MIB, WAIT);
        let mut body = admit(&budget, None, 3 * MIB).await.unwrap().into_body();
        assert_eq!(budget.bytes_in_use(), 3 * MIB);
        let waiting = admit(&budget, None, 2 * MIB);
        let frame = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
        drop(body);
        assert_eq!(budget.bytes_in_use(), 3 * MIB, "the bytes are still there");
        let (response, ()) = tokio::join!(waiting, async { drop(frame) });
        response.unwrap();
        assert_eq!(budget.bytes_in_use(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn key_has_two_large_responses_at_a_time() {
        let budget = ResponseBudget::default();
        let [first, other] = ["key_1", "key_2"].map(|id| KeyId::new(id).unwrap());
        let mut held = Vec::new();
        for _ in 0..PER_KEY {
            held.push(admit(&budget, Some(&first), MIB).await.unwrap());
        }
        admit(&budget, Some(&first), MIB).await.unwrap_err();
        held.push(admit(&budget, Some(&other), MIB).await.unwrap());
        held.remove(0);
        held.push(admit(&budget, Some(&first), MIB).await.unwrap());
        held.clear();
    }

    #[tokio::test(start_paused = true)]
    async fn rebuilt_response_is_counted_by_its_new_length() {
        let budget = ResponseBudget::new(8 * MIB, WAIT);
        for (rebuilt, expected) in [(MIB, Some(MIB)), (7 * MIB, Some(7 * MIB))] {
            let held = admit(&budget, None, 7 * MIB).await.unwrap();
            let again = async { Ok::<_, Problem>(response(rebuilt)) };
            let waiting = budget.admit(None, response(2 * MIB), again);
            let (admitted, ()) = tokio::join!(waiting, async { drop(held) });
            let admitted = admitted.ok();
            assert_eq!(admitted.as_ref().map(|_| budget.bytes_in_use()), expected);
        }
        assert_eq!(budget.bytes_in_use(), 0);
        let _whole = admit(&budget, None, 100 * MIB).await.unwrap();
        assert_eq!(budget.bytes_in_use(), 8 * MIB, "no response needs more than the budget");
    }
}
