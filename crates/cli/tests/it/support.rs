//! Runs the binary, and services for it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::net::TcpSocket;

use crate::processes;

/// Returns the binary with an empty environment, so that settings of the test run have no effect.
pub(crate) fn formsvc(args: &[&str]) -> Command {
    let mut command = processes::command(env!("CARGO_BIN_EXE_formsvc"));
    // Without `HOME`, the program would use the home folder in the system's user database.
    command.env_clear().env("HOME", "/dev/null").args(args).stdin(Stdio::null());
    command
}

/// Output and exit code of a run.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Runs the binary to completion.
pub(crate) fn run(args: &[&str]) -> Said {
    formsvc(args).output().unwrap().into()
}

/// Runs the binary, asserts success, and returns standard output.
#[track_caller]
pub(crate) fn succeed(args: &[&str]) -> String {
    let said = run(args);
    assert_eq!(said.code, Some(0), "{args:?} printed: {}", said.stderr);
    said.stdout
}

/// A sandbox process, terminated when dropped.
pub(crate) struct Sandbox {
    child: Child,
    pub(crate) base_url: String,
    pub(crate) api_key: String,
    /// The output before the sandbox was ready.
    pub(crate) said: String,
    /// The lines on standard output.
    pub(crate) exports: Vec<String>,
    stderr: BufReader<ChildStderr>,
    folder: Option<tempfile::TempDir>,
}

impl Sandbox {
    pub(crate) fn start(args: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ready = folder.path().join("ready.json");
        let mut command = formsvc(&["sandbox", "--port", "0", "--ready-file"]);
        // The sandbox prints its last lines after it has written the ready file.
        let mut child = command
            .arg(&ready)
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains("Ctrl-C stops it") {
            let read = stderr.read_line(&mut said).unwrap();
            assert_ne!(read, 0, "the sandbox ended: {:?}", child.wait());
        }
        let ready = std::fs::read_to_string(&ready).unwrap();
        let ready: serde_json::Value = serde_json::from_str(&ready).unwrap();
        let exports = 2 + ready["webhooks"].as_array().unwrap().len();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let exports: Vec<String> = stdout.lines().take(exports).map(Result::unwrap).collect();
        Self {
            child,
            base_url: ready["base_url"].as_str().unwrap().to_owned(),
            api_key: ready["api_key"].as_str().unwrap().to_owned(),
            said,
            exports,
            stderr,
            folder: Some(folder),
        }
    }

