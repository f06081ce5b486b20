//! A way to the database that can stop carrying anything, or lose answers, without anybody being told.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};

/// Whether the way is open.
type Gate = Arc<(Mutex<bool>, Condvar)>;
/// What is waited for to be sent.
type Word = Arc<Mutex<Option<&'static [u8]>>>;

/// Takes connections on a port of this machine and carries them to a socket.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    gate: Gate,
    fatal: Word,
}

impl Proxy {
    pub(crate) fn to(socket: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let gate: Gate = Arc::new((Mutex::new(true), Condvar::new()));
        let fatal = Word::default();
        let (opened, word) = (Arc::clone(&gate), Arc::clone(&fatal));
        // Threads end with the process; a test is one.
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let (gate, socket) = (Arc::clone(&opened), socket.clone());
                let word = Arc::clone(&word);
                std::thread::spawn(move || carry(&near, &socket, &gate, &word));
            }
        });
        Self { port, gate, fatal }
    }

    /// From now on nothing is carried; connections stay as they are.
    pub(crate) fn swallow(&self) {
        *self.gate.0.lock().unwrap() = false;
    }

    /// The next connection that sends this is answered no more, from then on and for ever; what it sends
    /// is carried and acknowledged as before.
    pub(crate) fn lose_answers_to(&self, word: &'static [u8]) {
        *self.fatal.lock().unwrap() = Some(word);
    }

    /// What was held back goes on.
    pub(crate) fn carry_on(&self) {
        *self.gate.0.lock().unwrap() = true;
        self.gate.1.notify_all();
    }
}

fn carry(near: &TcpStream, socket: &PathBuf, gate: &Gate, word: &Word) {
    wait(gate);
    let Ok(far) = UnixStream::connect(socket) else { return };
    let is_silent = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            pump(near, &far, gate, |sent| {
                let mut word = word.lock().unwrap();
                if word.is_some_and(|word| sent.windows(word.len()).any(|part| part == word)) {
                    *word = None;
                    is_silent.store(true, Ordering::SeqCst);
                }
                true
            });
            let _ = far.shutdown(Shutdown::Write);
        });
        pump(&far, near, gate, |_| !is_silent.load(Ordering::SeqCst));
        let _ = near.shutdown(Shutdown::Both);
    });
}

/// Carries what a function lets pass.
fn pump(mut from: impl Read, mut to: impl Write, gate: &Gate, passes: impl Fn(&[u8]) -> bool) {
    let mut bytes = [0; 16_384];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        wait(gate);
        if passes(&bytes[..read]) && to.write_all(&bytes[..read]).is_err() {
            return;
        }
    }
}

fn wait(gate: &Gate) {
    let open = gate.0.lock().unwrap();
    drop(gate.1.wait_while(open, |open| !*open).unwrap());
}
