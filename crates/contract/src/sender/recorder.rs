//! A receiver that records deliveries of this run and answers by plan.

use std::error::Error;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use formsvc_protocol::Timestamp;
use formsvc_protocol::limits::SIGNATURE_TOLERANCE;
use formsvc_protocol::signature::{HEADER, SignatureHeader, SigningSecret};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::{AbortHandle, JoinSet};

/// Largest body that is recorded.
const BODY_MAX: usize = 1 << 20;
/// Connections at a time.
const CONNECTIONS_MAX: usize = 64;
/// Pause after an error of `accept`, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Attempts that are recorded; more are answered and forgotten.
const ATTEMPTS_MAX: usize = 64;

/// A received attempt.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    pub(super) at: Instant,
    /// The receiver's clock.
    pub(super) unix: Duration,
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// True if the signature verifies, whatever its time.
    pub(super) is_signed: bool,
    /// The answer; `None` if the connection was closed instead.
    pub(super) answer: Option<StatusCode>,
}

/// The attempts of each submission, in the order of their first arrival.
pub(super) type Submissions = Vec<Vec<Attempt>>;

/// Listens until it is dropped.
pub(super) struct Recorder {
    state: Arc<State>,
    changed: watch::Receiver<()>,
    serving: AbortHandle,
}

struct State {
    secrets: Vec<SigningSecret>,
    /// Older submissions are not of this run.
    oldest: i128,
    recorded: Mutex<Recorded>,
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct Recorded {
    /// Attempts of submissions of which the first was signed. Others are forged if there are any.
    signed: Vec<(String, Vec<Attempt>)>,
    unsigned: Vec<(String, Vec<Attempt>)>,
    ignored: usize,
}

impl Recorder {
    /// `timeout` is the time limit of a request's head, and of its body.
    pub(super) fn start(
        listener: TcpListener,
        secrets: Vec<SigningSecret>,
        timeout: Duration,
    ) -> Self {
        let (sender, changed) = watch::channel(());
        let tolerance = SIGNATURE_TOLERANCE.as_nanos().cast_signed();
        let oldest = Timestamp::now().unix_nanos() - tolerance;
        let state = State { secrets, oldest, recorded: Mutex::default(), changed: sender };
        let state = Arc::new(state);
        let serving = tokio::spawn(serve(listener, Arc::clone(&state), timeout)).abort_handle();
        Self { state, changed, serving }
    }

    pub(super) fn submissions(&self) -> Submissions {
        let recorded = self.state.lock();
        let are_signed = !recorded.signed.is_empty();
        let shown = if are_signed { &recorded.signed } else { &recorded.unsigned };
        shown.iter().map(|(_, attempts)| attempts.clone()).collect()
    }

    /// Returns the number of requests that are not attempts of the submissions.
    pub(super) fn ignored(&self) -> usize {
        let recorded = self.state.lock();
        let are_signed = !recorded.signed.is_empty();
        let forged = recorded.unsigned.iter().map(|(_, attempts)| attempts.len()).sum::<usize>();
        recorded.ignored + if are_signed { forged } else { 0 }
    }

