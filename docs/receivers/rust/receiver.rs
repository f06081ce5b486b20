//! Receives webhooks: verifies each delivery, handles each submission once, and answers.
//!
//! ```sh
//! FORMSVC_SIGNING_SECRET=whsec_... cargo run -p formsvc-contract --example receiver -- [PORT]
//! ```
//!
//! What was handled is in `~/.local/state/webhook-receiver/rust.db`, or where `FORMSVC_INBOX` says. In a project
//! of your own it needs
//! `formsvc-receiver` with the features `axum` and `sqlite`, `axum`, and `tokio` with `macros`, `net`,
//! `rt-multi-thread` and `time`.

#![expect(clippy::print_stdout, reason = "it is how an example tells what happens")]

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use axum::Router;
use axum::extract::{FromRef, State};
use axum::response::IntoResponse;
use axum::routing::post;
use formsvc_receiver::inbox::{DEFAULT_LEASE, SqliteInbox};
use formsvc_receiver::{SubmissionCreated, Verified, Verifier, Webhook, process_once_detached};
use tokio::net::TcpListener;

/// The service waits so long for an answer (SPEC §6); no sender may take longer for a body either.
const TIME_LIMIT: Duration = Duration::from_secs(10);

#[derive(Clone)]
struct App {
    verifier: Verifier,
    inbox: SqliteInbox,
}

impl FromRef<App> for Verifier {
    fn from_ref(app: &App) -> Self {
        app.verifier.clone()
    }
}

/// What the receiver is for. An error has the service send the submission again. What takes longer than
/// some seconds belongs after the answer: see `inbox::Queue`.
#[expect(clippy::unused_async, reason = "what a real handler does is nearly always async")]
async fn handle(
    submission: Verified<SubmissionCreated>,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    // Debug writing keeps what strangers wrote from acting on the terminal; not all of it, which may be a
    // megabyte.
    let shown = |text: &str| format!("{text:?}").chars().take(200).collect::<String>();
    println!("{} {}", shown(submission.submission_id.as_str()), shown(submission.data.as_json()));
    Ok(())
}

async fn hook(
    State(app): State<App>,
    // Refused unless the signature is right: the raw bytes, of now, up to 1 MiB.
    Webhook(submission): Webhook<SubmissionCreated>,
) -> impl IntoResponse {
    // In a task of its own: a sender that hangs up does not end it half way.
    let handler = |submission, _claim| handle(submission);
    process_once_detached(app.inbox, submission, DEFAULT_LEASE, handler).await
}

/// Where what was handled is kept.
fn inbox() -> Result<PathBuf, Box<dyn Error>> {
    if let Some(path) = std::env::var_os("FORMSVC_INBOX") {
        return Ok(path.into());
    }
    let home = std::env::home_dir().ok_or("set FORMSVC_INBOX to a file")?;
    let folder = home.join(".local/state/webhook-receiver");
    std::fs::create_dir_all(&folder)?;
    Ok(folder.join("rust.db"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let secret = std::env::var("FORMSVC_SIGNING_SECRET")
        .map_err(|_| "set FORMSVC_SIGNING_SECRET to the signing secret of the endpoint")?;
    let verifier = Verifier::builder()
        .secret(secret.into())
        .read_timeout(TIME_LIMIT, tokio::time::sleep)
        .build()?;
    let inbox = inbox()?;
    let app = App { verifier, inbox: SqliteInbox::open(inbox)? };
    let router = Router::new().route("/", post(hook)).with_state(app);
    let port = std::env::args().nth(1).map_or(Ok(9000), |port| port.parse::<u16>())?;
    // This machine alone: what is in front of it speaks HTTPS.
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    println!("listening on http://{}/", listener.local_addr()?);
    axum::serve(listener, router).await?;
    Ok(())
}
