//! The listener with real connections.

mod bodies;
mod connections;
mod deliveries;
mod store;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use formsvc_protocol::signature::{SigningSecret, sign};
use formsvc_receiver::Verifier;
use formsvc_workbench::delivery::Delivery;
use formsvc_workbench::listen::{
    ListenLimits, ListenRules, Listener, ListenerEvent, Refusal, Sockets,
};
use formsvc_workbench::store::{CaptureStore, StoreLimits};
use jiff::Timestamp;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Far longer than any step takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const SECRET: &str = "whsec_1Ja0vTGXn2LQ6Zt9c4Kp8RbY3mDsWfHuEoAiPxNkVgB";

/// A running listener.
struct Running {
    address: SocketAddr,
    listener: Listener,
    events: mpsc::Receiver<ListenerEvent>,
}

fn start(change: impl FnOnce(&mut ListenRules, &mut ListenLimits)) -> Running {
    let (mut rules, mut limits) = (ListenRules::default(), ListenLimits::default());
    change(&mut rules, &mut limits);
    let sockets = Sockets::open(None, 0).unwrap();
    let store =
        CaptureStore::in_memory(StoreLimits { bytes: 1 << 20, age: Duration::MAX }).unwrap();
    let (listener, events) = Listener::start(sockets, rules, limits, store);
    Running { address: listener.address(), listener, events }
}

fn verified(rules: &mut ListenRules) {
    rules.verifier = Some(Verifier::new(SECRET).unwrap());
}

impl Running {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends bytes, and returns all bytes that the listener sends until it closes the connection.
    async fn exchange(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut stream = self.connect().await;
        // The listener may have closed the connection.
        let _ = stream.write_all(bytes.as_ref()).await;
        read_to_end(&mut stream).await
    }

    /// Returns the next delivery.
    async fn delivered(&mut self) -> Arc<Delivery> {
        loop {
            let event = timeout(PATIENCE, self.events.recv()).await.unwrap();
            if let ListenerEvent::Delivered { delivery, .. } = event.unwrap() {
                return delivery;
            }
        }
    }

    /// Ends the listener and returns the remaining deliveries and refusals.
    async fn end(mut self) -> (Vec<Arc<Delivery>>, Vec<Refusal>) {
        self.listener.shutdown(PATIENCE).await;
        let (mut deliveries, mut refusals) = (Vec::new(), Vec::new());
        while let Ok(event) = self.events.try_recv() {
            match event {
                ListenerEvent::Delivered { delivery, .. } => deliveries.push(delivery),
                ListenerEvent::Refused(refused) => refusals.push(refused.refusal),
                ListenerEvent::Warning(warning) => panic!("{warning:?}"),
            }
        }
        (deliveries, refusals)
    }
}

/// Returns the body of an event.
fn event(id: &str) -> String {
    format!(
        r#"{{"event":"submission.created","submission_id":"{id}","form_id":"frm_1","form_title":"T","data":{{}},"created_at":"2026-01-31T09:30:00.000Z"}}"#
    )
}

/// Returns the header of a valid signature.
fn signature(body: &str) -> String {
    let now = u64::try_from(Timestamp::now().as_second()).unwrap();
    let signature = sign([&SigningSecret::new(SECRET).unwrap()], now, body.as_bytes());
    format!("X-Service-Signature: {signature}\r\n")
}

/// Returns a request. `headers` end with a line break.
fn request(path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {length}\r\n\r\n{body}")
}

/// Returns a request after which the connection ends.
fn last_request(headers: &str, body: &str) -> String {
    request("/", &format!("Connection: close\r\n{headers}"), body)
}

async fn read_to_end(stream: &mut TcpStream) -> String {
    let mut response = Vec::new();
    // A connection that is closed before all was read ends with an error.
    let _ = timeout(PATIENCE, stream.read_to_end(&mut response)).await.expect("still open");
    String::from_utf8(response).unwrap()
}

/// Reads until the response contains `text`.
async fn read_until(stream: &mut TcpStream, text: &str) -> String {
    let mut response = Vec::new();
    loop {
        let read = timeout(PATIENCE, stream.read_buf(&mut response)).await.unwrap().unwrap();
        let response = String::from_utf8_lossy(&response);
        assert!(read > 0, "{response}");
        if response.contains(text) {
            return response.into_owned();
        }
    }
}

/// Returns the status of a response; 0 if there is none.
fn status(response: &str) -> u16 {
    response.split(' ').nth(1).map_or(0, |status| status.parse().unwrap())
}

fn code(response: &str) -> &str {
    response.split(r#""code":""#).nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default()
}
