//! The child `deliver`: makes deliveries until there are none left, in one of its variants.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use formsvc_protocol::signature::{SigningSecret, sign};
use formsvc_protocol::{Answers, FormId, WebhookEvent};
use formsvc_server::delivery::Deliveries;
use formsvc_server::egress::{DeliveryClient, DeliveryRequest, EndpointUrl};
use formsvc_server::store::{
    Attempt, ClaimRequest, Claimed, EndpointNo, Lane, Settled, Settlement, Store, Verdict, Want,
    system_clock,
};
use http::HeaderValue;
use tokio::sync::{Mutex, mpsc};

use super::{AT_A_TIME, Drained, client, equipment, skeleton};
use crate::args::{Deliver, Draining};
use crate::database::{self, TITLE};
use crate::error::BenchError;
use crate::left::Left;
use crate::{child, pin};

/// Different bodies that the client posts in turn when there is no store.
pub(super) const BODIES: u64 = 2_000;

pub(crate) fn run(args: &Deliver) -> Result<(), BenchError> {
    pin::to_core(pin::SERVER)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|why| BenchError::io("cannot start", why))?;
    let (path, sink, count) = (args.database.clone(), args.sink.clone(), args.count);
    let variant = args.variant;
    let drained = runtime.block_on(runtime.spawn(async move {
        match variant {
            Draining::Engine => engine(&path, count).await,
            Draining::Client => bare(&sink, count).await,
            Draining::Alone => alone(&path, &sink, count).await,
            Draining::Skeleton => skeleton::drain(&path, &sink, count).await,
        }
    }));
    let drained = drained.map_err(|why| BenchError::because("deliveries panicked", why))??;
    runtime.shutdown_background();
    child::print_json(&drained)
}

/// What is measured from here on.
pub(super) struct Mark(Instant, f64);

impl Mark {
    pub(super) fn now() -> Result<Self, BenchError> {
        Ok(Self(Instant::now(), crate::startup::own_cpu()?))
    }

    pub(super) fn drained(&self) -> Result<Drained, BenchError> {
        let cpu = crate::startup::own_cpu()? - self.1;
        Ok(Drained { seconds: self.0.elapsed().as_secs_f64(), cpu })
    }
}

/// The service's engine, until the queue is empty.
async fn engine(path: &Path, count: u64) -> Result<Drained, BenchError> {
    let store: Arc<dyn Store> = Arc::new(database::open(path)?);
    let vault = database::vault(path)?;
    let left = Left::of_the_service(path);
    let mark = Mark::now()?;
    let deliveries = Deliveries::start(equipment(Arc::clone(&store), vault, AT_A_TIME));
    left.wait().await?;
    let drained = mark.drained()?;
    left.check(count)?;
    deliveries.stop(Duration::from_secs(10)).await;
    Ok(drained)
}

