//! A listener process, and requests to it.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{SystemTime, UNIX_EPOCH};

use formsvc_protocol::signature::{SigningSecret, sign};
use serde_json::Value;

use crate::processes;
use crate::support::{PATIENCE, Said, formsvc, signal};

pub(crate) const SECRET: &str = "whsec_of_the_listener_of_tests";
pub(crate) const OTHER_SECRET: &str = "whsec_of_another_endpoint_altogether";

/// A listener on a free port, terminated when dropped.
pub(crate) struct Listener {
    child: Child,
    pub(crate) address: SocketAddr,
    stderr: BufReader<ChildStderr>,
    told: String,
    /// Reads standard output to its end, so that the listener never waits for its reader.
    stdout: Option<JoinHandle<String>>,
}

impl Listener {
    /// Starts a listener that verifies with [`SECRET`] and stores nothing.
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::with(args, |command| command.arg("--no-store").env("FORMSVC_SIGNING_SECRET", SECRET))
    }

    /// Starts a listener with `change` applied to its command.
    pub(crate) fn with(args: &[&str], change: impl FnOnce(&mut Command) -> &mut Command) -> Self {
        Self::unread(args, change).read()
    }

    fn read(mut self) -> Self {
        let mut stdout = self.child.stdout.take().unwrap();
        self.stdout = Some(thread::spawn(move || {
            let mut told = String::new();
            stdout.read_to_string(&mut told).unwrap();
            told
        }));
        self
    }

    /// Starts a listener without reading its standard output.
    pub(crate) fn unread(args: &[&str], change: impl FnOnce(&mut Command) -> &mut Command) -> Self {
        let mut command = formsvc(&["webhook", "listen", "--port", "0"]);
        command.args(args);
        change(&mut command);
        Self::spawn(command)
    }

    /// Starts a listener through another program, which gets the command line of the listener as
    /// its last arguments: `sh -c … LISTENER…`.
    pub(crate) fn under(
        starter: &[&str],
        args: &[&str],
        change: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Self {
        let mut command = formsvc(&["webhook", "listen", "--port", "0"]);
        command.args(args);
        change(&mut command);
        let mut starting = processes::command(starter[0]);
        starting.args(&starter[1..]).arg(command.get_program()).args(command.get_args());
        starting
            .stdin(Stdio::null())
            .env_clear()
            .envs(command.get_envs().filter_map(|(name, to)| Some((name, to?))));
        Self::spawn(starting).read()
    }

    fn spawn(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut told = String::new();
        let address = loop {
            let at = told.len();
            let read = stderr.read_line(&mut told).unwrap();
            assert_ne!(read, 0, "the listener ended: {told}");
            let line = &told[at..];
            if let Some(url) = line.strip_prefix("ready: listening on http://") {
                break url.split('/').next().unwrap().parse().unwrap();
            }
        };
        Self { child, address, stderr, told, stdout: None }
    }

    /// Waits for a line on standard error that contains a text.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) {
        while !self.told.contains(text) {
            let read = self.stderr.read_line(&mut self.told).unwrap();
            assert_ne!(read, 0, "no {text:?}: {}", self.told);
        }
    }

    /// Returns the text that was read from standard error so far.
    pub(crate) fn stderr(&self) -> &str {
        &self.told
    }

    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends the bytes unchanged. Returns the bytes until the connection closes.
    pub(crate) fn exchange(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // Writing fails if the listener refuses the request before its end.
        let _ = stream.write_all(bytes);
        read(&mut stream)
    }

    /// Sends a body with a valid, current signature.
    pub(crate) fn deliver(&self, body: &str) -> Answer {
        self.post(&signature(SECRET, 0, body), body)
    }

    /// Sends a body with a signature header.
    pub(crate) fn post(&self, signature: &str, body: &str) -> Answer {
        Answer(self.exchange(&request("/", signature, body)))
    }

    /// Waits for the end. Returns the exit code and all output.
    pub(crate) fn finish(mut self) -> Said {
        let stdout = self.stdout.take().map_or_else(String::new, |told| told.join().unwrap());
        self.stderr.read_to_string(&mut self.told).unwrap();
        let code = self.child.wait().unwrap().code();
        Said { code, stdout, stderr: std::mem::take(&mut self.told) }
    }

    /// Terminates the listener. Returns the exit code and all output.
    pub(crate) fn terminate(self) -> Said {
        signal(&self.child, "TERM");
        self.finish()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The bytes of a response.
#[derive(Debug)]
pub(crate) struct Answer(pub(crate) String);

impl Answer {
    #[track_caller]
    pub(crate) fn status(&self) -> u16 {
        let status = self.0.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
        status.unwrap_or_else(|| panic!("no answer: {:?}", self.0)).parse().unwrap()
    }

    /// Returns the error code in the body.
    #[track_caller]
    pub(crate) fn code(&self) -> String {
        let body: Value = serde_json::from_str(self.body()).unwrap();
        body["error"]["code"].as_str().unwrap().to_owned()
    }

    pub(crate) fn body(&self) -> &str {
        self.0.split_once("\r\n\r\n").map_or("", |(_, body)| body)
    }
}

/// Reads until the connection closes. Bytes before an aborted connection count.
pub(crate) fn read(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    // An aborted connection counts as closed.
    let over = stream.read_to_end(&mut answer).err().map(|error| error.kind());
    let waits = matches!(over, Some(ErrorKind::WouldBlock | ErrorKind::TimedOut));
    assert!(!waits, "the connection is still open: {}", String::from_utf8_lossy(&answer));
    String::from_utf8(answer).unwrap()
}

pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// Returns a signature header with a time of `skew` seconds from now.
pub(crate) fn signature(secret: &str, skew: i64, body: &str) -> String {
    let secret = SigningSecret::new(secret).unwrap();
    sign([&secret], now().saturating_add_signed(skew), body.as_bytes())
}

/// Returns the bytes of a delivery request.
pub(crate) fn request(target: &str, signature: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    let signature = match signature {
        "" => String::new(),
        value => format!("X-Service-Signature: {value}\r\n"),
    };
    format!(
        "POST {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/json\r\nUser-Agent: service-webhooks/1.0\r\n\
         X-Service-Event: submission.created\r\n{signature}Content-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// Returns the body of a delivery of a submission.
pub(crate) fn event(id: &str) -> String {
    format!(
        "{{\"event\":\"submission.created\",\"submission_id\":\"{id}\",\"form_id\":\"frm_1\",\
         \"form_title\":\"Survey\",\"data\":{{\"Name\":\"Ada\"}},\
         \"created_at\":\"2026-01-01T00:00:00.000Z\"}}"
    )
}

/// Returns a line without the ages of signatures, because a second may pass at any time.
pub(crate) fn without_age(line: &str) -> String {
    let mut words: Vec<_> = line.split(' ').collect();
    words.retain(|word| {
        let seconds = word.strip_suffix('s').unwrap_or_default();
        seconds.is_empty() || !seconds.bytes().all(|byte| byte.is_ascii_digit())
    });
    words.join(" ")
}

/// Parses the lines of NDJSON.
#[track_caller]
pub(crate) fn records(stdout: &str) -> Vec<Value> {
    assert!(stdout.is_empty() || stdout.ends_with('\n'), "the last line is truncated: {stdout}");
    let lines = stdout.split_terminator('\n');
    lines.map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

/// Returns the records of one type.
pub(crate) fn of_type<'a>(records: &'a [Value], kind: &str) -> Vec<&'a Value> {
    records.iter().filter(|record| record["type"] == kind).collect()
}
