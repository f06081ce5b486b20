//! A receiver that answers at once and works later: it keeps each delivery in a SQLite file, durably,
//! and answers; a worker takes from there, and has what failed come again.
//!
//! ```sh
//! FORMSVC_SIGNING_SECRET=whsec_… cargo run -p formsvc-receiver --example worker \
//!     -- --port 9000 --database queue.db
//! ```
//!
//! The way to go when the work takes longer than the ten seconds the service waits (SPEC §6), or needs
//! what can be down for longer than the service goes on trying.

#![expect(clippy::print_stdout, reason = "it is how an example tells what happens")]

mod support;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{FromRef, State};
use axum::http::StatusCode;
use axum::routing::post;
use formsvc_receiver::inbox::{DEFAULT_LEASE, InboxError, Pending, Queue, Recorded, SqliteInbox};
use formsvc_receiver::{Event, SubmissionCreated, Verifier, Webhook, process_next};
use tokio::net::TcpListener;
use tokio::sync::Notify;

use support::End;

/// The service waits so long for an answer (SPEC §6); nobody else may take longer for a body either.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// Between two questions to a queue that had nothing, or did not answer.
const IDLE: Duration = Duration::from_secs(1);

#[derive(Clone)]
struct App {
    verifier: Verifier,
    queue: SqliteInbox,
    arrived: Arc<Notify>,
}

impl FromRef<App> for Verifier {
    fn from_ref(app: &App) -> Self {
        app.verifier.clone()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let verifier = Verifier::builder()
        .secret(support::secret()?)
        .read_timeout(TIME_LIMIT, tokio::time::sleep)
        .build()?;
    let database = support::argument("--database").unwrap_or_else(|| "queue.db".to_owned());
    let queue = SqliteInbox::open(database)?;
    let end = End::from_arguments()?;
    let app = App { verifier, queue, arrived: Arc::default() };

    let worker = tokio::spawn(work(app.queue.clone(), Arc::clone(&app.arrived), end.clone()));
    let router = Router::new().route("/", post(hook)).with_state(app);
    let listener = TcpListener::bind(support::address()?).await?;
    println!("listening on http://{}/", listener.local_addr()?);
    axum::serve(listener, router).with_graceful_shutdown(end.reached()).await?;
    // What it has not done is in the file, for the next start.
    worker.abort();
    Ok(())
}

/// Keeps what was verified, and answers.
async fn hook(
    State(app): State<App>,
    Webhook(submission): Webhook<SubmissionCreated>,
) -> Result<StatusCode, InboxError> {
    let key = submission.submission_id.as_str();
    // New, or there already: it is kept, and that is all the service wants to know.
    let (Recorded::New | Recorded::Duplicate) = app.queue.accept(key, submission.body()).await?;
    app.arrived.notify_one();
    Ok(StatusCode::OK)
}

/// Takes from the queue, one after the other, for ever. Any number of workers may.
async fn work(queue: SqliteInbox, arrived: Arc<Notify>, end: End) {
    loop {
        // Again after 2, 4, 8 … seconds, and at last every hour.
        let pause = |attempts: u32| Duration::from_secs(1 << attempts.min(11));
        match process_next(&queue, DEFAULT_LEASE, pause, handle).await {
            Ok(Some(outcome)) if outcome.is_success() => end.count_one(),
            // It is due again after its pause, and others are due before.
            Ok(Some(_)) => {}
            // Something arrives, or the pause of something ends.
            Ok(None) => {
                let _ = tokio::time::timeout(IDLE, arrived.notified()).await;
            }
            // The store fails, and can do so at once each time it is asked.
            Err(error) => {
                println!("the queue does not answer: {error}");
                tokio::time::sleep(IDLE).await;
            }
        }
    }
}

/// What a receiver is for, with all the time it needs.
async fn handle(pending: Pending) -> Result<(), Box<dyn Error + Send + Sync>> {
    // Only what was verified was kept.
    let event = Event::from_json(pending.payload)?;
    // Debug writing, since what others wrote can hold what makes a terminal act.
    println!("attempt {}: {:?}", pending.attempts, event.as_json());
    Ok(())
}
