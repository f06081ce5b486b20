//! The child `load`: requests over kept connections, each sent when the answer before it is there.
//! It speaks just enough HTTP/1.1 for the servers of this benchmark, on loopback only, and ends by
//! itself.
//!
//! It counts answers for a while after a second that is not counted; or, when answering is not all
//! there is to do, from the first request until the last of the work is done.

use std::cell::{Cell, RefCell};
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
use crate::left::Left;
use crate::signed::Signed;
use crate::{child, pin};

const WARM_UP: Duration = Duration::from_secs(1);
/// Time beyond the window after which the server is taken for dead.
const GRACE: Duration = Duration::from_secs(10);
const LENGTH: &[u8] = b"content-length:";
/// A page and its head at one go, mostly.
const BUFFER: usize = 64 * 1024;

/// What to do; read from standard input, since it holds a key.
#[derive(Serialize, Deserialize)]
pub(crate) struct Load {
    pub(crate) addr: SocketAddr,
    /// The server's process.
    pub(crate) server: u32,
    /// Other processes that are part of it.
    pub(crate) helpers: Vec<u32>,
    pub(crate) core: usize,
    pub(crate) connections: usize,
    /// Seconds.
    pub(crate) window: u64,
    pub(crate) requests: Requests,
    pub(crate) expect: Expect,
    /// What must be done as well.
    pub(crate) left: Option<Left>,
    /// Requests a second, of all connections together, evenly; without it each comes when the answer
    /// before it is there.
    pub(crate) pace: Option<u32>,
}

/// What is asked.
#[derive(Serialize, Deserialize)]
pub(crate) enum Requests {
    /// Whole requests, in turn.
    Texts(Vec<String>),
    /// Signed deliveries from the one at this place on, so many of them signed before the first is sent.
    Deliveries { first: usize, prepared: usize },
}

/// What an answer must be.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Expect {
    pub(crate) status: u16,
    /// Bytes of its body, at least.
    pub(crate) least: usize,
}

/// What came of it.
#[derive(Serialize, Deserialize)]
pub(crate) struct Loaded {
    /// Answers in the window.
    pub(crate) requests: f64,
    pub(crate) seconds: f64,
    /// Of the answers in the window: what half, and 99 of 100, took at most, in seconds.
    pub(crate) half: f64,
    pub(crate) most: f64,
    /// CPU seconds of the server and of the load.
    pub(crate) server_cpu: f64,
    pub(crate) loader_cpu: f64,
    /// Cores that others kept busy.
    pub(crate) foreign: f64,
}

/// CPU time meanwhile.
#[derive(Clone, Copy)]
pub(crate) struct Spent {
    pub(crate) server_cpu: f64,
    pub(crate) loader_cpu: f64,
    pub(crate) foreign: f64,
}

impl Loaded {
    /// From the microseconds that each answer took.
    pub(crate) fn of(mut took: Vec<u32>, seconds: f64, spent: Spent) -> Self {
        took.sort_unstable();
        let at = |part: usize| took.get(took.len() * part / 100).map_or(0.0, |us| f64::from(*us));
        #[expect(clippy::cast_precision_loss, reason = "seconds of requests fit in 52 bits")]
        let requests = took.len() as f64;
        let (half, most) = (at(50) / 1e6, at(99) / 1e6);
        let Spent { server_cpu, loader_cpu, foreign } = spent;
        Self { requests, seconds, half, most, server_cpu, loader_cpu, foreign }
    }

    pub(crate) fn rate(&self) -> f64 {
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
        source: match load.requests {
            Requests::Texts(texts) => Source::Texts(texts),
            Requests::Deliveries { first, prepared } => {
                Source::Deliveries(Box::new(Signed::new(first, prepared)))
            }
        },
        expect: load.expect,
        next: Cell::new(0),
        took: RefCell::default(),
        stop: Cell::new(false),
    });
    let window = Duration::from_secs(load.window);
    let now = || Mark::now(load.server, &load.helpers);
    let first = now()?;
    let mut connections = Vec::new();
    let begin = Instant::now();
    for at in 0..load.connections {
        let shared = Rc::clone(&shared);
        let turns = load.pace.map(|pace| Turns::new(begin, at, load.connections, pace));
        let all = WARM_UP + window + GRACE;
        connections.push(tokio::task::spawn_local(async move {
            let dead = |_| BenchError::new("the server stopped answering");
            tokio::time::timeout(all, converse(load.addr, &shared, turns)).await.map_err(dead)?
        }));
    }
    tokio::time::sleep(WARM_UP).await;
    let mark = if load.left.is_some() {
        first
    } else {
        shared.took.borrow_mut().clear();
        now()?
    };
    tokio::time::sleep(window).await;
    let measured =
        |begun: &Mark| begun.until_now(load.server, &load.helpers, &shared.took.borrow());
    let at_the_end = load.left.is_none().then(|| measured(&mark)).transpose()?;
    shared.stop.set(true);
    for connection in connections {
        connection.await.map_err(|why| BenchError::because("the load panicked", why))??;
    }
    let Some(left) = &load.left else {
        return at_the_end.ok_or_else(|| BenchError::new("nothing was measured"));
    };
    left.wait().await?;
    let loaded = measured(&mark)?;
    left.check(shared.took.borrow().len() as u64)?;
    Ok(loaded)
}

/// A moment that is measured from.
struct Mark {
    since: Instant,
    watch: Watch,
    server: f64,
    helpers: f64,
    own: f64,
}

