//! The programs that receive webhooks.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use formsvc_receiver::test_util::{sign, submission_body};
use formsvc_server::delivery::{Deliveries, DeliveryOptions, Equipment, system_random};
use formsvc_server::egress::{ClientOptions, DeliveryClient, EgressPolicy};
use formsvc_server::metrics::Metrics;
use formsvc_server::secrets::{ServerKey, Vault};
use formsvc_server::store::{NewEndpoint, SealedSecret, system_clock};

use crate::postgres_cluster::Cluster;
use crate::sandbox::Sandbox;

const SECRET: &str = "whsec_1Ja0vTGXn2LQ6Zt9c4Kp8RbY3mDsWfHuEoAiPxNkVgB";
const OTHER_SECRET: &str = "whsec_of_another_endpoint";
/// The answers of `submission_body`, as the programs print them.
const ANSWERS: &str = r#""{\"Name\":\"Ada\"}""#;

fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("FORMSVC_SIGNING_SECRET", SECRET).env("LISTEN", "127.0.0.1:0");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn signature(secret: &str, body: &[u8]) -> String {
    // The programs use the system's clock.
    sign([secret], SystemTime::now(), body)
}

/// A program that serves, killed on drop.
struct Server {
    child: Child,
    address: String,
    output: BufReader<ChildStdout>,
}

impl Server {
    fn start(program: &str, folder: &Path, database_url: &str) -> Self {
        let mut command = command(program);
        command.current_dir(folder).env("DATABASE_URL", database_url);
        let mut child = command.spawn().unwrap();
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

/// Runs `raw_verification`; returns its output, or its errors if it fails.
fn verify(secret: &str, body: &[u8]) -> Result<String, String> {
    let mut command = command(env!("CARGO_BIN_EXE_raw_verification"));
    let mut child = command.arg(signature(secret, body)).spawn().unwrap();
    child.stdin.take().unwrap().write_all(body).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

#[test]
fn raw_verification_prints_verified_event() {
    let body = submission_body("sub_1");
    let printed = verify(SECRET, &body).unwrap();
    assert!(printed.starts_with(r#""submission.created" "{\"event\":"#), "{printed}");
    assert!(verify(OTHER_SECRET, &body).unwrap_err().contains("NoMatch"));
}

#[test]
fn axum_once_handles_each_submission_once() {
    let (program, folder) = (env!("CARGO_BIN_EXE_axum_once"), tempfile::tempdir().unwrap());
    let mut server = Server::start(program, folder.path(), "");
    assert_eq!(server.deliver(&submission_body("sub_1"), OTHER_SECRET), 401);
    assert_eq!(server.deliver(br#"{"event":"form.closed"}"#, SECRET), 200);
    for id in ["sub_1", "sub_1", "sub_2"] {
        assert_eq!(server.deliver(&submission_body(id), SECRET), 200, "{id}");
    }
    assert_eq!(server.next_line(), format!("sub_1 {ANSWERS}"));
    assert_eq!(server.next_line(), format!("sub_2 {ANSWERS}"), "handled once");
    drop(server);
    let mut server = Server::start(program, folder.path(), "");
    for id in ["sub_1", "sub_3"] {
        assert_eq!(server.deliver(&submission_body(id), SECRET), 200, "{id}");
    }
    assert_eq!(server.next_line(), format!("sub_3 {ANSWERS}"), "known after a restart");
}

#[tokio::test(flavor = "multi_thread")]
async fn axum_once_handles_deliveries_of_the_service() {
    let (sandbox, folder) = (Sandbox::start().await, tempfile::tempdir().unwrap());
    let mut server = Server::start(env!("CARGO_BIN_EXE_axum_once"), folder.path(), "");
    let vault = Vault::new(&ServerKey::generate().unwrap());
    let secret = vault.seal(b"whe_1", &SECRET.to_owned().into()).unwrap();
    let endpoint = NewEndpoint {
        id: "whe_1".parse().unwrap(),
        form: sandbox.service.form.id.clone(),
        url: format!("http://{}/", server.address),
        secret: SealedSecret(secret),
    };
    sandbox.service.store.add_endpoint(endpoint).await.unwrap();
    let client = ClientOptions { policy: EgressPolicy::dev(), ..ClientOptions::default() };
    let _deliveries = Deliveries::start(Equipment {
        store: Arc::clone(&sandbox.service.store),
        carrier: Arc::new(DeliveryClient::new(client)),
        vault,
        clock: system_clock(),
        random: system_random(),
        options: DeliveryOptions::default(),
        metrics: Metrics::new(),
    });
    let id = sandbox.submit(r#"{"Name":"Ada"}"#).await;
    let line = tokio::task::spawn_blocking(move || server.next_line()).await.unwrap();
    assert_eq!(line, format!("{id} {ANSWERS}"));
}

#[tokio::test]
async fn postgres_inbox_stores_each_submission_once() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = cluster.create_schema().await;
    let program = env!("CARGO_BIN_EXE_postgres_inbox");
    let server = Server::start(program, Path::new("/"), &cluster.url(&schema));
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
fn tower_hyper_prints_verified_events() {
    let mut server = Server::start(env!("CARGO_BIN_EXE_tower_hyper"), Path::new("/"), "");
    assert_eq!(server.deliver(&submission_body("sub_1"), OTHER_SECRET), 401);
    assert_eq!(server.deliver(b"nonsense", SECRET), 400);
    assert_eq!(server.deliver(br#"{"event":"form.\u001bclosed"}"#, SECRET), 200);
    let line = server.next_line();
    assert!(line.starts_with(r#""form.\u{1b}closed" "#), "{line}");
}

#[test]
fn receiver_without_valid_secret_fails() {
    for program in [
        env!("CARGO_BIN_EXE_raw_verification"),
        env!("CARGO_BIN_EXE_axum_once"),
        env!("CARGO_BIN_EXE_postgres_inbox"),
        env!("CARGO_BIN_EXE_tower_hyper"),
    ] {
        for secret in [None, Some(""), Some("hunter2\n")] {
            let mut command = command(program);
            command.env_remove("FORMSVC_SIGNING_SECRET");
            command.envs(secret.map(|secret| ("FORMSVC_SIGNING_SECRET", secret)));
            let output = command.output().unwrap();
            assert!(!output.status.success(), "{program} {secret:?}");
            let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            assert!(!text.is_empty() && !text.contains("hunter2"), "{text}");
        }
    }
}
