//! A receiver of axum that handles each submission once: what was handled is remembered in a SQLite
//! file, durably, before the service is told so.
//!
//! ```sh
//! FORMSVC_SIGNING_SECRET=whsec_… cargo run -p formsvc-receiver --example axum_sqlite \
//!     -- --port 9000 --database inbox.db
//! ```

#![expect(clippy::print_stdout, reason = "it is how an example tells what happens")]

mod support;

use std::error::Error;
use std::time::Duration;

use axum::Router;
use axum::extract::{FromRef, State};
use axum::response::IntoResponse;
use axum::routing::post;
use formsvc_receiver::inbox::{DEFAULT_LEASE, SqliteInbox};
use formsvc_receiver::{SubmissionCreated, Verified, Verifier, Webhook, process_once_detached};
use tokio::net::TcpListener;

use support::End;

/// The service waits so long for an answer (SPEC §6); nobody else may take longer for a body either.
const TIME_LIMIT: Duration = Duration::from_secs(10);

#[derive(Clone)]
struct App {
    verifier: Verifier,
    inbox: SqliteInbox,
    end: End,
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
    let database = support::argument("--database").unwrap_or_else(|| "inbox.db".to_owned());
    let inbox = SqliteInbox::open(database)?;
    let end = End::from_arguments()?;
    let app = App { verifier, inbox, end: end.clone() };
    let router = Router::new().route("/", post(hook)).with_state(app);

    let listener = TcpListener::bind(support::address()?).await?;
    println!("listening on http://{}/", listener.local_addr()?);
    axum::serve(listener, router).with_graceful_shutdown(end.reached()).await?;
    Ok(())
}

async fn hook(
    State(app): State<App>,
    Webhook(submission): Webhook<SubmissionCreated>,
) -> impl IntoResponse {
    // In a task of its own: a sender that hangs up ends the waiting, and not the handler half way.
    let handler = |submission, _claim| handle(submission);
    let outcome = process_once_detached(app.inbox, submission, DEFAULT_LEASE, handler).await;
    if outcome.is_success() {
        app.end.count_one();
    }
    outcome
}

/// What a receiver is for. An error has the service send the submission again.
#[expect(clippy::unused_async, reason = "what a real handler does is nearly always async")]
async fn handle(
    submission: Verified<SubmissionCreated>,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    // Debug writing, since what others wrote can hold what makes a terminal act.
    println!("{:?}: {:?}", submission.form_title, submission.data.as_json());
    Ok(())
}
