//! A connection to a receiver, with or without TLS.
//!
//! A receiver that answers before it has read a long body, and then ends the connection, makes a write fail
//! while its answer waits to be read. So what fails in writing is not told: the rest of the request goes
//! nowhere, and reading says whether an answer came or the connection has ended.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::{Connected, Connection};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// A connection.
pub(super) struct Stream {
    io: Io,
    /// Whether a write failed: nobody takes anything any more.
    is_unheard: bool,
}

enum Io {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    pub(super) fn plain(stream: TcpStream) -> Self {
        Self { io: Io::Plain(stream), is_unheard: false }
    }

    pub(super) fn tls(stream: TlsStream<TcpStream>) -> Self {
        Self { io: Io::Tls(Box::new(stream)), is_unheard: false }
    }

    /// Writes, or lets go what nobody takes: `gone` in place of an error.
    fn write<T>(
        &mut self,
        gone: T,
        write: impl FnOnce(&mut Io) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if self.is_unheard {
            return Poll::Ready(Ok(gone));
        }
        let written = write(&mut self.io);
        if matches!(written, Poll::Ready(Err(_))) {
            self.is_unheard = true;
            return Poll::Ready(Ok(gone));
        }
        written
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.get_mut().io {
            Io::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Io::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().write(bytes.len(), |io| match io {
            Io::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Io::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        })
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let all = slices.iter().map(|slice| slice.len()).sum();
        self.get_mut().write(all, |io| match io {
            Io::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
            Io::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
        })
    }

    fn is_write_vectored(&self) -> bool {
        match &self.io {
            Io::Plain(stream) => stream.is_write_vectored(),
            Io::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().write((), |io| match io {
            Io::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Io::Tls(stream) => Pin::new(stream).poll_flush(cx),
        })
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().io {
            Io::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Io::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
