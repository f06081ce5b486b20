//! Names to addresses.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot};
use tokio::time::Instant;

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
///
/// On a thread of its own: the runtime waits for those it lends out before it ends, and a look-up can
/// take as long as it likes.
async fn bounded(
    turns: Arc<Semaphore>,
    look_up: impl FnOnce() -> io::Result<Vec<IpAddr>> + Send + 'static,
) -> io::Result<Vec<IpAddr>> {
    let busy = |what: &'static str| io::Error::new(io::ErrorKind::ResourceBusy, what);
    let began = Instant::now();
    let turn = tokio::time::timeout_at(began + BUDGET, turns.acquire_owned()).await;
    let turn = turn.map_err(|_| busy("all look-ups are taken"))?.map_err(io::Error::other)?;
    let answer = async move {
        let (sender, receiver) = oneshot::channel();
        let spawned = thread::Builder::new().name("resolver".to_owned()).spawn(move || {
            let answer = look_up();
            drop(turn);
            // Fails when nobody waits any more.
            let _ = sender.send(answer);
        });
        spawned.map_err(|_| busy("no thread for a look-up"))?;
        receiver.await.map_err(io::Error::other)?
    };
    let late = || io::Error::new(io::ErrorKind::TimedOut, "no answer within 3 s");
    tokio::time::timeout_at(began + BUDGET, answer).await.map_err(|_| late())?
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::mpsc;

    use super::*;

    const ANSWER: [IpAddr; 1] = [IpAddr::V4(Ipv4Addr::LOCALHOST)];

    /// Look-ups that hang until the sender goes away.
    fn hanging() -> (mpsc::Sender<()>, impl Fn() -> io::Result<Vec<IpAddr>> + Clone + Send) {
        let (sender, receiver) = mpsc::channel::<()>();
        let receiver = Arc::new(std::sync::Mutex::new(receiver));
        let look_up = move || {
            let _ = receiver.lock().unwrap().recv();
            Ok(ANSWER.to_vec())
        };
        (sender, look_up)
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_up_that_hangs_is_given_up_after_three_seconds() {
        let turns = Arc::new(Semaphore::new(1));
        let (_hung, look_up) = hanging();
        let began = Instant::now();
        let error = bounded(turns, look_up).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(began.elapsed(), BUDGET);
    }

    #[tokio::test(start_paused = true)]
    async fn look_ups_that_hang_keep_their_turns_until_their_threads_are_back() {
        let turns = Arc::new(Semaphore::new(2));
        let (hung, look_up) = hanging();
        for _ in 0..2 {
            assert!(bounded(Arc::clone(&turns), look_up.clone()).await.is_err());
        }
        assert_eq!(turns.available_permits(), 0);
        // Never begun, since no turn is free.
        let never = || -> io::Result<Vec<IpAddr>> { panic!("a third look-up was begun") };
        let error = bounded(Arc::clone(&turns), never).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ResourceBusy);
        drop(hung);
        let _both = turns.acquire_many(2).await.unwrap();
    }

    #[tokio::test]
    async fn a_look_up_that_panics_is_a_failure_and_gives_its_turn_back() {
        let turns = Arc::new(Semaphore::new(1));
        let panics = || -> io::Result<Vec<IpAddr>> { panic!("on purpose") };
        assert!(bounded(Arc::clone(&turns), panics).await.is_err());
        let answer = bounded(turns, || Ok(ANSWER.to_vec())).await.unwrap();
        assert_eq!(answer, ANSWER);
    }

    #[tokio::test]
    async fn the_system_knows_localhost() {
        let found = SystemResolver::new().resolve("localhost").await.unwrap();
        assert!(!found.is_empty() && found.iter().all(IpAddr::is_loopback), "{found:?}");
    }
}
