//! Names to addresses.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

/// Time a look-up may take, its wait for a turn included.
const BUDGET: Duration = Duration::from_secs(3);
/// Look-ups under way at a time.
const LOOKUPS_MAX: usize = 32;

/// A look-up under way.
pub type Resolved = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// What turns host names into addresses; a seam, so that tests own the answers.
pub trait Resolve: Send + Sync + 'static {
    /// All addresses of a host name, in the order to try them.
    fn resolve(&self, host: &str) -> Resolved;
}

/// The system's resolver (`getaddrinfo`), which has its own idea of caches and search domains.
///
/// It blocks a thread and cannot be stopped. So at most 32 look-ups run at a time, and each keeps its
/// turn until its thread is back, however long ago its caller went away: a name server that is dead
/// costs 32 threads and no more. A caller waits 3 s, for its turn and the answer together.
#[derive(Debug)]
pub struct SystemResolver {
    turns: Arc<Semaphore>,
}

impl SystemResolver {
    /// A resolver with all turns free.
    pub fn new() -> Self {
        Self { turns: Arc::new(Semaphore::new(LOOKUPS_MAX)) }
    }
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self::new()
    }
}

impl Resolve for SystemResolver {
    fn resolve(&self, host: &str) -> Resolved {
        let host = host.to_owned();
        Box::pin(bounded(Arc::clone(&self.turns), move || {
            Ok((host.as_str(), 0).to_socket_addrs()?.map(|socket| socket.ip()).collect())
        }))
    }
}

/// Runs a look-up that blocks, in its turn and within the budget.
async fn bounded(
    turns: Arc<Semaphore>,
    look_up: impl FnOnce() -> io::Result<Vec<IpAddr>> + Send + 'static,
) -> io::Result<Vec<IpAddr>> {
    let answer = async move {
        let turn = turns.acquire_owned().await.map_err(io::Error::other)?;
        let blocking = tokio::task::spawn_blocking(move || {
            let answer = look_up();
            drop(turn);
            answer
        });
        blocking.await.map_err(io::Error::other)?
    };
    let late = || io::Error::new(io::ErrorKind::TimedOut, "no answer within 3 s");
    tokio::time::timeout(BUDGET, answer).await.map_err(|_| late())?
}
