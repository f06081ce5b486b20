//! The child `load`: requests over kept connections, each sent when the answer before it is there.
//! It speaks just enough HTTP/1.1 for the servers of this benchmark, on loopback only, and ends by
//! itself.

use std::cell::Cell;
use std::io::Read;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

use crate::accounting::{Watch, cpu_of};
use crate::error::BenchError;
use crate::{child, pin};

const CONNECTIONS: usize = 16;
const WARM_UP: Duration = Duration::from_secs(1);
/// Time beyond the window after which the server is taken for dead.
const GRACE: Duration = Duration::from_secs(10);
const LENGTH: &[u8] = b"content-length:";
/// A page and its head at one go, mostly.
const BUFFER: usize = 64 * 1024;

/// What to do; read from standard input, since it holds a key.
#[derive(Serialize, Deserialize)]
pub(super) struct Load {
    pub(super) addr: SocketAddr,
    /// The server's process.
    pub(super) server: u32,
    pub(super) core: usize,
    /// Seconds.
    pub(super) window: u64,
    /// Whole requests, asked in turn.
    pub(super) requests: Vec<String>,
}

/// What came of it.
#[derive(Serialize, Deserialize)]
pub(super) struct Loaded {
    /// Answers in the window.
    pub(super) requests: f64,
    pub(super) seconds: f64,
    /// CPU seconds of the server and of the load.
    pub(super) server_cpu: f64,
    pub(super) loader_cpu: f64,
    /// Cores that others kept busy.
    pub(super) foreign: f64,
}

impl Loaded {
    pub(super) fn rate(&self) -> f64 {
        self.requests / self.seconds
    }
}

pub(crate) fn run() -> Result<(), BenchError> {
    let mut text = Vec::new();
    let read = std::io::stdin().read_to_end(&mut text);
    read.map_err(|why| BenchError::io("no load was told", why))?;
    let load: Load = serde_json::from_slice(&text)
        .map_err(|why| BenchError::because("the load is not understood", why))?;
    if !load.addr.ip().is_loopback() {
        return Err(BenchError::new("load is only put on this machine"));
    }
    pin::to_core(load.core)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|why| BenchError::io("cannot start", why))?;
    let loaded = LocalSet::new().block_on(&runtime, put(load))?;
    child::print_json(&loaded)
}

async fn put(load: Load) -> Result<Loaded, BenchError> {
    let shared = Rc::new(Shared {
        requests: load.requests,
        next: Cell::new(0),
        answers: Cell::new(0),
        stop: Cell::new(false),
    });
    let window = Duration::from_secs(load.window);
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        let shared = Rc::clone(&shared);
        let all = WARM_UP + window + GRACE;
        connections.push(tokio::task::spawn_local(async move {
            let dead = |_| BenchError::new("the server stopped answering");
            tokio::time::timeout(all, converse(load.addr, &shared)).await.map_err(dead)?
        }));
    }
    tokio::time::sleep(WARM_UP).await;
    let own = std::process::id();
    let (watch, since) = (Watch::start(), Instant::now());
    let (server_before, own_before) = (cpu_of(load.server)?, cpu_of(own)?);
    let answers_before = shared.answers.get();
    tokio::time::sleep(window).await;
    let requests = shared.answers.get() - answers_before;
    let seconds = since.elapsed().as_secs_f64();
    let server_cpu = cpu_of(load.server)? - server_before;
    let loader_cpu = cpu_of(own)? - own_before;
    let foreign = watch.foreign(server_cpu + loader_cpu);
    shared.stop.set(true);
    for connection in connections {
        connection.await.map_err(|why| BenchError::because("the load panicked", why))??;
    }
    #[expect(clippy::cast_precision_loss, reason = "seconds of requests fit in 52 bits")]
    Ok(Loaded { requests: requests as f64, seconds, server_cpu, loader_cpu, foreign })
}

/// What the connections share.
struct Shared {
    requests: Vec<String>,
    next: Cell<usize>,
    answers: Cell<u64>,
    stop: Cell<bool>,
}

impl Shared {
    fn next_request(&self) -> &[u8] {
        let at = self.next.get();
        self.next.set((at + 1) % self.requests.len());
        self.requests[at].as_bytes()
    }
}

/// One connection's requests and answers.
async fn converse(addr: SocketAddr, shared: &Shared) -> Result<(), BenchError> {
    let failed = |why| BenchError::io("the server cannot be reached", why);
    let mut stream = TcpStream::connect(addr).await.map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    let mut buffer = vec![0; BUFFER];
    while !shared.stop.get() {
        stream.write_all(shared.next_request()).await.map_err(failed)?;
        let mut got = 0;
        let whole = loop {
            got += stream.read(&mut buffer[got..]).await.map_err(failed)?;
            if let Some(whole) = length(&buffer[..got])? {
                break whole;
            }
            if got == BUFFER {
                return Err(BenchError::new("the head of an answer is too long"));
            }
        };
        // Only how long the rest is matters from here on.
        while got < whole {
            match stream.read(&mut buffer).await.map_err(failed)? {
                0 => return Err(BenchError::new("an answer was cut short")),
                read => got += read,
            }
        }
        shared.answers.set(shared.answers.get() + 1);
    }
    Ok(())
}

/// Length of an answer, head included, once its head is there.
fn length(received: &[u8]) -> Result<Option<usize>, BenchError> {
    if received.is_empty() {
        return Err(BenchError::new("the server closed a connection"));
    }
    let Some(end) = received.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Ok(None);
    };
    let mut lines = received[..end].split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let status = lines.next().unwrap_or_default();
    if !status.starts_with(b"HTTP/1.1 200 ") {
        let status = String::from_utf8_lossy(status);
        return Err(BenchError::because("the server answered", status));
    }
    let length = lines.find_map(|line| {
        let (name, value) = line.split_at_checked(LENGTH.len())?;
        let value = name.eq_ignore_ascii_case(LENGTH).then_some(value)?;
        std::str::from_utf8(value).ok()?.trim().parse().ok()
    });
    let length: usize = length.ok_or_else(|| BenchError::new("an answer has no length"))?;
    if length < 1_000 {
        return Err(BenchError::new("an answer is too short for a page"));
    }
    Ok(Some(end + 4 + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_an_answer_is_known_with_its_head() {
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1234\r\nx: y\r\n\r\n{";
        assert_eq!(length(head).unwrap(), Some(head.len() - 1 + 1234));
        assert_eq!(length(&head[..20]).unwrap(), None);
    }

    #[test]
    fn what_is_no_page_ends_the_load() {
        for bad in [
            &b""[..],
            b"HTTP/1.1 429 Too Many Requests\r\ncontent-length: 2000\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n\r\n",
        ] {
            assert!(length(bad).is_err(), "{}", String::from_utf8_lossy(bad));
        }
    }
}