    /// Reads the next line of its output.
    pub(crate) fn next_line(&mut self) -> String {
        let mut line = String::new();
        self.stderr.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Returns the binary with the URL and API key of this sandbox.
    pub(crate) fn formsvc(&self, args: &[&str]) -> Command {
        let mut command = formsvc(args);
        command.env("FORMSVC_BASE_URL", &self.base_url).env("FORMSVC_API_KEY", &self.api_key);
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Said {
        self.formsvc(args).output().unwrap().into()
    }

    pub(crate) fn ready_file(&self) -> std::path::PathBuf {
        self.folder.as_ref().unwrap().path().join("ready.json")
    }

    /// Returns the folder of the ready file, so that it outlives the sandbox.
    pub(crate) fn keep_folder(&mut self) -> tempfile::TempDir {
        self.folder.take().unwrap()
    }

    pub(crate) fn terminate(mut self) -> Option<i32> {
        self.end_by("TERM")
    }

    /// Sends a signal, and returns the exit code.
    pub(crate) fn end_by(&mut self, name: &str) -> Option<i32> {
        signal(&self.child, name);
        self.child.wait().unwrap().code()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a request: `line` is method and path. Returns the whole response.
pub(crate) fn request(base_url: &str, line: &str, headers: &str, body: &str) -> String {
    let addr = base_url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(addr).unwrap();
    let length = body.len();
    let request = format!(
        "{line} HTTP/1.1\r\nhost: {addr}\r\nconnection: close\r\ncontent-length: {length}\r\n\
         {headers}\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Returns the command with SIGHUP ignored, as by nohup, or not, whatever the tests were started with.
pub(crate) fn hanging_up(command: &Command, is_ignored: bool) -> Command {
    let mut env = processes::command("env");
    env.arg(if is_ignored { "--ignore-signal=HUP" } else { "--default-signal=HUP" });
    env.arg(command.get_program()).args(command.get_args());
    env.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    env.stdin(Stdio::null());
    env
}

/// Sends a signal by name.
pub(crate) fn signal(child: &Child, name: &str) {
    let sent =
        processes::command("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

/// Waits until a thread of the process is inside a system call, given as its number and first argument in
/// Linux notation (x86-64): `0 0x0 ` reads standard input, `1 0x1 ` writes standard output.
#[cfg(target_os = "linux")]
#[track_caller]
pub(crate) fn wait_until_inside(process: &Child, call: &str) {
    let tasks = format!("/proc/{}/task", process.id());
    let inside = || {
        let tasks = std::fs::read_dir(&tasks).unwrap().filter_map(Result::ok);
        let mut calls = tasks.map(|task| std::fs::read_to_string(task.path().join("syscall")));
        calls.any(|inside| inside.is_ok_and(|inside| inside.starts_with(call)))
    };
    within(call, inside);
}

/// Waits until a process has opened a file, such as a lock that the test holds.
#[cfg(target_os = "linux")]
#[track_caller]
pub(crate) fn wait_until_open(process: &Child, path: &Path) {
    let descriptors = format!("/proc/{}/fd", process.id());
    let is_open = || {
        let entries = std::fs::read_dir(&descriptors).unwrap().filter_map(Result::ok);
        entries
            .map(|entry| std::fs::read_link(entry.path()))
            .any(|open| open.is_ok_and(|open| open == path))
    };
    within(&path.display().to_string(), is_open);
}

/// Returns an address that refuses connections until this process ends: its port is taken, and nothing
/// listens on it. A port that is freed again could be taken by another test.
pub(crate) fn closed_address() -> SocketAddr {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = socket.local_addr().unwrap();
    std::mem::forget(socket);
    address
}

/// Time limit of waits.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Time between two checks of a condition.
pub(crate) const POLL: Duration = Duration::from_millis(2);

/// Waits until a condition is true. `what` describes it in a failure message.
#[track_caller]
pub(crate) fn within(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "no {what:?} within {PATIENCE:?}");
        // Sleeps because polling without a pause slows down the process that the test waits for.
        thread::sleep(POLL);
    }
}

/// A service that sends fixed responses, or reads a request and never responds.
pub(crate) struct Canned {
    pub(crate) base_url: String,
    requests: std::sync::mpsc::Receiver<String>,
    _thread: JoinHandle<()>,
}

impl Canned {
    /// Responds to each request with the next response; the last one repeats. `None` never responds.
    pub(crate) fn start(answers: Vec<Option<String>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        let (seen, requests) = std::sync::mpsc::channel();
        // The thread ends with the test process. It keeps connections without a response open until then.
        let thread = thread::spawn(move || {
            let (mut kept, mut at) = (Vec::new(), 0);
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let head = read_head(&mut stream);
                let answer = answers[at.min(answers.len() - 1)].clone();
                at += 1;
                if seen.send(head).is_err() {
                    return;
                }
                match answer {
                    Some(answer) => stream.write_all(answer.as_bytes()).unwrap_or_default(),
                    None => kept.push(stream),
                }
            }
        });
        Self { base_url, requests, _thread: thread }
    }

    /// Waits for the next request. Returns its head.
    #[track_caller]
    pub(crate) fn request(&self) -> String {
        self.requests.recv_timeout(Duration::from_secs(30)).expect("a request")
    }

    /// Counts the requests since the last call.
    pub(crate) fn pending(&self) -> usize {
        self.requests.try_iter().count()
    }

    /// Returns true if all requests were taken with [`Self::request`].
    pub(crate) fn asked_nothing(&self) -> bool {
        self.requests.try_recv().is_err()
    }

    pub(crate) fn run(&self, args: &[&str]) -> Said {
        self.formsvc(args).output().unwrap().into()
    }

    pub(crate) fn formsvc(&self, args: &[&str]) -> Command {
        let mut command = formsvc(args);
        command.env("FORMSVC_BASE_URL", &self.base_url).env("FORMSVC_API_KEY", SECRET);
        command
    }
}

/// An API key that must not appear in any output.
pub(crate) const SECRET: &str = "fsk_SECRETSECRETSECRETSECRETSECRETSECRETSECRETS";

/// Builds an HTTP response that closes the connection.
#[expect(clippy::unnecessary_wraps, reason = "used in lists with `None`, which means no response")]
pub(crate) fn answer(status: &str, headers: &str, body: &str) -> Option<String> {
    let length = body.len();
    Some(format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
         connection: close\r\nx-request-id: req_test\r\n{headers}\r\n{body}"
    ))
}

/// The list of one form, `frm_1`.
pub(crate) fn one_form() -> Option<String> {
    answer(
        "200 OK",
        "",
        r#"{"data":[{"id":"frm_1","public_id":"survey","title":"Survey","status":"published","created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:00:00.000Z","url":"/f/survey"}]}"#,
    )
}

/// A page of submissions given as JSON.
pub(crate) fn page(items: &str, next_cursor: Option<&str>) -> Option<String> {
    let cursor = next_cursor.map_or("null".to_owned(), |cursor| format!("\"{cursor}\""));
    let more = next_cursor.is_some();
    let body = format!(
        "{{\"data\":[{items}],\"pagination\":{{\"next_cursor\":{cursor},\"has_more\":{more}}}}}"
    );
    answer("200 OK", "", &body)
}

fn read_head(stream: &mut TcpStream) -> String {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).unwrap_or(0) == 0 {
            break;
        }
        head.push(byte[0]);
    }
    String::from_utf8_lossy(&head).into_owned()
}

/// Lists the names in a folder, hidden files included.
pub(crate) fn entries(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A proxy that forwards requests to a service. It can change requests, or respond itself.
pub(crate) struct Between {
    pub(crate) base_url: String,
}

impl Between {
    /// `change` gets the head of each request. Returns the head to forward, or a response.
    pub(crate) fn start(
        service: &str,
        change: impl Fn(String) -> Result<String, String> + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        let service = service.strip_prefix("http://").unwrap().to_owned();
        // The thread ends with the test process.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut answer = Vec::new();
                match change(read_head(&mut stream)) {
                    Ok(head) => {
                        let mut behind = TcpStream::connect(&service).unwrap();
                        let head = head.replacen("\r\n", "\r\nconnection: close\r\n", 1);
                        behind.write_all(head.as_bytes()).unwrap();
                        behind.read_to_end(&mut answer).unwrap();
                    }
                    Err(own) => answer = own.into_bytes(),
                }
                stream.write_all(&answer).unwrap();
            }
        });
        Self { base_url }
    }
}
