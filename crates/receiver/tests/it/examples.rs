//! Runs the examples.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, SystemTime};

use formsvc_receiver::test_util::{sign, submission_body};

use crate::postgres_cluster::Cluster;
use crate::support::{OTHER_SECRET, SECRET};

/// The payload of `submission_body`, as the examples print it.
const ANSWERS: &str = r#""{\"Name\":\"Ada\"}""#;

fn command(name: &str) -> Command {
    // Cargo builds examples in a directory beside the tests.
    let test = std::env::current_exe().unwrap();
    let path: PathBuf = test.parent().unwrap().with_file_name("examples").join(name);
    let mut command = Command::new(path);
    command.env("FORMSVC_SIGNING_SECRET", SECRET).env("LISTEN", "127.0.0.1:0");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn signature(secret: &str, body: &[u8]) -> String {
    // The examples use the system's clock.
    sign([secret], SystemTime::now(), body)
}

/// An example that serves, killed on drop.
struct Server {
    child: Child,
    address: String,
    output: BufReader<ChildStdout>,
}

impl Server {
    fn start(name: &str, directory: &Path, url: &str) -> Self {
        let mut command = command(name);
        let mut child =
            command.current_dir(directory).env("DATABASE_URL", url).spawn().expect("it is built");
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut server = Self { child, address: String::new(), output };
        let line = server.next_line();
        let address = line.strip_prefix("listening on ").unwrap_or_else(|| panic!("{line}"));
        server.address = address.into();
        server
    }

    fn next_line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Sends a delivery and returns the status of the response.
    fn deliver(&self, body: &[u8], secret: &str) -> u16 {
        let head = format!(
            "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\
             X-Service-Signature: {}\r\n\r\n",
            body.len(),
            signature(secret, body)
        );
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn verify(secret: &str, body: &[u8]) -> Result<String, String> {
    let mut child = command("verify").arg(signature(secret, body)).spawn().unwrap();
    child.stdin.take().unwrap().write_all(body).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

#[test]
fn verify_example_prints_verified_event() {
    let body = submission_body("sub_1");
    let printed = verify(SECRET, &body).unwrap();
    assert!(printed.starts_with(r#""submission.created" "{\"event\":"#), "{printed}");
    assert!(verify(OTHER_SECRET, &body).unwrap_err().contains("NoMatch"));
}

#[test]
fn axum_example_handles_each_submission_once() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = Server::start("axum_once", directory.path(), "");
    assert_eq!(server.deliver(&submission_body("sub_1"), OTHER_SECRET), 401);
    assert_eq!(server.deliver(br#"{"event":"form.closed"}"#, SECRET), 200);
    for id in ["sub_1", "sub_1", "sub_2"] {
        assert_eq!(server.deliver(&submission_body(id), SECRET), 200, "{id}");
    }
    assert_eq!(server.next_line(), format!("sub_1 {ANSWERS}"));
    assert_eq!(server.next_line(), format!("sub_2 {ANSWERS}"), "handled once");
    drop(server);
    let mut server = Server::start("axum_once", directory.path(), "");
    for id in ["sub_1", "sub_3"] {
        assert_eq!(server.deliver(&submission_body(id), SECRET), 200, "{id}");
    }
    assert_eq!(server.next_line(), format!("sub_3 {ANSWERS}"), "known after a restart");
}

#[tokio::test]
async fn postgres_example_stores_each_submission_once() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = cluster.create_schema().await;
    let server = Server::start("postgres_once", Path::new("/"), &cluster.url(&schema));
    assert_eq!(server.deliver(&submission_body("sub_1"), OTHER_SECRET), 401);
    for id in ["sub_1", "sub_1", "sub_2"] {
        assert_eq!(server.deliver(&submission_body(id), SECRET), 200, "{id}");
    }
    let pool = cluster.pool(&schema, deadpool_postgres::RecyclingMethod::Fast);
    let sql = "SELECT string_agg(id || answers, ' ' ORDER BY id) FROM submissions";
    let row = pool.get().await.unwrap().query_one(sql, &[]).await.unwrap();
    assert_eq!(row.get::<_, &str>(0), r#"sub_1{"Name":"Ada"} sub_2{"Name":"Ada"}"#);
}

#[test]
fn tower_example_prints_verified_events() {
    let mut server = Server::start("tower_hyper", Path::new("/"), "");
    assert_eq!(server.deliver(&submission_body("sub_1"), OTHER_SECRET), 401);
    assert_eq!(server.deliver(b"nonsense", SECRET), 400);
    assert_eq!(server.deliver(br#"{"event":"form.\u001bclosed"}"#, SECRET), 200);
    let line = server.next_line();
    assert!(line.starts_with(r#""form.\u{1b}closed" "#), "{line}");
}

#[test]
fn example_without_valid_secret_fails() {
    for name in ["verify", "axum_once", "postgres_once", "tower_hyper"] {
        for secret in [None, Some(""), Some("hunter2\n")] {
            let mut command = command(name);
            command.env_remove("FORMSVC_SIGNING_SECRET");
            command.envs(secret.map(|secret| ("FORMSVC_SIGNING_SECRET", secret)));
            let output = command.output().unwrap();
            assert!(!output.status.success(), "{name} {secret:?}");
            let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            assert!(!text.is_empty() && !text.contains("hunter2"), "{text}");
        }
    }
}
