//! Receives webhooks: verifies each delivery, handles each submission once, and answers.
//!
//! ```sh
//! FORMSVC_SIGNING_SECRET=whsec_... cargo run -p formsvc-contract --example receiver -- [PORT]
//! ```
//!
//! Handled submissions are recorded in the file `FORMSVC_INBOX`, by default
//! `~/.local/state/webhook-receiver/rust.db`. Your own project needs
//! `formsvc-receiver` with the features `axum` and `sqlite`, `axum`, and `tokio` with `macros`, `net`
//! and `rt-multi-thread`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example prints its result")]

use std::error::Error;
use std::path::PathBuf;

use axum::Router;
use axum::extract::{FromRef, State};
use axum::response::IntoResponse;
use axum::routing::post;
use formsvc_receiver::inbox::{ClaimToken, SqliteInbox};
use formsvc_receiver::{SubmissionCreated, Verified, Verifier, process_once};
use tokio::net::TcpListener;

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

/// Handles a submission. After an error the service repeats the delivery. For work that takes longer than a few
/// seconds, see `inbox::Queue`.
async fn handle(
    submission: Verified<SubmissionCreated>,
    _claim: ClaimToken,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    // Debug escapes control characters, which would act on the terminal. A submission can have a megabyte.
    let shown = |text: &str| format!("{text:?}").chars().take(200).collect::<String>();
    println!("{} {}", shown(submission.submission_id.as_str()), shown(submission.data.as_json()));
    Ok(())
}

async fn hook(
    State(app): State<App>,
    // Refused unless the signature is valid and current. A body has at most 1 MiB.
    submission: Verified<SubmissionCreated>,
) -> impl IntoResponse {
    // The handler completes even if the sender disconnects.
    process_once(app.inbox, submission, handle)
        .inspect_failure(|failure| eprintln!("{failure}"))
        .await
}

/// Returns the path of the file that records handled submissions.
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
    let verifier = Verifier::new(secret)?;
    let inbox = inbox()?;
    let app = App { verifier, inbox: SqliteInbox::open(inbox)? };
    let router = Router::new().route("/", post(hook)).with_state(app);
    let port = std::env::args().nth(1).map_or(Ok(9000), |port| port.parse::<u16>())?;
    // Listens on loopback only: the proxy in front of it handles HTTPS.
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    println!("listening on http://{}/", listener.local_addr()?);
    axum::serve(listener, router).await?;
    Ok(())
}
