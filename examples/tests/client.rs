//! The programs that read submissions.

use std::collections::HashSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Stdio;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio_rustls::TlsAcceptor;

use crate::net::{Authority, HttpProxy, Identity};
use crate::sandbox::{Sandbox, output_of};

/// Rows of three pages.
const ROWS: usize = 250;

/// The first words of lines.
fn first_words(lines: &str) -> Vec<&str> {
    lines.lines().filter_map(|line| line.split(' ').next()).collect()
}

#[tokio::test]
async fn connect_prints_the_owner_of_the_key() {
    let output = Sandbox::start().await.run(env!("CARGO_BIN_EXE_connect")).await;
    assert_eq!(output.stdout, "\"Ada\" <ada@example.org>\n");
}

#[tokio::test]
async fn forms_prints_every_form() {
    let sandbox = Sandbox::start().await;
    let output = sandbox.run(env!("CARGO_BIN_EXE_forms")).await;
    assert_eq!(output.stdout, format!("{} published \"Test\"\n", sandbox.service.form.id));
}

#[tokio::test]
async fn all_rows_prints_each_submission_once() {
    let sandbox = Sandbox::with_rows(ROWS).await;
    let output = sandbox.run(env!("CARGO_BIN_EXE_all_rows")).await;
    let ids: HashSet<_> = first_words(&output.stdout).into_iter().collect();
    assert_eq!((ids.len(), output.stdout.lines().count()), (ROWS, ROWS));
    assert!(output.stdout.lines().next().unwrap().ends_with(r#" {"Number":250}"#));
    assert_eq!(output.stderr, "complete: proven\n");
}

#[tokio::test]
async fn by_label_prints_answers_by_label() {
    let sandbox = Sandbox::start().await;
    sandbox.submit(r#"{"Name":"Zo\u00eb","Amount":12.50,"Topics":["a","b"]}"#).await;
    sandbox.submit(r#"{"Name":7}"#).await;
    let output = sandbox.run(env!("CARGO_BIN_EXE_by_label")).await;
    let lines = "None None []\nSome(\"Zoë\") Some(\"12.50\") [\"a\", \"b\"]\n";
    assert_eq!(output.stdout, lines);
}

#[tokio::test]
async fn typed_prints_the_path_of_a_mismatch() {
    let sandbox = Sandbox::start().await;
    let odd = sandbox.submit(r#"{"Name":"Bo","Amount":"ten"}"#).await;
    sandbox.submit(r#"{"Name":"Ada","Amount":12.5}"#).await;
    let output = sandbox.run(env!("CARGO_BIN_EXE_typed")).await;
    assert_eq!(output.stdout, "\"Ada\" 12.5\n");
    assert_eq!(output.stderr, format!("{odd}: no contact at `Amount`\n"));
}

#[tokio::test]
async fn resume_at_the_end_reads_no_row_again() {
    let sandbox = Sandbox::with_rows(ROWS).await;
    let output = sandbox.run(env!("CARGO_BIN_EXE_resume")).await;
    assert_eq!(output.stdout.lines().count(), 3);
    let rows = std::fs::read_to_string(sandbox.path("rows.ndjson")).unwrap();
    assert_eq!(rows.lines().filter(|line| line.starts_with(r#"{"id":"sub_"#)).count(), ROWS);
    assert_eq!(sandbox.run(env!("CARGO_BIN_EXE_resume")).await.stdout, "");
}

#[tokio::test]
async fn only_new_rows_prints_each_row_in_one_run() {
    let sandbox = Sandbox::with_rows(ROWS).await;
    let program = env!("CARGO_BIN_EXE_only_new_rows");
    assert_eq!(sandbox.run(program).await.stdout.lines().count(), ROWS);
    let older = sandbox.submit("{}").await;
    let newer = sandbox.submit("{}").await;
    assert_eq!(first_words(&sandbox.run(program).await.stdout), [newer, older]);
    assert_eq!(sandbox.run(program).await.stdout, "");
}

#[tokio::test]
async fn follow_prints_new_rows_after_a_kill() {
    use tokio::io::{AsyncBufReadExt, BufReader};

    let sandbox = Sandbox::with_rows(ROWS).await;
    let expected =
        ["{\"Number\":248}", "{\"Number\":249}", "{\"Number\":250}", "{\"Number\":251}", "{}"];
    let start = || {
        let mut command = sandbox.command(env!("CARGO_BIN_EXE_follow"));
        let mut child = command.stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        (child, lines)
    };
    let (mut child, mut lines) = start();
    let mut last = String::new();
    for (at, answers) in expected.iter().enumerate() {
        match at {
            3 => drop(sandbox.submit("{\"Number\":251}").await),
            4 => {
                child.kill().await.unwrap();
                sandbox.submit("{}").await;
                (child, lines) = start();
            }
            _ => {}
        }
        let mut line = lines.next_line().await.unwrap().unwrap();
        // The program can be killed after it printed a row and before it saved the point.
        if line == last {
            line = lines.next_line().await.unwrap().unwrap();
        }
        assert!(line.ends_with(answers), "{line}");
        last = line;
    }
}

#[tokio::test]
async fn csv_in_one_call_writes_all_columns_and_rows() {
    let sandbox = Sandbox::start().await;
    let older = sandbox.submit(r#"{"Name":"=1+1","Note":"a,b"}"#).await;
    let newer = sandbox.submit(r#"{"Name":"Ada","Amount":1.50}"#).await;
    let output = sandbox.run(env!("CARGO_BIN_EXE_csv_in_one_call")).await;
    assert_eq!(output.stdout, "2 rows, 5 columns\n");
    let csv = std::fs::read_to_string(sandbox.path("rows.csv")).unwrap();
    // Without the times.
    let rows: Vec<_> = csv
        .lines()
        .map(|line| line.split_once(',').unwrap())
        .map(|(id, rest)| (id, rest.split_once(',').unwrap().1))
        .collect();
    assert_eq!(
        rows,
        [("id", "Name,Note,Amount"), (&newer, "Ada,,1.50"), (&older, "'=1+1,\"a,b\",")]
    );
}

#[tokio::test]
async fn four_tasks_prints_each_submission_once() {
    let sandbox = Sandbox::with_rows(ROWS).await;
    let output = sandbox.run(env!("CARGO_BIN_EXE_four_tasks")).await;
    let ids: HashSet<_> = first_words(&output.stdout).into_iter().collect();
    assert_eq!((ids.len(), output.stdout.lines().count()), (ROWS, ROWS));
}

#[tokio::test]
async fn spawn_blocking_writes_each_submission() {
    let sandbox = Sandbox::with_rows(ROWS).await;
    let output = sandbox.run(env!("CARGO_BIN_EXE_spawn_blocking")).await;
    assert_eq!(output.stdout, "250 rows\n");
    assert_eq!(std::fs::read_to_string(sandbox.path("rows.ndjson")).unwrap().lines().count(), ROWS);
}

#[tokio::test]
async fn trace_parent_reaches_the_service() {
    let sandbox = Sandbox::start().await;
    let (address, heads) = recording_front(sandbox.running.local_addr()).await;
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_trace_parent"));
    let trace_parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    command.env("FORMSVC_BASE_URL", format!("http://{address}")).env("TRACEPARENT", trace_parent);
    assert_eq!(output_of(&mut command).await.stdout, "ada@example.org\n");
    let heads = String::from_utf8(heads.lock().await.clone()).unwrap();
    assert!(heads.contains(&format!("\r\ntraceparent: {trace_parent}\r\n")), "{heads}");
}

/// Forwards connections to a server, and records the bytes of the requests.
async fn recording_front(server: SocketAddr) -> (SocketAddr, Arc<Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let recorded = Arc::new(Mutex::new(Vec::new()));
    let requests = Arc::clone(&recorded);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (mut from_client, mut to_client) = stream.into_split();
            let server = TcpStream::connect(server).await.unwrap();
            let (mut from_server, mut to_server) = server.into_split();
            tokio::spawn(async move { tokio::io::copy(&mut from_server, &mut to_client).await });
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = from_client.read(&mut buffer).await {
                requests.lock().await.extend_from_slice(&buffer[..length]);
                to_server.write_all(&buffer[..length]).await.unwrap();
            }
        }
    });
    (address, recorded)
}

#[tokio::test]
async fn proxy_and_ca_reads_through_proxy_and_tls() {
    let (sandbox, authority) = (Sandbox::start().await, Authority::new());
    let address = tls_front(authority.valid_for("forms.example"), sandbox.running.local_addr());
    let proxy = HttpProxy::to(address.await);
    std::fs::write(sandbox.path("ca.pem"), &authority.pem).unwrap();
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_proxy_and_ca"));
    command.env("FORMSVC_BASE_URL", "https://forms.example").env("CA_FILE", "ca.pem");
    command.env("PROXY_URL", format!("http://ada:secret@{}", proxy.address));
    assert_eq!(output_of(&mut command).await.stdout, "ada@example.org\n");
    let log = proxy.log.take();
    assert_eq!(log, ["CONNECT forms.example:443 HTTP/1.1 [Basic YWRhOnNlY3JldA==]"]);
}

/// Decrypts connections and forwards them to a server.
async fn tls_front(identity: Identity, server: SocketAddr) -> SocketAddr {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![identity.certificate], identity.key);
    let acceptor = TlsAcceptor::from(Arc::new(config.unwrap()));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let mut client = acceptor.accept(stream).await.unwrap();
            let mut server = TcpStream::connect(server).await.unwrap();
            // The client may end the connection without a TLS close.
            let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
        }
    });
    address
}

#[tokio::test]
async fn blocking_prints_each_submission_once() {
    let sandbox = Sandbox::with_rows(ROWS).await;
    let output = sandbox.run(env!("CARGO_BIN_EXE_blocking")).await;
    let ids: HashSet<_> = first_words(&output.stdout).into_iter().collect();
    assert_eq!((ids.len(), output.stdout.lines().count()), (ROWS, ROWS));
}

#[tokio::test]
async fn progress_prints_rows_and_retries() {
    let sandbox = Sandbox::with_rows(ROWS).await;
    // Every second request is answered with status 500.
    sandbox.faults.set("errors=50%".parse().unwrap());
    let output = sandbox.run(env!("CARGO_BIN_EXE_progress")).await;
    let lines: Vec<_> = output.stderr.lines().collect();
    let rows: Vec<_> = lines.iter().filter(|line| line.ends_with(" rows")).collect();
    assert_eq!(rows, [&"100 rows", &"199 rows", &"250 rows"], "{lines:?}");
    assert!(lines.iter().any(|line| line.contains(": retry in ")), "{lines:?}");
}

#[tokio::test]
async fn program_without_settings_names_the_variable() {
    let sandbox = Sandbox::start().await;
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_all_rows"));
    let output = command.env_remove("FORMSVC_API_KEY").output().await.unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8(output.stderr).unwrap().contains("`FORMSVC_API_KEY` is not set"));
}

#[tokio::test]
async fn axum_export_serves_every_row_as_csv() {
    let sandbox = Sandbox::with_rows(ROWS).await;
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_axum_export"));
    let mut server = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let address = lines.next_line().await.unwrap().unwrap();
    let mut connection = TcpStream::connect(address).await.unwrap();
    connection.write_all(b"GET / HTTP/1.0\r\n\r\n").await.unwrap();
    let mut response = String::new();
    connection.read_to_string(&mut response).await.unwrap();
    assert!(response.starts_with("HTTP/1.0 200 OK\r\n"), "{response:.99}");
    let (_, csv) = response.split_once("\r\n\r\n").unwrap();
    assert_eq!(csv.lines().count(), ROWS + 1);
}
