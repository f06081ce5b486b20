//! A receiver that records requests byte for byte and sends prepared responses.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::support::PATIENCE;

/// A received request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Got {
    /// `POST /hook HTTP/1.1`
    pub(crate) line: String,
    /// The headers in their order and spelling, with values as bytes.
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
}

impl Got {
    /// Returns the value of a header. Fails if the header occurs twice.
    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> Option<&[u8]> {
        let mut named = self.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        let value = named.next().map(|(_, value)| &value[..]);
        assert!(named.next().is_none(), "{name} occurs twice");
        value
    }

    #[track_caller]
    pub(crate) fn text(&self, name: &str) -> &str {
        std::str::from_utf8(self.header(name).unwrap()).unwrap()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.headers.iter().map(|(name, _)| name.to_ascii_lowercase()).collect()
    }
}

/// Returns the bytes of the response to a request, by its number from 0. `None` closes the
/// connection without a response.
pub(crate) type Answers = Arc<dyn Fn(usize, &Got) -> Option<Vec<u8>> + Send + Sync>;

/// A receiver on a free port. It ends with the test process.
pub(crate) struct Recorder {
    pub(crate) address: SocketAddr,
    got: Mutex<Receiver<Got>>,
}

/// Returns a response with a text body.
pub(crate) fn answer(status: u16, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status} Some\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n{body}")
        .into_bytes()
}

impl Recorder {
    /// Responds with these statuses in order; the last one repeats.
    pub(crate) fn of(statuses: &'static [u16]) -> Self {
        Self::start(Arc::new(move |at, _| {
            let status = statuses[at.min(statuses.len() - 1)];
            Some(answer(status, "", &format!("answer {}", at + 1)))
        }))
    }

    /// Handles each request on its own thread.
    pub(crate) fn start(answers: Answers) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").unwrap(), answers)
    }

    pub(crate) fn on(listener: TcpListener, answers: Answers) -> Self {
        let address = listener.local_addr().unwrap();
        let (seen, got) = mpsc::channel();
        let count = Arc::new(AtomicUsize::new(0));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (seen, answers, count) =
                    (seen.clone(), Arc::clone(&answers), Arc::clone(&count));
                thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    // A client may close a connection without a request.
                    let Ok(got) = read(&mut stream) else { return };
                    let at = count.fetch_add(1, Ordering::SeqCst);
                    let answer = answers(at, &got);
                    // The test may have dropped the receiver.
                    let _ = seen.send(got);
                    let _ = stream.write_all(&answer.unwrap_or_default());
                });
            }
        });
        Self { address, got: Mutex::new(got) }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Waits for the next request.
    #[track_caller]
    pub(crate) fn got(&self) -> Got {
        self.got.lock().unwrap().recv_timeout(PATIENCE).expect("a request")
    }

    /// Returns true if there is no unread request. It does not wait, so the result is final only
    /// after all senders have ended.
    pub(crate) fn is_silent(&self) -> bool {
        self.got.lock().unwrap().try_recv().is_err()
    }
}

/// Reads a request to the end of its body. The length is in `Content-Length`.
pub(super) fn read(stream: &mut impl Read) -> io::Result<Got> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let mut lines = head[..head.len() - 4].split(|byte| *byte == b'\n');
    let text = |line: &[u8]| String::from_utf8_lossy(line).trim_end().to_owned();
    let line = lines.next().map(text).unwrap_or_default();
    let headers: Vec<(String, Vec<u8>)> = lines
        .map(|line| {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let colon = line.iter().position(|byte| *byte == b':').unwrap();
            (text(&line[..colon]), line[colon + 1..].trim_ascii().to_vec())
        })
        .collect();
    let length = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length = length.map_or(0, |(_, length)| text(length).parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok(Got { line, headers, body })
}
