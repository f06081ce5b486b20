//! The child `receive`: a webhook receiver of axum, in one of its variants. One thread for requests, and
//! where there is a store, one for it, all on one core.

use std::convert::Infallible;
use std::io::Read;
use std::net::Ipv4Addr;
use std::path::Path;

use axum::Router;
use axum::extract::{FromRef, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, post};
use axum::serve::ListenerExt;
use bytes::Bytes;
use formsvc_receiver::inbox::{DedupeResult, Inbox, InboxError, MemoryInbox, Queue, SqliteInbox};
use formsvc_receiver::{SubmissionCreated, Verified, Verifier, process_once};
use tokio::net::TcpListener;

use super::Listening;
use super::log::{Log, SeenLog};
use crate::args::{Receive, Receiving};
use crate::error::BenchError;
use crate::signed::SECRET;
use crate::{child, pin};

/// Keys that the inbox in memory has room for: more than a measurement brings.
const CAPACITY: usize = 10_000_000;

pub(crate) fn run(args: &Receive) -> Result<(), BenchError> {
    pin::to_core(pin::SERVER)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|why| BenchError::io("cannot start", why))?;
    let router = router(args.variant, &args.file)?;
    let addr = runtime.block_on(runtime.spawn(listen(router)));
    let addr = addr.map_err(|why| BenchError::because("the receiver panicked", why))??;
    child::print_json(&addr)?;
    // The benchmark closes it when it is done, or gone.
    let _ = std::io::stdin().read(&mut [0]);
    runtime.shutdown_background();
    Ok(())
}

async fn listen(router: Router) -> Result<Listening, BenchError> {
    let failed = |why| BenchError::io("cannot listen", why);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(failed)?;
    let addr = listener.local_addr().map_err(failed)?;
    // Without it the last segment may wait.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(Listening { addr })
}

/// What a handler has.
#[derive(Clone)]
struct App<S> {
    verifier: Verifier,
    store: S,
}

impl<S> FromRef<App<S>> for Verifier {
    fn from_ref(app: &App<S>) -> Self {
        app.verifier.clone()
    }
}

fn router(variant: Receiving, file: &Path) -> Result<Router, BenchError> {
    let verifier = Verifier::new(SECRET).map_err(|why| BenchError::caused("no verifier", &why))?;
    let no_inbox = |why: InboxError| BenchError::caused("no inbox", &why);
    let sqlite = || SqliteInbox::open(file).map_err(no_inbox);
    Ok(match variant {
        Receiving::Body => routed(post(body), ()),
        Receiving::Verified => routed(post(verified), verifier),
        Receiving::Memory => {
            let store = MemoryInbox::builder().capacity(CAPACITY).build().map_err(no_inbox)?;
            routed(post(once), App { verifier, store })
        }
        Receiving::Sqlite => routed(post(once), App { verifier, store: sqlite()? }),
        Receiving::SqliteQueue => routed(post(kept), App { verifier, store: sqlite()? }),
        Receiving::Log => routed(post(logged), Log::create(file)?),
        Receiving::SeenLog => {
            let store = SeenLog::create(file)?;
            routed(post(logged_once), App { verifier, store })
        }
    })
}

fn routed<S: Clone + Send + Sync + 'static>(handler: MethodRouter<S>, state: S) -> Router {
    Router::new().route("/hook", handler).with_state(state)
}

/// The floor.
async fn body(_: Bytes) -> StatusCode {
    StatusCode::OK
}

async fn verified(_: Verified<SubmissionCreated>) -> StatusCode {
    StatusCode::OK
}

/// Handles each submission once, before the answer; there is nothing to do.
async fn once<I: Inbox>(
    State(app): State<App<I>>,
    submission: Verified<SubmissionCreated>,
) -> impl IntoResponse {
    process_once(app.store, submission, |_, _| async { Ok::<(), Infallible>(()) }).await
}

/// Keeps each submission, to be handled later.
async fn kept(
    State(app): State<App<SqliteInbox>>,
    submission: Verified<SubmissionCreated>,
) -> Result<StatusCode, InboxError> {
    let key = submission.submission_id.as_str();
    let (DedupeResult::New | DedupeResult::Duplicate) =
        app.store.accept(key, submission.body()).await?;
    Ok(StatusCode::OK)
}

async fn logged(State(log): State<Log>, body: Bytes) -> StatusCode {
    status(log.append(body).await)
}

async fn logged_once(
    State(app): State<App<SeenLog>>,
    submission: Verified<SubmissionCreated>,
) -> StatusCode {
    status(app.store.append(submission.submission_id.as_str()).await)
}

fn status(is_kept: bool) -> StatusCode {
    if is_kept { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }
}
