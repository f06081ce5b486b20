//! What a service that takes submissions in and delivers them does at least: a POST is parsed, kept
//! with others in one commit, answered, signed, sent to the endpoint, and its outcome kept with others
//! in one commit. No limits, no retries, no look at where it is sent, no records of attempts.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::response::IntoResponse;
use axum::routing::post;
use bytes::Bytes;
use formsvc_protocol::signature::{SigningSecret, sign};
use formsvc_server::store::system_clock;
use http::{Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use rusqlite::{Connection, params};
use serde_json::value::RawValue;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};

use crate::database::TITLE;
use crate::error::BenchError;
use crate::left::Left;

const TABLES: &str = "
    CREATE TABLE submissions (
        key INTEGER PRIMARY KEY, instant_us INTEGER NOT NULL, id TEXT NOT NULL UNIQUE, item TEXT NOT NULL
    );
    CREATE UNIQUE INDEX submissions_by_instant ON submissions (instant_us);
    CREATE TABLE deliveries (submission INTEGER PRIMARY KEY, state INTEGER NOT NULL, finished_us INTEGER);
    CREATE INDEX deliveries_left ON deliveries (submission) WHERE state = 0;";
/// Writes that share a commit, at most.
const BATCH_MAX: usize = 64;
/// Outcomes that share a write, at most.
const OUTCOMES_MAX: usize = 256;
/// How long outcomes wait for each other.
const LINGER: Duration = Duration::from_millis(1);

/// Deliveries that are not done, and those that are.
pub(super) fn left(database: &Path) -> Left {
    let any = "SELECT 1 FROM deliveries WHERE state = 0 LIMIT 1".to_owned();
    let done = "SELECT count(*) FROM deliveries WHERE state = 2".to_owned();
    Left { database: database.to_owned(), any, done }
}

enum Write {
    /// A submission; its key is told once it is on the disk.
    Submission { id: String, item: String, done: oneshot::Sender<i64> },
    /// Keys of what was delivered.
    Delivered { keys: Vec<i64>, done: oneshot::Sender<()> },
}

struct Shared {
    writes: mpsc::Sender<Write>,
    deliveries: mpsc::UnboundedSender<(i64, Bytes)>,
}

/// Begins to serve, on this runtime.
pub(super) async fn start(
    database: &Path,
    sink: &str,
    workers: usize,
) -> Result<SocketAddr, BenchError> {
    let uri: Uri = sink.parse().map_err(|why| BenchError::because("no address", why))?;
    let connection = connect(database);
    let connection = connection.map_err(|why| BenchError::because("no database", why))?;
    let (writes, waiting) = mpsc::channel(1_024);
    std::thread::spawn(move || write(&connection, waiting));
    let (outcomes, done) = mpsc::channel(1_024);
    tokio::spawn(record(done, writes.clone()));
    let (deliveries, queue) = mpsc::unbounded_channel();
    let queue = Arc::new(tokio::sync::Mutex::new(queue));
    let client = Client::builder(TokioExecutor::new()).build_http();
    let secret = SigningSecret::new(&"whsec_skeleton".into()).expect("it is not empty");
    for _ in 0..workers {
        let (queue, client, uri) = (Arc::clone(&queue), client.clone(), uri.clone());
        tokio::spawn(deliver(queue, client, uri, secret.clone(), outcomes.clone()));
    }
    let shared = Arc::new(Shared { writes, deliveries });
    let router = Router::new().route("/f/{public_id}", post(accept)).with_state(shared);
    let failed = |why| BenchError::io("cannot listen", why);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(failed)?;
    let addr = listener.local_addr().map_err(failed)?;
    tokio::spawn(serve(listener, router));
    Ok(addr)
}

