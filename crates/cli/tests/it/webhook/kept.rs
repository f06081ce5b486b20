//! A home folder with a capture store, and listeners that write to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use formsvc_protocol::signature::{SigningSecret, sign};

use super::support::SECRET;
use crate::support::{Said, formsvc, signal, within};

/// A home folder that contains only a secret file.
pub(crate) struct Home(tempfile::TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        use std::os::unix::fs::PermissionsExt;
        let home = Self(tempfile::tempdir().unwrap());
        let secret = home.path().join("secret.txt");
        std::fs::write(&secret, SECRET).unwrap();
        std::fs::set_permissions(secret, PermissionsExt::from_mode(0o600)).unwrap();
        home
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns the state folder.
    pub(crate) fn state(&self) -> PathBuf {
        self.path().join(".local/state/formsvc")
    }

    pub(crate) fn formsvc(&self, args: &[&str]) -> Command {
        // Some tests create a symbolic link in this folder.
        std::fs::create_dir_all(self.path().join(".local/state")).unwrap();
        let mut command = formsvc(args);
        command.env("HOME", self.path()).current_dir(self.path());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Said {
        self.formsvc(args).output().unwrap().into()
    }

    /// Runs the command, asserts success, and returns standard output.
    #[track_caller]
    pub(crate) fn succeed(&self, args: &[&str]) -> String {
        let said = self.run(args);
        assert_eq!(said.code, Some(0), "{args:?} said: {}", said.stderr);
        said.stdout
    }
}

/// A listener, killed when dropped.
pub(crate) struct Listener {
    child: Child,
    pub(crate) address: String,
    said: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Listener {
    /// Starts a listener that verifies with the secret of the home folder.
    pub(crate) fn start(home: &Home, args: &[&str]) -> Self {
        let ready = tempfile::tempdir().unwrap();
        let file = ready.path().join("ready.json");
        let mut command = home.formsvc(&["webhook", "listen", "--port", "0"]);
        command.args(["--secret-file", "secret.txt", "--ready-file"]);
        command.arg(&file).args(args);
        if !args.contains(&"--on-invalid") {
            command.args(["--on-invalid", "accept"]);
        }
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let said = Arc::new(Mutex::new(String::new()));
        let heard = Arc::clone(&said);
        let reader = std::thread::spawn(move || {
            let mut line = String::new();
            while stderr.read_line(&mut line).unwrap_or(0) > 0 {
                heard.lock().unwrap().push_str(&line);
                line.clear();
            }
        });
        within("a ready file", || file.exists());
        let ready: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let address = ready["url"].as_str().unwrap().trim_start_matches("http://");
        let address = address.trim_end_matches('/').to_owned();
        Self { child, address, said, reader: Some(reader) }
    }

    /// Sends a body with a current signature. Returns the status of the response.
    #[track_caller]
    pub(crate) fn deliver(&self, body: &[u8]) -> u16 {
        self.send("/hook", &[], body)
    }

    /// Sends a signed body with a request target and additional headers. Returns the status.
    #[track_caller]
    pub(crate) fn send(&self, target: &str, headers: &[(&str, &[u8])], body: &[u8]) -> u16 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let secret = SigningSecret::new(SECRET).unwrap();
        let signature = sign([&secret], now, body);
        let mut request = format!(
            "POST {target} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             x-service-event: submission.created\r\nx-service-signature: {signature}\r\n\
             connection: close\r\ncontent-length: {}\r\n",
            self.address,
            body.len()
        )
        .into_bytes();
        for (name, value) in headers {
            request.extend_from_slice(name.as_bytes());
            request.extend_from_slice(b": ");
            request.extend_from_slice(value);
            request.extend_from_slice(b"\r\n");
        }
        request.extend_from_slice(b"\r\n");
        request.extend_from_slice(body);
        let connected = TcpStream::connect(&self.address);
        let mut stream =
            connected.unwrap_or_else(|error| panic!("{error}; standard error: {}", self.said()));
        stream.write_all(&request).unwrap();
        let mut answer = String::new();
        if let Err(error) = stream.read_to_string(&mut answer) {
            panic!("{error} after {answer:?}; standard error: {}", self.said());
        }
        answer.split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// Ends the listener as Ctrl-C does. Returns the exit code.
    pub(crate) fn end(&mut self) -> Option<i32> {
        signal(&self.child, "TERM");
        let code = self.child.wait().unwrap().code();
        self.reader.take().map(JoinHandle::join);
        code
    }

    /// Kills the listener with SIGKILL.
    pub(crate) fn kill(&mut self) {
        signal(&self.child, "KILL");
        self.child.wait().unwrap();
    }

    /// Returns the text that the listener printed on standard error so far.
    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
