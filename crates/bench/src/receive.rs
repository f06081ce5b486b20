//! The receiver SDK, as a user would set it up: the hidden subcommand `receive`, and the verifier.

use std::convert::Infallible;
use std::io::Read;
use std::net::Ipv4Addr;
use std::path::Path;

use axum::Router;
use axum::extract::{FromRef, State};
use axum::response::IntoResponse;
use axum::routing::post;
use axum::serve::ListenerExt;
use formsvc_receiver::inbox::{ClaimToken, SqliteInbox};
use formsvc_receiver::{SubmissionCreated, Verified, Verifier, process_once};
use tokio::net::TcpListener;

use crate::delivery::SECRET;
use crate::error::{BenchError, Context};
use crate::load;
use crate::process::{Listening, print_json};

/// Returns a verifier with the secret of the benchmark's deliveries.
pub(crate) fn verifier() -> Result<Verifier, BenchError> {
    Verifier::new(SECRET).context("cannot make a verifier")
}

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

/// Receives webhooks until standard input ends. Prints the address first.
pub(crate) fn run(database: &Path) -> Result<(), BenchError> {
    let inbox = SqliteInbox::open(database).context("cannot open the inbox")?;
    let router = Router::new().route("/hook", post(receive));
    let router = router.with_state(App { verifier: verifier()?, inbox });
    load::runtime()?.block_on(async {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("cannot listen")?;
        print_json(&Listening { addr: listener.local_addr().context("cannot listen")? })?;
        let listener = listener.tap_io(|stream| {
            // A connection without this option works too, only slower.
            let _ = stream.set_nodelay(true);
        });
        let input_ends = tokio::task::spawn_blocking(|| std::io::stdin().read(&mut [0]));
        tokio::select! {
            served = axum::serve(listener, router) => served.context("cannot serve"),
            _ = input_ends => Ok(()),
        }
    })
}

/// Verifies a delivery and handles each submission once; the handler has nothing to do.
async fn receive(
    State(app): State<App>,
    delivery: Verified<SubmissionCreated>,
) -> impl IntoResponse {
    process_once(app.inbox, delivery, handle).await
}

async fn handle(
    _submission: Verified<SubmissionCreated>,
    _claim: ClaimToken,
) -> Result<(), Infallible> {
    Ok(())
}
