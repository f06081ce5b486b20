//! Clients that request large responses and do not read them.

use std::sync::Arc;
use std::time::Duration;

use formsvc_protocol::PublicId;
use formsvc_server::admin::{Admin, FormOptions};
use formsvc_server::fields::Fields;
use formsvc_server::rate_limit::RateLimit;
use formsvc_server::response_budget::ResponseBudget;
use formsvc_server::serve::{Running, ServeOptions, Server};
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{Store, system_clock};
use secrecy::ExposeSecret;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use super::wire::{PATIENCE, read_all};

const MIB: usize = 1 << 20;
const SHORT: Duration = Duration::from_millis(60);
/// Bytes of the page of submissions. The system buffers some megabytes of it for a client that does not
/// read.
const PAGE: usize = 10 * MIB;
/// Room for two such pages, and for three of the form.
const BUDGET: usize = 24 * MIB;

struct Service {
    running: Running,
    budget: ResponseBudget,
    form: String,
    keys: Vec<String>,
}

impl Service {
    async fn new(keys: usize, wait: Duration) -> Self {
        let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory(system_clock()).unwrap());
        let admin = Admin::new(Arc::clone(&store));
        let user = admin.create_user("owner@example.org", "Owner").await.unwrap().id;
        let mut secrets = Vec::new();
        for _ in 0..keys {
            let key = admin.create_key(&user, "tests").await.unwrap();
            secrets.push(key.secret.expose_secret().to_owned());
        }
        let form = admin.create_form(&user, FormOptions::titled("Rows")).await.unwrap();
        let row = format!("{{\"a\":\"{}\"}}", "x".repeat(PAGE / 4));
        for _ in 0..4 {
            admin.submit(&form.id, &row).await.unwrap();
        }
        let public_id = Some(PublicId::new("large").unwrap());
        let options = FormOptions { public_id, ..FormOptions::titled("Large") };
        admin.create_form_with(&user, options, Some(large_fields()), None).await.unwrap();
        let budget = ResponseBudget::new(BUDGET, wait);
        let options = ServeOptions {
            response_budget: budget.clone(),
            rate_limit: RateLimit::per_minute(2.try_into().unwrap()),
            ..Default::default()
        };
        let running = Server::bind(options, store).await.unwrap();
        Self { running, budget, form: form.id.to_string(), keys: secrets }
    }

    /// Sends a request over a connection of its own that buffers little.
    async fn send(&self, request: &str) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let mut stream = socket.connect(self.running.local_addr()).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    async fn get(&self, key: &str, path: &str) -> TcpStream {
        self.send(&format!(
            "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
             authorization: Bearer {key}\r\n\r\n"
        ))
        .await
    }

    async fn get_page(&self, key: &str) -> TcpStream {
        self.get(key, &format!("/api/v1/forms/{}/submissions", self.form)).await
    }

    async fn me(&self, key: &str) -> String {
        read_all(&mut self.get(key, "/api/v1/me").await).await
    }
}

/// Fields whose page has several megabytes.
fn large_fields() -> Fields {
    let choices: Vec<_> = (0..180).map(|n| format!("{n:03}")).collect();
    let field =
        |n| serde_json::json!({ "label": n, "type": "multiple_choice", "choices": choices });
    let fields: Vec<_> = (0..200).map(|n: u32| field(n.to_string())).collect();
    Fields::parse(&serde_json::to_string(&fields).unwrap()).unwrap()
}

/// The status of a response, of which nothing more is read.
async fn status(stream: &mut TcpStream) -> u16 {
    let mut line = [0; 12];
    tokio::time::timeout(PATIENCE, stream.read_exact(&mut line)).await.unwrap().unwrap();
    std::str::from_utf8(&line[9..]).unwrap().parse().unwrap()
}

/// The responses that were admitted, and the number of those refused with 503.
async fn sort(streams: Vec<TcpStream>) -> (Vec<TcpStream>, usize) {
    let (mut admitted, mut refused) = (Vec::new(), 0);
    for mut stream in streams {
        match status(&mut stream).await {
            200 => admitted.push(stream),
            503 => {
                let rest = read_all(&mut stream).await;
                assert!(rest.contains("retry-after: 2\r\n"), "{rest}");
                refused += 1;
            }
            other => panic!("{other}"),
        }
    }
    (admitted, refused)
}

#[tokio::test]
async fn pages_never_read_stay_within_the_budget() {
    let service = Service::new(5, SHORT).await;
    let began = tokio::time::Instant::now();
    let mut streams = Vec::new();
    for key in &service.keys[..4] {
        for _ in 0..2 {
            streams.push(service.get_page(key).await);
        }
    }
    let answer = service.me(&service.keys[4]).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let (admitted, refused) = sort(streams).await;
    assert_eq!((admitted.len(), refused), (2, 6));
    assert!(began.elapsed() >= SHORT);
    let used = service.budget.bytes_in_use();
    assert!((2 * PAGE..=BUDGET).contains(&used), "{used}");
    let mut last = service.get_page(&service.keys[4]).await;
    let answer = read_all(&mut last).await;
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains(r#""code":"unavailable""#));
}

#[tokio::test]
async fn room_returns_when_clients_disconnect() {
    let service = Service::new(3, PATIENCE).await;
    let [first, second, third] = &service.keys[..] else { panic!() };
    let mut held = Vec::new();
    for key in [first, second] {
        let mut stream = service.get_page(key).await;
        assert_eq!(status(&mut stream).await, 200);
        held.push(stream);
    }
    let mut waiting = service.get_page(third).await;
    // A request that waits is not the last one that is served.
    assert!(service.me(first).await.starts_with("HTTP/1.1 200 "));
    drop(held);
    let page = read_all(&mut waiting).await;
    assert!(page.starts_with("HTTP/1.1 200 ") && page.len() > PAGE, "{}", page.len());
    // The page was read twice and is counted once.
    assert!(service.me(third).await.starts_with("HTTP/1.1 200 "));
    assert!(service.me(third).await.starts_with("HTTP/1.1 429 "));
    assert_eq!(service.budget.bytes_in_use(), 0);
}

#[tokio::test]
async fn form_pages_never_read_stay_within_the_budget() {
    let service = Service::new(0, SHORT).await;
    let mut streams = Vec::new();
    for _ in 0..10 {
        streams.push(service.get("", "/f/large").await);
    }
    let (admitted, refused) = sort(streams).await;
    assert!(!admitted.is_empty() && refused > 0, "{} {refused}", admitted.len());
    let used = service.budget.bytes_in_use();
    assert!(used > BUDGET / 2 && used <= BUDGET, "{used}");
    let answer = read_all(&mut service.get("", "/f/large").await).await;
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("text/html"), "{answer}");
    // The page with errors is as large; the same errors as JSON are small.
    let post = |accept: &str| {
        format!(
            "POST /f/large HTTP/1.1\r\nhost: x\r\nconnection: close\r\naccept: {accept}\r\n\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: 3\r\n\r\n0=x"
        )
    };
    let answer = read_all(&mut service.send(&post("text/html")).await).await;
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("text/html"), "{answer}");
    let answer = read_all(&mut service.send(&post("application/json")).await).await;
    assert!(answer.starts_with("HTTP/1.1 422 "), "{answer}");
}
