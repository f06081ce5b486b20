//! What the examples share: arguments, the secret, and an end after so many deliveries.

use std::error::Error;
use std::sync::Arc;

use formsvc_receiver::SecretString;
use tokio::sync::Semaphore;

/// The variable that the signing secret is read from. Never an argument: those stand in the list of
/// processes, for others to read.
const SECRET: &str = "FORMSVC_SIGNING_SECRET";

/// The signing secret of the endpoint.
pub(crate) fn secret() -> Result<SecretString, Box<dyn Error>> {
    match std::env::var(SECRET) {
        Ok(secret) => Ok(secret.into()),
        Err(_) => Err(format!("set {SECRET} to the endpoint's signing secret").into()),
    }
}

/// The value of an argument, such as that of `--port 9000`.
pub(crate) fn argument(name: &str) -> Option<String> {
    std::env::args().skip_while(|argument| argument != name).nth(1)
}

/// Where to listen, on this machine: `--port`, or 9000. Port 0 is one that is free.
pub(crate) fn address() -> Result<(&'static str, u16), Box<dyn Error>> {
    let port = argument("--port").map_or(Ok(9000), |port| port.parse())?;
    Ok(("127.0.0.1", port))
}

/// The end of an example: after as many deliveries as `--count` says, or never.
#[derive(Clone)]
pub(crate) struct End {
    handled: Arc<Semaphore>,
    count: Option<u32>,
}

impl End {
    pub(crate) fn from_arguments() -> Result<Self, Box<dyn Error>> {
        let count = argument("--count").map(|count| count.parse()).transpose()?;
        Ok(Self { handled: Arc::new(Semaphore::new(0)), count })
    }

    /// One more delivery was handled.
    pub(crate) fn count_one(&self) {
        self.handled.add_permits(1);
    }

    /// Waits until all are.
    pub(crate) async fn reached(self) {
        match self.count {
            Some(count) => drop(self.handled.acquire_many(count).await),
            None => std::future::pending().await,
        }
    }
}
