//! Handles each submission once with axum. Handled submissions are remembered in `inbox.db`.

use axum::{Router, extract::FromRef, extract::State, response::IntoResponse, routing::post};
use formsvc_receiver::inbox::{ClaimToken, SqliteInbox};
use formsvc_receiver::{SubmissionCreated, Verified, Verifier, process_once};

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

async fn hook(State(app): State<App>, delivery: Verified<SubmissionCreated>) -> impl IntoResponse {
    process_once(app.inbox, delivery, handle)
        .inspect_failure(|failure| eprintln!("{failure}"))
        .await
}

async fn handle(new: Verified<SubmissionCreated>, _claim: ClaimToken) -> std::io::Result<()> {
    println!("{} {:?}", new.submission_id, new.data.as_json());
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let verifier = Verifier::new(std::env::var("FORMSVC_SIGNING_SECRET")?)?;
    let app = App { verifier, inbox: SqliteInbox::open("inbox.db")? };
    let address = std::env::var("LISTEN").unwrap_or("127.0.0.1:9000".into());
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    Ok(axum::serve(listener, Router::new().route("/", post(hook)).with_state(app)).await?)
}
