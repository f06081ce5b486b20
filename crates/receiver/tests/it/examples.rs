//! The examples, run as a user runs them: over sockets, until they have had enough.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, SystemTime};

use formsvc_receiver::test_util::{sign, submission_body};

use crate::support::SECRET;

/// An example that runs, and is ended with the test if it did not end by itself.
struct Example {
    child: Child,
    port: u16,
    output: BufReader<ChildStdout>,
}

impl Example {
    fn command(name: &str) -> Command {
        // Cargo puts examples beside the directory of the tests.
        let here = std::env::current_exe().unwrap();
        let path: PathBuf = here.parent().unwrap().with_file_name("examples").join(name);
        assert!(
            path.with_extension(std::env::consts::EXE_EXTENSION).exists(),
            "`cargo test` builds {name}"
        );
        let mut command = Command::new(path);
        command.env_remove("FORMSVC_SIGNING_SECRET").stdout(Stdio::piped());
        command
    }

    fn start(name: &str, arguments: &[&str]) -> Self {
        let mut command = Self::command(name);
        command.args(["--port", "0"]).args(arguments).env("FORMSVC_SIGNING_SECRET", SECRET);
        let mut child = command.spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let port = line.trim_end().strip_prefix("listening on http://127.0.0.1:");
        let port = port.and_then(|rest| rest.strip_suffix('/')?.parse().ok());
        Self { port: port.unwrap_or_else(|| panic!("{name}: {line}")), child, output }
    }

    /// The status that a delivery is answered with.
    fn deliver(&self, body: &[u8], secret: &str) -> u16 {
        // The example goes by the system's clock.
        let signature = sign(&secret.into(), SystemTime::now(), body);
        let head = format!(
            "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\
             X-Service-Signature: {signature}\r\n\r\n",
            body.len()
        );
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status")
    }

    /// What it told until it ended, which it must do by itself and in peace.
    fn ended(mut self) -> String {
        let mut told = String::new();
        self.output.read_to_string(&mut told).unwrap();
        assert!(self.child.wait().unwrap().success());
        told
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        // Already ended, unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn hyper_tower_takes_what_is_verified_and_ends_after_its_count() {
    let example = Example::start("hyper_tower", &["--count", "2"]);
    assert_eq!(example.deliver(&submission_body("sub_1"), "whsec_of_somebody_else"), 401);
    assert_eq!(example.deliver(&submission_body("sub_1"), SECRET), 204);
    assert_eq!(example.deliver(b"nonsense", SECRET), 400);
    assert_eq!(example.deliver(br#"{"event":"form.\u001bclosed"}"#, SECRET), 204);
    let told = example.ended();
    assert_eq!(
        told,
        "\"Test\": \"{\\\"Name\\\":\\\"Ada\\\"}\"\npassed over: \"form.\\u{1b}closed\"\n"
    );
}

#[test]
fn axum_sqlite_handles_each_submission_once_over_restarts() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("inbox.db");
    let start = |count| {
        Example::start("axum_sqlite", &["--count", count, "--database", database.to_str().unwrap()])
    };
    let line = "\"Test\": \"{\\\"Name\\\":\\\"Ada\\\"}\"\n";
    let example = start("2");
    assert_eq!(example.deliver(&submission_body("sub_1"), "whsec_of_somebody_else"), 401);
    assert_eq!(example.deliver(br#"{"event":"form.closed"}"#, SECRET), 200);
    for _ in 0..2 {
        assert_eq!(example.deliver(&submission_body("sub_1"), SECRET), 200);
    }
    assert_eq!(example.ended(), line, "the second time it was known");
    let example = start("2");
    assert_eq!(example.deliver(&submission_body("sub_1"), SECRET), 200);
    assert_eq!(example.deliver(&submission_body("sub_2"), SECRET), 200);
    assert_eq!(example.ended(), line, "the first is known from the run before");
}

#[test]
fn worker_answers_first_and_works_then() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("queue.db");
    let example =
        Example::start("worker", &["--count", "2", "--database", database.to_str().unwrap()]);
    assert_eq!(example.deliver(&submission_body("sub_1"), "whsec_of_somebody_else"), 401);
    for id in ["sub_1", "sub_1", "sub_2"] {
        assert_eq!(example.deliver(&submission_body(id), SECRET), 200, "{id}");
    }
    let told = example.ended();
    let lines: Vec<_> = told.lines().collect();
    assert_eq!(lines.len(), 2, "{told}");
    for (line, id) in lines.iter().zip(["sub_1", "sub_2"]) {
        assert!(line.starts_with("attempt 1: ") && line.contains(id), "{line}");
    }
}

#[test]
fn no_example_runs_without_a_secret_or_shows_one() {
    for name in ["axum_sqlite", "hyper_tower", "worker"] {
        for secret in [None, Some(""), Some("hunter2\n")] {
            let mut command = Example::command(name);
            command.args(["--port", "0"]).envs(secret.map(|text| ("FORMSVC_SIGNING_SECRET", text)));
            let output = command.stderr(Stdio::piped()).output().unwrap();
            assert!(!output.status.success(), "{name} {secret:?}");
            let told = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            assert!(!told.is_empty() && !told.contains("hunter2"), "{told}");
        }
    }
}
