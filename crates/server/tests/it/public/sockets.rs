//! Over real connections.

use std::sync::Arc;
use std::time::Duration;

use formsvc_protocol::PublicId;
use formsvc_server::admin::{Admin, FormOptions};
use formsvc_server::public::PublicOptions;
use formsvc_server::serve::{Running, ServeOptions, Server};
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{Store, system_clock};
use secrecy::ExposeSecret;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Longer than anything here takes, so that a hang fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(60);

struct Site {
    running: Running,
    bearer: String,
    form: String,
}

impl Site {
    async fn new(public: PublicOptions) -> Self {
        let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory(system_clock()).unwrap());
        let admin = Admin::new(Arc::clone(&store));
        let user = admin.create_user("owner@example.org", "Owner").await.unwrap();
        let key = admin.create_key(&user.id, "tests").await.unwrap();
        let public_id = Some(PublicId::new("form").unwrap());
        let options = FormOptions { public_id, ..FormOptions::titled("Form") };
        let form = admin.create_form(&user.id, options).await.unwrap();
        let options = ServeOptions { public, ..Default::default() };
        let running = Server::bind(options, store).await.unwrap();
        let bearer = key.secret.expose_secret().to_owned();
        Self { running, bearer, form: form.id.to_string() }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.running.local_addr()).await.unwrap()
    }

    /// Sends bytes, ends, and reads to the end.
    async fn exchange(&self, request: &str) -> String {
        let mut stream = self.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        read_all(&mut stream).await
    }

    /// What the API has of the form.
    async fn page(&self) -> String {
        let (form, bearer) = (&self.form, &self.bearer);
        self.exchange(&format!(
            "GET /api/v1/forms/{form}/submissions HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
             authorization: Bearer {bearer}\r\n\r\n"
        ))
        .await
    }
}

async fn read_all(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A reset after the response counts as the end.
    let _ = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.unwrap();
    String::from_utf8(bytes).unwrap()
}

fn post(headers: &str, body: &str) -> String {
    format!(
        "POST /f/form HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
         content-type: application/x-www-form-urlencoded\r\n{headers}\r\n{body}"
    )
}

#[tokio::test]
async fn a_submission_reaches_the_api_as_it_was_sent() {
    let site = Site::new(PublicOptions::default()).await;
    let answer = site.exchange(&post("content-length: 19\r\n", "a=Zo%C3%AB+%221.50%22")).await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "cut in the middle of an escape: {answer}");
    let answer = site.exchange(&post("content-length: 21\r\n", "a=Zo%C3%AB+%221.50%22")).await;
    assert!(answer.starts_with("HTTP/1.1 303 ") && answer.contains("location: /f/form/thanks"));
    let chunked = "3\r\nb=1\r\n4\r\n&c=2\r\n0\r\n\r\n";
    let answer = site.exchange(&post("transfer-encoding: chunked\r\n", chunked)).await;
    assert!(answer.starts_with("HTTP/1.1 303 "), "{answer}");
    let page = site.page().await;
    assert!(page.contains(r#""data":{"a":"Zoë \"1.50\""}"#), "{page}");
    assert!(page.contains(r#""data":{"b":"1","c":"2"}"#), "{page}");
}

#[tokio::test]
async fn who_may_not_send_is_not_asked_to_go_on() {
    let site = Site::new(PublicOptions::default()).await;
    let expecting =
        |length: usize| post(&format!("expect: 100-continue\r\ncontent-length: {length}\r\n"), "");
    let answer = site.exchange(&expecting(300_000)).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    let mut stream = site.connect().await;
    stream.write_all(expecting(3).as_bytes()).await.unwrap();
    let mut asked = [0; 25];
    tokio::time::timeout(PATIENCE, stream.read_exact(&mut asked)).await.unwrap().unwrap();
    assert_eq!(&asked, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"a=1").await.unwrap();
    assert!(read_all(&mut stream).await.starts_with("HTTP/1.1 303 "));
}

#[tokio::test]
async fn bodies_beyond_the_limit_of_other_paths_are_read_here_only() {
    let site = Site::new(PublicOptions::default()).await;
    let body = format!("a={}", "x".repeat(100_000));
    let length = format!("content-length: {}\r\n", body.len());
    let answer = site.exchange(&post(&length, &body)).await;
    assert!(answer.starts_with("HTTP/1.1 303 "), "{answer}");
    let elsewhere = post(&length, "").replace("/f/form", "/api/v1/me");
    assert!(site.exchange(&elsewhere).await.starts_with("HTTP/1.1 413 "));
}

#[tokio::test]
async fn a_body_that_is_dribbled_is_cut() {
    let site = Site::new(PublicOptions { body_timeout: SHORT, ..Default::default() }).await;
    let mut stream = site.connect().await;
    stream.write_all(post("content-length: 100000\r\n", "a=").as_bytes()).await.unwrap();
    let (mut reading, mut writing) = stream.split();
    let dribble = async {
        // The server's end shows as a write that is refused.
        while writing.write_all(b"x").await.is_ok() {
            // Sleeps because a client that dribbles is the point.
            tokio::time::sleep(SHORT / 20).await;
        }
    };
    let answer = async {
        let mut bytes = Vec::new();
        let _ = reading.read_to_end(&mut bytes).await;
        String::from_utf8(bytes).unwrap()
    };
    let both = async { tokio::join!(dribble, answer) };
    let ((), answer) = tokio::time::timeout(PATIENCE, both).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(site.page().await.contains(r#""data":[]"#));
}

#[tokio::test]
async fn the_address_of_the_connection_is_counted() {
    let per_address = formsvc_server::rate_limit::RateLimit::per_minute(std::num::NonZeroU32::MIN);
    let from = async |trusted: &str| {
        let trusted_proxies = vec![trusted.parse().unwrap()];
        let site =
            Site::new(PublicOptions { per_address, trusted_proxies, ..Default::default() }).await;
        let request = post("content-length: 3\r\nx-forwarded-for: 198.51.100.1\r\n", "a=1");
        assert!(site.exchange(&request).await.starts_with("HTTP/1.1 303 "));
        site.exchange(&request.replace("198.51.100.1", "198.51.100.2")).await
    };
    let refused = from("192.0.2.0/24").await;
    assert!(refused.starts_with("HTTP/1.1 429 ") && refused.contains("retry-after: "), "{refused}");
    let believed = from("127.0.0.0/8").await;
    assert!(believed.starts_with("HTTP/1.1 303 "), "{believed}");
}

#[tokio::test]
async fn a_connection_goes_on_after_a_submission() {
    let site = Site::new(PublicOptions::default()).await;
    let one = post("content-length: 3\r\n", "a=1").replace("connection: close\r\n", "");
    let answers =
        site.exchange(&format!("{one}{one}{}", post("content-length: 3\r\n", "a=1"))).await;
    assert_eq!(answers.matches("HTTP/1.1 303 ").count(), 3, "{answers}");
}