    /// Waits until the recorded attempts fulfil a condition. Returns false if the time ends before.
    pub(super) async fn wait_until(
        &self,
        until: tokio::time::Instant,
        condition: impl Fn(&Submissions) -> bool,
    ) -> bool {
        let mut changed = self.changed.clone();
        let met = changed.wait_for(|()| condition(&self.submissions()));
        tokio::time::timeout_at(until, met).await.is_ok()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: TcpListener, state: Arc<State>, timeout: Duration) {
    let mut connections = JoinSet::new();
    let free = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    while let Ok(place) = Arc::clone(&free).acquire_owned().await {
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let state = Arc::clone(&state);
        connections.spawn(async move {
            let service = service_fn(|request| receive(request, &state, timeout));
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(timeout);
            // Fails if the sender closes the connection, or the plan does.
            let _ = http.serve_connection(TokioIo::new(stream), service).await;
            drop(place);
        });
    }
}

async fn receive(
    request: Request<Incoming>,
    state: &State,
    timeout: Duration,
) -> io::Result<Response<Empty<Bytes>>> {
    let (head, body) = request.into_parts();
    let body = tokio::time::timeout(timeout, read_body(body)).await?.map_err(io::Error::other)?;
    let answer = state.record(head, body);
    // An error closes the connection without an answer.
    let status = answer.ok_or_else(|| io::Error::other("closed by plan"))?;
    let mut response = Response::new(Empty::new());
    *response.status_mut() = status;
    Ok(response)
}

/// Copies a body into one buffer, because a chunk that is kept keeps the buffer that it was read into.
async fn read_body<B>(body: B) -> Result<Bytes, Box<dyn Error + Send + Sync>>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let mut body = Limited::new(body, BODY_MAX);
    let mut whole = Vec::new();
    while let Some(frame) = body.frame().await {
        if let Ok(chunk) = frame?.into_data() {
            whole.extend_from_slice(&chunk);
        }
    }
    Ok(whole.into())
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Recorded> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records an attempt, if it is one of a delivery of this run. Returns the answer.
    fn record(&self, head: http::request::Parts, body: Bytes) -> Option<StatusCode> {
        let (at, now) = (Instant::now(), SystemTime::now());
        let (method, headers) = (head.method, head.headers);
        let is_signed = is_signed(&headers, &body, &self.secrets);
        let json: Option<serde_json::Value> = serde_json::from_slice(&body).ok();
        let text = |name: &str| json.as_ref()?.get(name)?.as_str();
        // Signed attempts without an id belong to one submission.
        let id = text("submission_id").or(is_signed.then_some(""));
        let created = text("created_at").and_then(|time| time.parse::<Timestamp>().ok());
        let is_new = created.map_or(is_signed, |created| created.unix_nanos() >= self.oldest);
        let mut recorded = self.lock();
        let Recorded { signed, unsigned, ignored } = &mut *recorded;
        let is_known = id.is_some_and(|id| signed.iter().any(|(known, _)| known == id));
        let list = if is_signed || is_known { signed } else { unsigned };
        let total: usize = list.iter().map(|(_, attempts)| attempts.len()).sum();
        let Some(id) = id.filter(|_| is_new && total < ATTEMPTS_MAX) else {
            *ignored += 1;
            return Some(StatusCode::OK);
        };
        let place = list.iter().position(|(known, _)| known == id);
        let place = place.unwrap_or_else(|| {
            list.push((id.to_owned(), Vec::new()));
            list.len() - 1
        });
        let attempts = &mut list[place].1;
        let answer = plan(place, attempts.len());
        let unix = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        attempts.push(Attempt { at, unix, method, headers, body, is_signed, answer });
        drop(recorded);
        self.changed.send_replace(());
        answer
    }
}

/// Returns the only signature header, if it is well-formed.
pub(super) fn signature(headers: &HeaderMap) -> Option<SignatureHeader<'_>> {
    let mut values = headers.get_all(HEADER).iter();
    let value = values.next().filter(|_| values.next().is_none())?;
    SignatureHeader::parse(value.as_bytes()).ok()
}

fn is_signed(headers: &HeaderMap, body: &[u8], secrets: &[SigningSecret]) -> bool {
    signature(headers).is_some_and(|header| {
        header.verify(body, secrets, header.unix_seconds(), Duration::ZERO).is_ok()
    })
}

/// The answer to an attempt of a submission, both counted from 0; `None` closes the connection.
fn plan(submission: usize, attempt: usize) -> Option<StatusCode> {
    match (submission, attempt) {
        (1, 0) => Some(StatusCode::BAD_REQUEST),
        (1, 1) => None,
        (1, _) | (2, 0) => Some(StatusCode::SERVICE_UNAVAILABLE),
        // Any 2xx is a success.
        _ => Some(StatusCode::ACCEPTED),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use formsvc_protocol::signature::sign;
    use futures_util::stream;
    use http_body_util::StreamBody;
    use hyper::body::Frame;
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpStream;

    use super::*;

    #[tokio::test]
    async fn stalled_connections_do_not_end_the_receiver() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let secret = SigningSecret::new("whsec_1").unwrap();
        let recorder = Recorder::start(listener, vec![secret.clone()], Duration::from_millis(200));
        let mut stalled = Vec::new();
        for number in 0..2 * CONNECTIONS_MAX {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let part = ["", "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n{"][number % 2];
            stream.write_all(part.as_bytes()).await.unwrap();
            stalled.push(stream);
        }
        let body = r#"{"submission_id":"sub_1"}"#;
        let request = format!(
            "POST / HTTP/1.1\r\n{HEADER}: {}\r\nContent-Length: {}\r\n\r\n{body}",
            sign([&secret], 1, body.as_bytes()),
            body.len(),
        );
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let until = tokio::time::Instant::now() + Duration::from_secs(20);
        assert!(recorder.wait_until(until, |submissions| submissions.len() == 1).await);
        assert_eq!(recorder.ignored(), 0);
    }

    /// A read buffer with one byte, and a reference to the counter.
    struct Buffer(#[expect(dead_code, reason = "counted")] Arc<AtomicUsize>);

    impl AsRef<[u8]> for Buffer {
        fn as_ref(&self) -> &[u8] {
            b"a"
        }
    }

    #[tokio::test]
    async fn scattered_body_keeps_one_read_buffer() {
        let peak = Arc::<AtomicUsize>::default();
        let counter = Arc::clone(&peak);
        let frame = move |_| {
            let buffer = Buffer(Arc::clone(&counter));
            counter.fetch_max(Arc::strong_count(&counter), Ordering::Relaxed);
            Ok::<_, Infallible>(Frame::data(Bytes::from_owner(buffer)))
        };
        let body = read_body(StreamBody::new(stream::iter((0..1_000).map(frame)))).await;
        assert_eq!(body.unwrap(), [b'a'; 1_000].as_slice());
        let references = peak.load(Ordering::Relaxed);
        assert_eq!(references, 3, "those of the test, the body and one buffer");
    }
}