/// The client alone: bodies that are there, signed when they are sent.
async fn bare(sink: &str, count: u64) -> Result<Drained, BenchError> {
    let post = Arc::new(Post::new(sink)?);
    let bodies: Arc<Vec<Bytes>> = Arc::new((0..BODIES).map(body).collect());
    let next = Arc::new(AtomicU64::new(0));
    let mark = Mark::now()?;
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..AT_A_TIME {
        let (post, bodies, next) = (Arc::clone(&post), Arc::clone(&bodies), Arc::clone(&next));
        workers.spawn(async move {
            let mut at = next.fetch_add(1, Ordering::Relaxed);
            while at < count {
                let which = usize::try_from(at % BODIES).expect("there are few bodies");
                post.send(bodies[which].clone()).await?;
                at = next.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        });
    }
    let all: Result<Vec<()>, BenchError> = workers.join_all().await.into_iter().collect();
    all?;
    mark.drained()
}

/// Claims in groups, and a commit for each outcome, which the worker waits for.
async fn alone(path: &Path, sink: &str, count: u64) -> Result<Drained, BenchError> {
    let post = Arc::new(Post::new(sink)?);
    let store: Arc<dyn Store> = Arc::new(database::open(path)?.with_batch_max(1));
    let mark = Mark::now()?;
    let (claimed, waiting) = mpsc::channel::<Claimed>(1);
    let waiting = Arc::new(Mutex::new(waiting));
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..AT_A_TIME {
        let (post, store) = (Arc::clone(&post), Arc::clone(&store));
        let waiting = Arc::clone(&waiting);
        workers.spawn(async move {
            loop {
                let next = waiting.lock().await.recv().await;
                let Some(claimed) = next else { return Ok(()) };
                deliver_alone(&*store, &post, claimed).await?;
            }
        });
    }
    let mut left = count;
    while left > 0 {
        let wanted = u32::try_from(left).unwrap_or(u32::MAX).min(AT_A_TIME);
        let claims = store.claim(claim_request(wanted)).await;
        let claims = claims.map_err(|why| BenchError::caused("cannot claim", &why))?.deliveries;
        if claims.is_empty() {
            return Err(BenchError::new("there is nothing left to claim"));
        }
        left -= u64::try_from(claims.len()).unwrap_or(u64::MAX).min(left);
        for claim in claims {
            // A worker that ended says why.
            let _ = claimed.send(claim).await;
        }
    }
    drop(claimed);
    let all: Result<Vec<()>, BenchError> = workers.join_all().await.into_iter().collect();
    all?;
    mark.drained()
}

/// A request for deliveries that were never attempted, to the one endpoint there is.
pub(super) fn claim_request(count: u32) -> ClaimRequest {
    let wants = vec![Want { endpoint: EndpointNo(1), lane: Lane::Fresh, count }];
    ClaimRequest { wants, lease: Duration::from_secs(60), bytes_max: 8 << 20 }
}

/// What is recorded of a delivery that succeeded.
pub(super) fn delivered(claimed: &Claimed) -> Settlement {
    let attempt = Attempt {
        started_at: system_clock()(),
        duration: Duration::from_micros(321),
        status: Some(200),
        error: None,
        detail: None,
        address: Some("127.0.0.1:12345".to_owned()),
        snippet: Bytes::new(),
        resend: false,
    };
    let (key, lease) = (claimed.key, claimed.lease);
    Settlement { key, lease, verdict: Verdict::Delivered, attempt: Some(attempt) }
}

async fn deliver_alone(store: &dyn Store, post: &Post, claimed: Claimed) -> Result<(), BenchError> {
    let event = WebhookEvent::submission_created(
        claimed.submission.clone(),
        claimed.endpoint.form.clone(),
        claimed.form_title.clone(),
        Answers::parse(String::from_utf8_lossy(&claimed.data).into_owned())
            .map_err(|why| BenchError::caused("no answers", &why))?,
        claimed.created_at.clone(),
    );
    let body = serde_json::to_vec(&event).map_err(|why| BenchError::because("no JSON", why))?;
    post.send(body.into()).await?;
    let settled = store.settle(vec![delivered(&claimed)]).await;
    let settled = settled.map_err(|why| BenchError::caused("cannot settle", &why))?;
    if settled != [Settled::Kept] {
        return Err(BenchError::new("a claim was lost"));
    }
    Ok(())
}

/// The service's client, and what it signs with.
pub(super) struct Post {
    client: DeliveryClient,
    url: EndpointUrl,
    secret: SigningSecret,
}

impl Post {
    pub(super) fn new(sink: &str) -> Result<Self, BenchError> {
        let url = sink.parse().map_err(|why| BenchError::caused("no endpoint", &why))?;
        let secret = SigningSecret::new(&"whsec_bench".into()).expect("it is not empty");
        Ok(Self { client: client(AT_A_TIME), url, secret })
    }

    pub(super) async fn send(&self, body: Bytes) -> Result<(), BenchError> {
        let now = u64::try_from(system_clock()().micros() / 1_000_000).unwrap_or_default();
        let signature = sign([&self.secret], now, &body);
        let request = DeliveryRequest {
            url: &self.url,
            event: HeaderValue::from_static("submission.created"),
            signature: HeaderValue::try_from(signature).expect("digits and commas"),
            body,
            deadline: tokio::time::Instant::now() + Duration::from_secs(10),
        };
        let answer = self.client.post(request).await;
        let answer = answer.map_err(|why| BenchError::caused("not delivered", &why))?;
        if answer.status.is_success() {
            return Ok(());
        }
        Err(BenchError::because("the sink answered", answer.status))
    }
}

/// A body as the engine sends it.
pub(super) fn body(place: u64) -> Bytes {
    let event = WebhookEvent::submission_created(
        database::id_at(place),
        FormId::new("frm_bench").expect("letters"),
        TITLE,
        Answers::parse(database::answers(place)).expect("one JSON object"),
        system_clock()().to_timestamp(),
    );
    serde_json::to_vec(&event).expect("an event is JSON").into()
}
