//! A directory with a database, the command run on it, and servers of it.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Longer than anything here takes, so that a hang fails instead of hanging.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// A directory with a database, and the command run on it.
pub(super) struct Site {
    dir: TempDir,
    database: OsString,
}

impl Site {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let database = dir.path().join("db").into();
        Self { dir, database }
    }

    /// A directory of its own beside a database that is elsewhere.
    pub(super) fn on(database: impl Into<OsString>) -> Self {
        Self { database: database.into(), ..Self::new() }
    }

    /// The same directory, and another way to the database.
    pub(super) fn moved_to(self, database: &str) -> Self {
        Self { database: database.into(), ..self }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_formsvc-server"));
        // The variables of whoever runs the tests are not theirs.
        for row in formsvc_server::cmd::SETTINGS {
            command.env_remove(row.variable);
        }
        command.args(args).env("FORMSVC_SERVER_DATABASE", &self.database).stdin(Stdio::null());
        command
    }

    pub(super) fn run(&self, args: &[&str]) -> Run {
        Run::from(self.command(args).output().unwrap())
    }

    /// A site with a user and a form, `contact`, that takes any answers.
    pub(super) fn with_free_form() -> Self {
        let site = Self::with_user();
        let create =
            ["form", "create", "--user", "a@b.c", "--title", "T", "--public-id", "contact"];
        site.run(&create).succeeded();
        site
    }

    /// A site with a user.
    pub(super) fn with_user() -> Self {
        let site = Self::new();
        site.run(&["user", "add", "--email", "a@b.c", "--name", "Zoë"]).succeeded();
        site
    }

    pub(super) fn serve(&self, args: &[&str]) -> Serving {
        let ready = self.path("ready.json");
        // One that a killed server left would be read as this one's.
        let _ = std::fs::remove_file(&ready);
        let mut command = self.command(&["serve", "--port", "0", "--ready-file"]);
        command.arg(&ready).args(args).stderr(Stdio::piped());
        Serving::start(&mut command, &ready)
    }
}

pub(super) struct Run {
    pub(super) code: i32,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Run {
    #[track_caller]
    pub(super) fn succeeded(self) -> Self {
        assert_eq!(self.code, 0, "{}", self.stderr);
        self
    }

    #[track_caller]
    pub(super) fn failed(self, code: i32, told: &str) -> Self {
        assert_eq!(self.code, code, "{}", self.stderr);
        assert!(self.stderr.contains(told), "{}", self.stderr);
        assert_eq!(self.stdout, "");
        self
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap()
    }

    /// Standard output, a JSON value a line.
    pub(super) fn lines(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The only line on standard output.
    #[track_caller]
    pub(super) fn line(&self) -> &str {
        let line = self.stdout.strip_suffix('\n').unwrap_or_default();
        assert!(!line.is_empty() && !line.contains('\n'), "{:?}", self.stdout);
        line
    }
}

/// A running server; killed when a test ends early.
pub(super) struct Serving {
    pub(super) child: Child,
    pub(super) base_url: String,
}

impl Serving {
    pub(super) fn start(command: &mut Command, ready: &Path) -> Self {
        let mut child = command.spawn().unwrap();
        let began = Instant::now();
        let text = loop {
            if let Ok(text) = std::fs::read_to_string(ready) {
                break text;
            }
            if let Some(status) = child.try_wait().unwrap() {
                let mut log = String::new();
                child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
                panic!("ended with {status}: {log}");
            }
            assert!(began.elapsed() < PATIENCE, "not ready in time");
            // Sleeps because a file that appears is no event.
            std::thread::sleep(Duration::from_millis(2));
        };
        let ready: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(ready["pid"], child.id());
        Self { base_url: ready["base_url"].as_str().unwrap().to_owned(), child }
    }

    /// One request by a plain socket: status line, head and body.
    pub(super) fn get(&self, path: &str, key: &str) -> String {
        self.ask(&format!("GET {path} HTTP/1.1\r\nauthorization: Bearer {key}\r\n"), "")
    }

    /// Answers sent to a public form.
    #[track_caller]
    pub(super) fn submit(&self, form: &str, answers: &str) {
        let head = format!("POST /f/{form} HTTP/1.1\r\ncontent-type: application/json\r\n");
        let answer = self.ask(&head, answers);
        assert!(answer.starts_with("HTTP/1.1 2"), "{answer}");
    }

    /// One request by a plain socket, its head without what every request has.
    pub(super) fn ask(&self, head: &str, body: &str) -> String {
        use std::io::Write;
        let addr = self.base_url.strip_prefix("http://").unwrap();
        let mut stream = std::net::TcpStream::connect(addr).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let length = body.len();
        write!(
            stream,
            "{head}host: x\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    pub(super) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    /// Reads its log over, so that a long one does not stop it.
    pub(super) fn unheard(mut self) -> Self {
        let mut stderr = self.child.stderr.take().unwrap();
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        self
    }

    /// Waits for the end: exit status and log.
    pub(super) fn wait(mut self) -> (Option<i32>, String) {
        let mut log = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            stderr.read_to_string(&mut log).unwrap();
        }
        (self.child.wait().unwrap().code(), log)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Already gone when the test waited for it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
