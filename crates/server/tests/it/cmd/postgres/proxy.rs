//! A way to the database that can stop carrying anything, without anybody being told.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};

/// Whether the way is open.
type Gate = Arc<(Mutex<bool>, Condvar)>;

/// Takes connections on a port of this machine and carries them to a socket.
pub(super) struct Proxy {
    pub(super) port: u16,
    gate: Gate,
}

impl Proxy {
    pub(super) fn to(socket: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let gate: Gate = Arc::new((Mutex::new(true), Condvar::new()));
        let opened = Arc::clone(&gate);
        // Threads end with the process; a test is one.
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let (gate, socket) = (Arc::clone(&opened), socket.clone());
                std::thread::spawn(move || carry(&near, &socket, &gate));
            }
        });
        Self { port, gate }
    }

    /// From now on nothing is carried; connections stay as they are.
    pub(super) fn swallow(&self) {
        *self.gate.0.lock().unwrap() = false;
    }

    /// What was held back goes on.
    pub(super) fn carry_on(&self) {
        *self.gate.0.lock().unwrap() = true;
        self.gate.1.notify_all();
    }
}

fn carry(near: &TcpStream, socket: &PathBuf, gate: &Gate) {
    wait(gate);
    let Ok(far) = UnixStream::connect(socket) else { return };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            pump(near, &far, gate);
            let _ = far.shutdown(Shutdown::Write);
        });
        pump(&far, near, gate);
        let _ = near.shutdown(Shutdown::Both);
    });
}

fn pump(mut from: impl Read, mut to: impl Write, gate: &Gate) {
    let mut bytes = [0; 16_384];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        wait(gate);
        if to.write_all(&bytes[..read]).is_err() {
            return;
        }
    }
}

fn wait(gate: &Gate) {
    let open = gate.0.lock().unwrap();
    drop(gate.1.wait_while(open, |open| !*open).unwrap());
}
