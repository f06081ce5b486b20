//! The receiver of `--demo`, in this process, on loopback.

use std::convert::Infallible;

use axum::Router;
use axum::routing::post;
use formsvc_receiver::inbox::MemoryInbox;
use formsvc_receiver::{SubmissionCreated, Verified, Verifier, process_once};
use secrecy::{ExposeSecret, SecretString};
use tokio::net::TcpListener;
use url::Url;

use crate::error::CliError;
use crate::exit::Exit;

/// Starts a receiver, which ends with the command. Returns its URL and its secret.
pub(super) async fn start_receiver() -> Result<(Url, SecretString), CliError> {
    let failed = |error: &dyn std::error::Error| {
        CliError::new(Exit::LocalIo, "the receiver of `--demo` cannot start").because(error)
    };
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| failed(&error))?;
    let secret: SecretString = format!("whsec_{}", hex::encode(bytes)).into();
    let verifier = Verifier::new(secret.expose_secret()).map_err(|error| failed(&error))?;
    let inbox = MemoryInbox::new();
    let accept = async move |submission: Verified<SubmissionCreated>| {
        process_once(inbox, submission, |_, _| async { Ok::<(), Infallible>(()) }).await
    };
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(|error| failed(&error))?;
    let address = listener.local_addr().map_err(|error| failed(&error))?;
    let url = format!("http://{address}/").parse().map_err(|error| failed(&error))?;
    let router = Router::new().route("/", post(accept)).with_state(verifier);
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok((url, secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn demo_secret_does_not_depend_on_the_fastrand_seed() {
        fastrand::seed(1);
        let (_, first) = start_receiver().await.unwrap();
        fastrand::seed(1);
        let (_, second) = start_receiver().await.unwrap();
        assert_ne!(first.expose_secret(), second.expose_secret());
    }
}
