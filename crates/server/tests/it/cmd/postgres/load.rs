//! Visitors of servers that come and go, with a ledger of what they were told.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

/// How long a visitor waits for an answer; more than the service takes for any.
const PATIENCE: Duration = Duration::from_secs(20);

/// What visitors were told.
#[derive(Default)]
struct Ledger {
    accepted: Mutex<HashSet<String>>,
    /// Sent, and not told to be accepted: kept or not.
    open: AtomicU64,
    /// Refused by a server that answered.
    refused: AtomicU64,
}

/// Visitors who send until they are told to stop, each to the next server when one does not answer.
pub(super) struct Load {
    ledger: Arc<Ledger>,
    servers: Arc<Mutex<Vec<String>>>,
    over: Arc<AtomicBool>,
    visitors: Vec<JoinHandle<()>>,
}

/// What the visitors of a load were told.
pub(super) struct Told {
    pub(super) accepted: HashSet<String>,
    pub(super) open: u64,
    pub(super) refused: u64,
}

impl Load {
    pub(super) fn begin(visitors: usize, servers: Vec<String>) -> Self {
        let (ledger, servers) = (Arc::<Ledger>::default(), Arc::new(Mutex::new(servers)));
        let over = Arc::new(AtomicBool::new(false));
        let visit = |number: usize| {
            let (ledger, servers) = (Arc::clone(&ledger), Arc::clone(&servers));
            let over = Arc::clone(&over);
            std::thread::spawn(move || {
                let mut turn = number;
                while !over.load(Ordering::Relaxed) {
                    turn += 1;
                    let server = {
                        let servers = servers.lock().unwrap();
                        servers[turn % servers.len()].clone()
                    };
                    ledger.note(submit(&server, turn));
                }
            })
        };
        let visitors = (0..visitors).map(visit).collect();
        Self { ledger, servers, over, visitors }
    }

    /// Sends visitors elsewhere.
    pub(super) fn send_to(&self, servers: Vec<String>) {
        *self.servers.lock().unwrap() = servers;
    }

    /// Waits until so many more were accepted.
    pub(super) fn wait_for(&self, more: usize) {
        let accepted = || self.ledger.accepted.lock().unwrap().len();
        let (wanted, began) = (accepted() + more, std::time::Instant::now());
        while accepted() < wanted {
            assert!(began.elapsed() < PATIENCE, "{} of {wanted}", accepted());
            // Sleeps because visitors tell nobody.
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub(super) fn stop(self) -> Told {
        self.over.store(true, Ordering::Relaxed);
        for visitor in self.visitors {
            visitor.join().unwrap();
        }
        let Ledger { accepted, open, refused } = &*self.ledger;
        let accepted = std::mem::take(&mut *accepted.lock().unwrap());
        let (open, refused) = (open.load(Ordering::Relaxed), refused.load(Ordering::Relaxed));
        Told { accepted, open, refused }
    }
}

impl Ledger {
    fn note(&self, answer: Option<String>) {
        let Some(answer) = answer else { return };
        match answer.split_once("\r\n\r\n") {
            Some((head, body)) if head.starts_with("HTTP/1.1 201") => {
                let body: Value = serde_json::from_str(body).unwrap();
                let id = body["id"].as_str().unwrap().to_owned();
                assert!(self.accepted.lock().unwrap().insert(id), "an id is given once");
            }
            Some((head, _)) => {
                assert!(head.starts_with("HTTP/1.1 503"), "{answer}");
                self.refused.fetch_add(1, Ordering::Relaxed);
            }
            None => {
                self.open.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// The answer, nothing of it when the connection ended; `None` when there was nobody to send to.
fn submit(base_url: &str, number: usize) -> Option<String> {
    let addr = base_url.strip_prefix("http://").unwrap();
    let Ok(mut stream) = TcpStream::connect(addr) else {
        // Sleeps because nobody listens yet, and asking is all one can do.
        std::thread::sleep(Duration::from_millis(1));
        return None;
    };
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let (body, mut answer) = (format!("{{\"n\":{number}}}"), String::new());
    let head = "POST /f/contact HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
        content-type: application/json\r\ncontent-length: ";
    let sent = write!(stream, "{head}{}\r\n\r\n{body}", body.len());
    let _ = sent.and_then(|()| stream.read_to_string(&mut answer).map(drop));
    Some(answer)
}
