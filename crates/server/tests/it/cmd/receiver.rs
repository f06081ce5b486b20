//! An endpoint on this machine that keeps what comes and answers as it is told.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;

use formsvc_protocol::limits::SIGNATURE_TOLERANCE;
use formsvc_protocol::signature::{SigningSecret, verify};

use super::PATIENCE;

/// A delivery, as it came.
pub(super) struct Received {
    pub(super) signature: String,
    pub(super) body: String,
    /// Where it waits for an answer that it did not get yet.
    waits: Option<TcpStream>,
}

pub(super) struct Receiver {
    addr: SocketAddr,
    received: mpsc::Receiver<Received>,
}

impl Receiver {
    /// Answers each request with the next of these; the last is for all that follow.
    pub(super) fn answering(answers: &'static [&'static [u8]]) -> Self {
        Self::start(Some(answers))
    }

    /// Leaves the answers to who takes the deliveries.
    pub(super) fn waiting() -> Self {
        Self::start(None)
    }

    fn start(answers: Option<&'static [&'static [u8]]>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let (keep, received) = mpsc::channel();
        // Ends with the process; a test is one.
        std::thread::spawn(move || {
            let mut answers = answers.map(|answers| answers.iter().copied().peekable());
            loop {
                let (stream, _) = listener.accept().unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                let mut stream = BufReader::new(stream);
                let Some(mut delivery) = read(&mut stream) else { continue };
                if let Some(answers) = &mut answers {
                    let answer = *answers.peek().unwrap();
                    if answers.len() > 1 {
                        answers.next();
                    }
                    let _ = stream.get_mut().write_all(answer);
                } else {
                    delivery.waits = Some(stream.into_inner());
                }
                let _ = keep.send(delivery);
            }
        });
        Self { addr, received }
    }

    pub(super) fn ok() -> Self {
        Self::answering(&[b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n"])
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/hook?token=t", self.addr)
    }

    /// The next delivery.
    pub(super) fn next(&self) -> Received {
        self.received.recv_timeout(PATIENCE).expect("a delivery comes")
    }
}

/// A request with its body, if one comes.
fn read(stream: &mut BufReader<TcpStream>) -> Option<Received> {
    let (mut signature, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            if line.trim_end().is_empty() {
                break;
            }
            continue;
        };
        match name.to_ascii_lowercase().as_str() {
            "x-service-signature" => value.clone_into(&mut signature),
            "content-length" => length = value.parse().unwrap(),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some(Received { signature, body: String::from_utf8(body).unwrap(), waits: None })
}

impl Received {
    /// Answers, when the receiver has not, and ends the connection.
    pub(super) fn answer(self, answer: &[u8]) {
        self.waits.expect("it has no answer yet").write_all(answer).unwrap();
    }

    /// Whether a secret signed it just now.
    pub(super) fn is_signed_with(&self, secret: &str) -> bool {
        let secret = SigningSecret::new(secret).unwrap();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let (header, body) = (self.signature.as_bytes(), self.body.as_bytes());
        verify(header, body, &[secret], now.as_secs(), SIGNATURE_TOLERANCE).is_ok()
    }
}
