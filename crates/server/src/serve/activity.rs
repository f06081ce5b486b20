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
    /// Nothing was received since the last response, or at all.
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
    /// Milliseconds since `opened`, and the state in the two lowest bits.
    packed: AtomicU64,
}

impl Activity {
    pub(super) fn new() -> Self {
        Self { opened: Instant::now(), packed: AtomicU64::new(State::Idle as u64) }
    }

    fn enter(&self, state: State) {
        let millis = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX >> 2);
        self.packed.store(millis << 2 | state as u64, Ordering::Relaxed);
    }

    fn state(&self) -> State {
        match self.packed.load(Ordering::Relaxed) & 3 {
            0 => State::Idle,
            1 => State::Head,
            2 => State::Answering,
            _ => State::Blocked,
        }
    }

    /// A handler has begun.
    pub(super) fn answering(&self) {
        self.enter(State::Answering);
    }

    /// A handler is done.
    pub(super) fn answered(&self) {
        self.enter(State::Idle);
    }

    /// Returns once the client has been too slow.
    pub(super) async fn stalled(&self, options: &ServeOptions) {
        let shortest = options.head_timeout.min(options.idle_timeout).min(options.write_timeout);
        // A state that began just after a look is found out at the next but one.
        let look_every = (shortest / 4).max(Duration::from_millis(1));
        loop {
            tokio::time::sleep(look_every).await;
            let packed = self.packed.load(Ordering::Relaxed);
            let allowed = match self.state() {
                State::Idle => options.idle_timeout,
                State::Head => options.head_timeout,
                State::Blocked => options.write_timeout,
                State::Answering => continue,
            };
            if self.opened.elapsed() >= Duration::from_millis(packed >> 2) + allowed {
                return;
            }
        }
    }
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
        if result.is_ready() && self.activity.state() == State::Idle {
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
