//! What a connection is doing, and since when: enough to tell a slow client from a busy one.
//!
//! One timer per connection looks at it now and then. A timer per request would have to be armed and
//! disarmed for each, which costs more than the rest of the connection's bookkeeping together.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::ServeOptions;

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing was received yet.
    New,
    /// Nothing was received since the last response.
    Idle,
    /// A part of a request's head is here.
    Head,
    /// A handler works.
    Answering,
    /// The client does not take what is sent.
    Blocked,
}

/// The state and its start, readable by the timer while the connection runs.
pub(super) struct Activity {
    opened: Instant,
    /// Milliseconds since `opened`, and the state in the lowest bits.
    packed: AtomicU64,
    /// Milliseconds since `opened` at which the last response was ready.
    ready: AtomicU64,
    /// Bytes the client has taken since.
    taken: AtomicU64,
}

/// Bits of the state.
const STATE_BITS: u32 = 3;

impl Activity {
    pub(super) fn new() -> Self {
        Self {
            opened: Instant::now(),
            packed: AtomicU64::new(State::New as u64),
            ready: AtomicU64::new(0),
            taken: AtomicU64::new(0),
        }
    }

    fn enter(&self, state: State) {
        self.enter_at(self.millis(), state);
    }

    fn enter_at(&self, millis: u64, state: State) {
        self.packed.store(millis << STATE_BITS | state as u64, Ordering::Relaxed);
    }

    /// Milliseconds since the connection was opened.
    fn millis(&self) -> u64 {
        u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX >> STATE_BITS)
    }

    fn state(&self) -> State {
        match self.packed.load(Ordering::Relaxed) & ((1 << STATE_BITS) - 1) {
            0 => State::New,
            1 => State::Idle,
            2 => State::Head,
            3 => State::Answering,
            _ => State::Blocked,
        }
    }

    /// A handler has begun.
    pub(super) fn answering(&self) {
        self.enter(State::Answering);
    }

    /// A handler is done: its response is sent from now on.
    pub(super) fn answered(&self) {
        let now = self.millis();
        self.ready.store(now, Ordering::Relaxed);
        self.taken.store(0, Ordering::Relaxed);
        self.enter_at(now, State::Idle);
    }

    /// Until when the client may go on as it does, in time since the connection was opened; `None`
    /// while it is not the client that is waited for.
    fn deadline(&self, options: &ServeOptions) -> Option<Duration> {
        let since = Duration::from_millis(self.packed.load(Ordering::Relaxed) >> STATE_BITS);
        match self.state() {
            State::New | State::Head => Some(since + options.head_timeout),
            State::Idle => Some(since + options.idle_timeout),
            State::Blocked => {
                let ready = Duration::from_millis(self.ready.load(Ordering::Relaxed));
                let taken = self.taken.load(Ordering::Relaxed);
                Some((since + options.write_timeout).min(ready + time_for(taken, options)))
            }
            State::Answering => None,
        }
    }

    /// Returns once the client has been too slow.
    pub(super) async fn stalled(&self, options: &ServeOptions) {
        let shortest = options.head_timeout.min(options.idle_timeout).min(options.write_timeout);
        // A state that began just after a look is found out at the next but one.
        let look_every = (shortest / 4).max(Duration::from_millis(1));
        loop {
            tokio::time::sleep(look_every).await;
            if self.deadline(options).is_some_and(|deadline| self.opened.elapsed() >= deadline) {
                return;
            }
        }
    }
}

/// How long a client may need to take so many bytes of a response: `write_timeout`, and what they
/// need at the slowest rate. Without it a byte now and then would keep a large response, and the
/// memory it is in, for hours.
fn time_for(taken: u64, options: &ServeOptions) -> Duration {
    let rate = options.write_rate_min.max(1);
    let millis = u128::from(taken) * 1_000 / u128::from(rate);
    options.write_timeout + Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

/// A stream that reports what it does.
pub(super) struct Watched {
    stream: TokioIo<TcpStream>,
    activity: Arc<Activity>,
}

impl Watched {
    pub(super) fn new(stream: TcpStream, activity: Arc<Activity>) -> Self {
        Self { stream: TokioIo::new(stream), activity }
    }

    fn wrote(&self, result: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(taken)) = &result {
            self.activity.taken.fetch_add(*taken as u64, Ordering::Relaxed);
        }
        let blocked = self.activity.state() == State::Blocked;
        if result.is_pending() && !blocked {
            self.activity.enter(State::Blocked);
        } else if result.is_ready() && blocked {
            self.activity.enter(State::Idle);
        }
        result
    }
}

impl Read for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_read(cx, buf);
        if result.is_ready() && matches!(self.activity.state(), State::New | State::Idle) {
            self.activity.enter(State::Head);
        }
        result
    }
}

impl Write for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.wrote(result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.wrote(result)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_more_time_the_more_it_takes() {
        let options = ServeOptions {
            write_timeout: Duration::from_secs(30),
            write_rate_min: 64 * 1024,
            ..Default::default()
        };
        assert_eq!(time_for(0, &options), Duration::from_secs(30));
        assert_eq!(time_for(64 * 1024, &options), Duration::from_secs(31));
        assert_eq!(time_for(16 << 20, &options), Duration::from_secs(30 + 256));
        let never = ServeOptions { write_rate_min: 0, ..options };
        assert!(time_for(u64::MAX, &never) > time_for(1 << 40, &never), "no division by zero");
    }

    #[test]
    fn each_state_has_its_time() {
        let options = ServeOptions {
            head_timeout: Duration::from_secs(1),
            idle_timeout: Duration::from_secs(100),
            write_timeout: Duration::from_secs(10),
            write_rate_min: 1_000,
            ..Default::default()
        };
        let activity = Activity::new();
        let allowed = || activity.deadline(&options);
        assert_eq!(allowed(), Some(Duration::from_secs(1)), "nothing was sent yet");
        activity.enter_at(5_000, State::Answering);
        assert_eq!(allowed(), None);
        activity.enter_at(6_000, State::Idle);
        assert_eq!(allowed(), Some(Duration::from_secs(106)));
        activity.enter_at(7_000, State::Head);
        assert_eq!(allowed(), Some(Duration::from_secs(8)));
        activity.ready.store(20_000, Ordering::Relaxed);
        for (since, taken, until) in [
            (20_000, 0, 30_000),
            // A byte does not begin the time anew.
            (29_000, 1, 30_001),
            (29_000, 5_000, 35_000),
            // Who stops taking has no more time for having been fast.
            (29_000, 1_000_000, 39_000),
        ] {
            activity.taken.store(taken, Ordering::Relaxed);
            activity.enter_at(since, State::Blocked);
            assert_eq!(allowed(), Some(Duration::from_millis(until)), "{since} {taken}");
        }
    }
}
