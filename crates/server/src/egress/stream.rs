//! A connection to an endpoint, with or without TLS.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use http::Extensions;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// What is known of a connection: carried by it and by all its responses.
#[derive(Clone, Debug)]
pub(super) struct Link(Arc<LinkInner>);

#[derive(Debug)]
struct LinkInner {
    peer: SocketAddr,
    used: AtomicBool,
}

impl Link {
    /// That of a connection which the HTTP client speaks of.
    pub(super) fn of(connected: &Connected) -> Option<Self> {
        let mut extras = Extensions::new();
        connected.get_extras(&mut extras);
        extras.remove()
    }

    pub(super) fn peer(&self) -> SocketAddr {
        self.0.peer
    }

    /// Whether the connection was used before; it is from now on.
    pub(super) fn was_used(&self) -> bool {
        self.0.used.swap(true, Ordering::Relaxed)
    }
}

/// A connection.
pub(super) struct Stream {
    io: Io,
    link: Link,
}

enum Io {
    Plain(TokioIo<TcpStream>),
    Tls(Box<TokioIo<TlsStream<TcpStream>>>),
}

impl Stream {
    pub(super) fn plain(stream: TcpStream, peer: SocketAddr) -> Self {
        Self::new(Io::Plain(TokioIo::new(stream)), peer)
    }

    pub(super) fn tls(stream: TlsStream<TcpStream>, peer: SocketAddr) -> Self {
        Self::new(Io::Tls(Box::new(TokioIo::new(stream))), peer)
    }

    fn new(io: Io, peer: SocketAddr) -> Self {
        Self { io, link: Link(Arc::new(LinkInner { peer, used: AtomicBool::new(false) })) }
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        Connected::new().extra(self.link.clone())
    }
}

impl Read for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.get_mut().io {
            Io::Plain(io) => Pin::new(io).poll_read(cx, buffer),
            Io::Tls(io) => Pin::new(&mut **io).poll_read(cx, buffer),
        }
    }
}

impl Write for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let io = &mut self.get_mut().io;
        #[cfg(feature = "fault-points")]
        io.tear_when_due(cx, &[IoSlice::new(bytes)]);
        match io {
            Io::Plain(io) => Pin::new(io).poll_write(cx, bytes),
            Io::Tls(io) => Pin::new(&mut **io).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let io = &mut self.get_mut().io;
        #[cfg(feature = "fault-points")]
        io.tear_when_due(cx, slices);
        match io {
            Io::Plain(io) => Pin::new(io).poll_write_vectored(cx, slices),
            Io::Tls(io) => Pin::new(&mut **io).poll_write_vectored(cx, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.io {
            Io::Plain(io) => io.is_write_vectored(),
            Io::Tls(io) => io.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().io {
            Io::Plain(io) => Pin::new(io).poll_flush(cx),
            Io::Tls(io) => Pin::new(&mut **io).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().io {
            Io::Plain(io) => Pin::new(io).poll_shutdown(cx),
            Io::Tls(io) => Pin::new(&mut **io).poll_shutdown(cx),
        }
    }
}

#[cfg(feature = "fault-points")]
impl Io {
    /// Sends half of a request and ends the process, when it was told to.
    fn tear_when_due(&mut self, cx: &mut Context<'_>, slices: &[IoSlice<'_>]) {
        if crate::FaultPoint::MidRequest.is_due() {
            let request: Vec<u8> = slices.iter().flat_map(|slice| slice.iter().copied()).collect();
            let half = &request[..request.len() / 2];
            let _ = match self {
                Io::Plain(io) => Pin::new(io).poll_write(cx, half),
                Io::Tls(io) => Pin::new(&mut **io).poll_write(cx, half),
            };
            std::process::abort();
        }
    }
}