impl Mark {
    fn now(server: u32, helpers: &[u32]) -> Result<Self, BenchError> {
        Ok(Self {
            since: Instant::now(),
            watch: Watch::start(),
            server: cpu_of(server)?,
            helpers: cpu_of_each(helpers)?,
            own: cpu_of(std::process::id())?,
        })
    }

    /// What happened since, when the requests took so many microseconds each.
    fn until_now(&self, server: u32, helpers: &[u32], took: &[u32]) -> Result<Loaded, BenchError> {
        let seconds = self.since.elapsed().as_secs_f64();
        let server_cpu = cpu_of(server)? - self.server;
        let loader_cpu = cpu_of(std::process::id())? - self.own;
        let ours = server_cpu + loader_cpu + cpu_of_each(helpers)? - self.helpers;
        let foreign = self.watch.foreign(ours);
        Ok(Loaded::of(took.to_vec(), seconds, Spent { server_cpu, loader_cpu, foreign }))
    }
}

fn cpu_of_each(processes: &[u32]) -> Result<f64, BenchError> {
    processes.iter().map(|pid| cpu_of(*pid)).sum()
}

/// What the connections share.
struct Shared {
    source: Source,
    expect: Expect,
    next: Cell<usize>,
    /// Microseconds that each answer took.
    took: RefCell<Vec<u32>>,
    stop: Cell<bool>,
}

enum Source {
    Texts(Vec<String>),
    Deliveries(Box<Signed>),
}

impl Shared {
    /// The next request, which may be written to `room`.
    fn next_request<'a>(&'a self, room: &'a mut Vec<u8>) -> &'a [u8] {
        let at = self.next.get();
        self.next.set(at + 1);
        match &self.source {
            Source::Texts(texts) => texts[at % texts.len()].as_bytes(),
            Source::Deliveries(signed) => {
                signed.request(at, room);
                room
            }
        }
    }
}

/// When the requests of one connection are sent, where they are not sent as soon as can be.
struct Turns {
    next: Instant,
    every: Duration,
}

impl Turns {
    fn new(begin: Instant, at: usize, connections: usize, pace: u32) -> Self {
        let between = Duration::from_secs(1) / pace.max(1);
        let times = |count: usize| between * u32::try_from(count).unwrap_or(u32::MAX);
        Self { next: begin + times(at), every: times(connections) }
    }

    /// Waits for the next turn.
    async fn wait(&mut self) {
        tokio::time::sleep_until(self.next.into()).await;
        self.next += self.every;
    }
}

/// One connection's requests and answers.
async fn converse(
    addr: SocketAddr,
    shared: &Shared,
    mut turns: Option<Turns>,
) -> Result<(), BenchError> {
    let failed = |why| BenchError::io("the server cannot be reached", why);
    let mut stream = TcpStream::connect(addr).await.map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    let (mut buffer, mut room) = (vec![0; BUFFER], Vec::new());
    while !shared.stop.get() {
        if let Some(turns) = &mut turns {
            turns.wait().await;
        }
        let since = Instant::now();
        stream.write_all(shared.next_request(&mut room)).await.map_err(failed)?;
        let mut got = 0;
        let whole = loop {
            got += stream.read(&mut buffer[got..]).await.map_err(failed)?;
            if let Some(whole) = length(&buffer[..got], shared.expect)? {
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
        shared.took.borrow_mut().push(micros(since));
    }
    Ok(())
}

/// Microseconds since a moment.
pub(crate) fn micros(since: Instant) -> u32 {
    u32::try_from(since.elapsed().as_micros()).unwrap_or(u32::MAX)
}

/// Length of an answer, head included, once its head is there.
fn length(received: &[u8], expect: Expect) -> Result<Option<usize>, BenchError> {
    if received.is_empty() {
        return Err(BenchError::new("the server closed a connection"));
    }
    let Some(end) = received.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Ok(None);
    };
    let mut lines = received[..end].split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let status = lines.next().unwrap_or_default();
    let code = status.strip_prefix(b"HTTP/1.1 ").and_then(|rest| rest.get(..3));
    let code = code.and_then(|code| std::str::from_utf8(code).ok()?.parse().ok());
    if code != Some(expect.status) {
        let status = String::from_utf8_lossy(status);
        return Err(BenchError::because("the server answered", status));
    }
    let length = lines.find_map(|line| {
        let (name, value) = line.split_at_checked(LENGTH.len())?;
        let value = name.eq_ignore_ascii_case(LENGTH).then_some(value)?;
        std::str::from_utf8(value).ok()?.trim().parse().ok()
    });
    let length: usize = length.ok_or_else(|| BenchError::new("an answer has no length"))?;
    if length < expect.least {
        return Err(BenchError::new("an answer is too short"));
    }
    Ok(Some(end + 4 + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: Expect = Expect { status: 200, least: 1_000 };

    #[test]
    fn the_length_of_an_answer_is_known_with_its_head() {
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1234\r\nx: y\r\n\r\n{";
        assert_eq!(length(head, PAGE).unwrap(), Some(head.len() - 1 + 1234));
        assert_eq!(length(&head[..20], PAGE).unwrap(), None);
        let created = Expect { status: 201, least: 0 };
        let head = b"HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(length(head, created).unwrap(), Some(head.len()));
    }

    #[test]
    fn what_is_no_page_ends_the_load() {
        for bad in [
            &b""[..],
            b"HTTP/1.1 429 Too Many Requests\r\ncontent-length: 2000\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n\r\n",
        ] {
            assert!(length(bad, PAGE).is_err(), "{}", String::from_utf8_lossy(bad));
        }
    }
}