async fn serve(listener: TcpListener, router: Router) {
    while let Ok((stream, _)) = listener.accept().await {
        // Without it the last segment may wait.
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            let http = hyper::server::conn::http1::Builder::new();
            // The load ends by closing its connections.
            let _ = http.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn accept(State(shared): State<Arc<Shared>>, body: Bytes) -> impl IntoResponse {
    let Ok(answers) = serde_json::from_slice::<&RawValue>(&body) else {
        return (StatusCode::BAD_REQUEST, String::new());
    };
    let now = system_clock()();
    let mut bits = [0; 16];
    bits[..8].copy_from_slice(&now.micros().to_be_bytes());
    bits[8..].copy_from_slice(&fastrand::u64(..).to_be_bytes());
    let id = formsvc_protocol::SubmissionId::from_bits(bits).to_string();
    let (data, at) = (answers.get(), now.to_timestamp());
    let item = format!(r#"{{"id":"{id}","data":{data},"created_at":"{at}"}}"#);
    let event = format!(
        r#"{{"event":"submission.created","submission_id":"{id}","form_id":"frm_bench","form_title":"{TITLE}","data":{data},"created_at":"{at}"}}"#,
    );
    let answer = format!(r#"{{"id":"{id}"}}"#);
    let (done, is_done) = oneshot::channel();
    if shared.writes.send(Write::Submission { id, item, done }).await.is_err() {
        return (StatusCode::SERVICE_UNAVAILABLE, String::new());
    }
    let Ok(key) = is_done.await else { return (StatusCode::SERVICE_UNAVAILABLE, String::new()) };
    // Fails when the workers are gone, which the load finds out.
    let _ = shared.deliveries.send((key, event.into()));
    (StatusCode::CREATED, answer)
}

fn connect(database: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(database)?;
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.execute_batch(TABLES)?;
    Ok(connection)
}

/// The thread that writes. It ends with the first error, which the load finds out.
fn write(connection: &Connection, mut waiting: mpsc::Receiver<Write>) {
    let mut batch = Vec::with_capacity(BATCH_MAX);
    let mut next = 1;
    while waiting.blocking_recv_many(&mut batch, BATCH_MAX) > 0 {
        let first = next;
        if commit(connection, &batch, &mut next).is_err() {
            return;
        }
        let mut key = first;
        for write in batch.drain(..) {
            match write {
                Write::Submission { done, .. } => {
                    let _ = done.send(key);
                    key += 1;
                }
                Write::Delivered { done, .. } => drop(done.send(())),
            }
        }
    }
}

fn commit(connection: &Connection, batch: &[Write], next: &mut i64) -> rusqlite::Result<()> {
    let run = |sql| connection.prepare_cached(sql)?.execute([]).map(drop);
    let now = system_clock()().micros();
    run("BEGIN IMMEDIATE")?;
    let mut submission = connection.prepare_cached(
        "INSERT INTO submissions (key, instant_us, id, item) VALUES (?1, ?2, ?3, ?4)",
    )?;
    let mut delivery =
        connection.prepare_cached("INSERT INTO deliveries (submission, state) VALUES (?1, 0)")?;
    let mut delivered = connection.prepare_cached(
        "UPDATE deliveries SET state = 2, finished_us = ?2 WHERE submission = ?1",
    )?;
    for write in batch {
        match write {
            Write::Submission { id, item, .. } => {
                submission.execute(params![*next, *next, id, item])?;
                delivery.execute([*next])?;
                *next += 1;
            }
            Write::Delivered { keys, .. } => {
                for key in keys {
                    delivered.execute([*key, now])?;
                }
            }
        }
    }
    run("COMMIT")
}

/// One of the workers.
async fn deliver(
    queue: Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<(i64, Bytes)>>>,
    client: Client<HttpConnector, Full<Bytes>>,
    uri: Uri,
    secret: SigningSecret,
    outcomes: mpsc::Sender<i64>,
) {
    loop {
        let next = queue.lock().await.recv().await;
        let Some((key, body)) = next else { return };
        let now = u64::try_from(system_clock()().micros() / 1_000_000).unwrap_or_default();
        let signature = sign([&secret], now, &body);
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri.clone();
        let headers = request.headers_mut();
        let json = http::HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json);
        let signature = http::HeaderValue::try_from(signature).expect("digits and commas");
        headers.insert(formsvc_protocol::signature::HEADER, signature);
        let Ok(response) = client.request(request).await else { return };
        if !response.status().is_success() || response.into_body().collect().await.is_err() {
            return;
        }
        if outcomes.send(key).await.is_err() {
            return;
        }
    }
}

/// Has outcomes recorded together.
async fn record(mut done: mpsc::Receiver<i64>, writes: mpsc::Sender<Write>) {
    let mut keys = Vec::with_capacity(OUTCOMES_MAX);
    while done.recv_many(&mut keys, OUTCOMES_MAX).await > 0 {
        tokio::time::sleep(LINGER).await;
        while keys.len() < OUTCOMES_MAX
            && let Ok(key) = done.try_recv()
        {
            keys.push(key);
        }
        let (done, is_done) = oneshot::channel();
        let keys = std::mem::take(&mut keys);
        if writes.send(Write::Delivered { keys, done }).await.is_err() || is_done.await.is_err() {
            return;
        }
    }
}
