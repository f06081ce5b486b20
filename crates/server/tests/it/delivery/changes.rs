//! Endpoints that are removed, disabled or given a new secret while deliveries are on their way, by the
//! process that delivers and by another.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use formsvc_protocol::EndpointId;
use formsvc_protocol::limits::SIGNATURE_TOLERANCE;
use formsvc_protocol::signature::{SigningSecret, verify};
use formsvc_server::delivery::Deliveries;
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{DeliveryState, Store, system_clock};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::endpoint::{Endpoint, Received, Reply};
use super::world::{GRACE, World, options, slots};

/// Attempts to one endpoint under way at a time.
const SLOTS: usize = 4;
const CHANGES: usize = 4;

/// Who changes an endpoint.
#[derive(Clone, Copy)]
enum By {
    /// The process that delivers.
    Server,
    /// A command beside it, which opens the store for itself.
    Command,
}

impl By {
    /// How long a worker may go on with what it claimed before.
    fn notice(self) -> Duration {
        match self {
            Self::Server => Duration::ZERO,
            Self::Command => Duration::from_millis(10),
        }
    }
}

impl std::fmt::Display for By {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Server => "the server",
            Self::Command => "a command",
        })
    }
}

/// A form under load, with an endpoint that changes and one that does not, and the store by which it is
/// changed.
struct Load {
    world: Arc<World>,
    changer: Arc<dyn Store>,
    changing: Endpoint,
    constant: Endpoint,
    id: EndpointId,
    deliveries: Deliveries,
    stop: watch::Sender<bool>,
    submitting: Vec<JoinHandle<Vec<String>>>,
    _folder: tempfile::TempDir,
}

impl Load {
    async fn start(by: By) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept.db");
        let store = SqliteStore::open_exclusive(&path, system_clock()).unwrap();
        let world = Arc::new(World::on(Arc::new(store)).await);
        let changer: Arc<dyn Store> = match by {
            By::Server => Arc::clone(&world.store),
            By::Command => Arc::new(SqliteStore::open(&path, system_clock()).unwrap()),
        };
        let (changing, constant) = (Endpoint::ok().await, Endpoint::ok().await);
        let id = world.endpoint("whe_changing", changing.url()).await;
        world.endpoint("whe_constant", constant.url()).await;
        let mut options = options();
        options.slots = slots(64, SLOTS.try_into().unwrap());
        options.timeout = Duration::from_secs(10);
        let deliveries = world.deliver(options);
        let (stop, stopped) = watch::channel(false);
        let submitting = (0..4).map(|_| {
            let (world, stopped) = (Arc::clone(&world), stopped.clone());
            tokio::spawn(async move {
                let mut accepted = Vec::new();
                while !*stopped.borrow() {
                    accepted.push(world.submit("{}").await.as_str().to_owned());
                }
                accepted
            })
        });
        let submitting = submitting.collect();
        Self {
            world,
            changer,
            changing,
            constant,
            id,
            deliveries,
            stop,
            submitting,
            _folder: folder,
        }
    }

    /// Waits for some more deliveries to the endpoint that changes.
    async fn go_on(&self) {
        self.changing.wait_for(self.changing.received().len() + 10).await;
    }

    /// Ends the load, and waits until all that can be delivered is.
    async fn finish(self) -> Finished {
        self.stop.send_replace(true);
        let mut accepted = Vec::new();
        for task in self.submitting {
            accepted.extend(task.await.unwrap());
        }
        self.world.until_idle().await;
        self.deliveries.stop(GRACE).await;
        let arrived: Vec<String> =
            self.constant.received().iter().map(Received::submission).collect();
        assert_eq!(arrived.len(), accepted.len(), "to the endpoint that nobody touched");
        assert_eq!(set(&arrived), set(&accepted));
        Finished { world: self.world, accepted, received: self.changing.received() }
    }
}

struct Finished {
    world: Arc<World>,
    accepted: Vec<String>,
    received: Vec<Received>,
}

impl Finished {
    /// The submissions whose deliveries to the endpoint that changes are in a state.
    async fn submissions(&self, state: DeliveryState) -> HashSet<String> {
        let deliveries = self.world.deliveries().await.into_iter();
        let wanted =
            deliveries.filter(|d| d.state == state && d.endpoint.as_str() == "whe_changing");
        wanted.map(|delivery| delivery.submission.as_str().to_owned()).collect()
    }

    fn arrived(&self) -> Vec<String> {
        self.received.iter().map(Received::submission).collect()
    }
}

fn set(ids: &[String]) -> HashSet<String> {
    ids.iter().cloned().collect()
}

fn since(received: &[Received], at: Instant) -> usize {
    received.iter().filter(|one| one.at > at).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_arrives_at_an_endpoint_that_was_removed_but_what_was_on_its_way() {
    println!("{}", remove(By::Server).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_command_removed_gets_nothing_more_after_a_moment() {
    println!("{}", remove(By::Command).await);
}

async fn remove(by: By) -> String {
    let load = Load::start(by).await;
    load.go_on().await;
    load.changer.remove_endpoint(&load.id).await.unwrap();
    let removed = Instant::now();
    load.constant.wait_for(load.constant.received().len() + 50).await;
    let finished = load.finish().await;
    let late = since(&finished.received, removed + by.notice());
    assert!(late <= SLOTS, "{late} deliveries after it was removed");
    let (delivered, canceled) = (
        finished.submissions(DeliveryState::Delivered).await,
        finished.submissions(DeliveryState::Canceled).await,
    );
    let arrived = finished.arrived();
    assert_eq!(set(&arrived).len(), arrived.len(), "nothing arrives twice");
    assert!(delivered.is_subset(&set(&arrived)));
    // What was on its way when it was removed arrived, and counts as canceled: attempts, and outcomes
    // that were not recorded yet. These are the last that arrived, but for the order of attempts that were
    // under way together.
    let on_their_way = set(&arrived).intersection(&canceled).count();
    let first = arrived.iter().position(|submission| canceled.contains(submission));
    let first = first.unwrap_or(arrived.len());
    assert!(
        first + on_their_way + 2 * SLOTS >= arrived.len(),
        "{first} of {} was canceled",
        arrived.len()
    );
    assert_eq!(delivered.len() + on_their_way, arrived.len(), "each delivery has ended");
    format!(
        "ledger | an endpoint removed under load, by {by} | {} | {} | 0 | | canceled {}, arrived after the \
         removal {late} |",
        finished.accepted.len(),
        arrived.len(),
        canceled.len()
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_while_an_endpoint_is_disabled_arrives_once_it_is_enabled() {
    println!("{}", disable(By::Server).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_command_disabled_waits_after_a_moment_and_arrives_once_it_is_enabled() {
    println!("{}", disable(By::Command).await);
}

async fn disable(by: By) -> String {
    let load = Load::start(by).await;
    let mut late = 0;
    for _ in 0..CHANGES {
        load.go_on().await;
        load.changer.set_endpoint_enabled(&load.id, false).await.unwrap();
        let disabled = Instant::now();
        load.constant.wait_for(load.constant.received().len() + 20).await;
        let after = since(&load.changing.received(), disabled + by.notice());
        assert!(after <= SLOTS, "{after} deliveries after it was disabled");
        load.changer.set_endpoint_enabled(&load.id, true).await.unwrap();
        late += after;
    }
    let finished = load.finish().await;
    let arrived = finished.arrived();
    assert_eq!(set(&arrived).len(), arrived.len(), "nothing arrives twice");
    assert_eq!(set(&arrived), finished.submissions(DeliveryState::Delivered).await);
    // Submissions made while it was disabled have no delivery; all that have one are delivered.
    for unfinished in [DeliveryState::Pending, DeliveryState::Retrying, DeliveryState::Failed] {
        assert!(finished.submissions(unfinished).await.is_empty(), "{unfinished:?}");
    }
    format!(
        "ledger | an endpoint disabled {CHANGES} times under load, by {by} | {} | {} | 0 | | arrived while it \
         was disabled {late} |",
        finished.accepted.len(),
        arrived.len()
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_delivery_is_signed_with_the_secret_of_its_time() {
    println!("{}", rotate(By::Server).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_delivery_is_signed_with_the_secret_that_a_command_gave_it_a_moment_ago() {
    println!("{}", rotate(By::Command).await);
}

async fn rotate(by: By) -> String {
    let load = Load::start(by).await;
    let mut rotations: Vec<(Instant, String)> = vec![(Instant::now(), "whsec_whe_changing".into())];
    for number in 0..CHANGES {
        load.go_on().await;
        let secret = format!("whsec_{number}");
        let sealed = load.world.seal(&load.id, &secret);
        let grace = Duration::from_secs(if number % 2 == 0 { 60 } else { 0 });
        load.changer.rotate_secret(&load.id, sealed, grace).await.unwrap();
        rotations.push((Instant::now(), secret));
    }
    load.go_on().await;
    let finished = load.finish().await;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let (mut both, mut old) = (0, 0);
    for one in &finished.received {
        let matches = |secret: &String| {
            let secret = SigningSecret::new(secret).unwrap();
            let header = one.header("x-service-signature").as_bytes();
            let body = one.body.as_bytes();
            verify(header, body, &[secret], now.as_secs(), SIGNATURE_TOLERANCE).is_ok()
        };
        // The secret that was the last when it arrived; one rotation may not have returned yet.
        let current = rotations.iter().rposition(|(at, _)| *at <= one.at).unwrap();
        let next = rotations.get(current + 1).is_some_and(|(_, secret)| matches(secret));
        let last = matches(&rotations[current].1);
        let before = current > 0 && matches(&rotations[current - 1].1);
        assert!(next || last || before, "signed with none of the secrets of its time");
        both += usize::from(usize::from(next) + usize::from(last) + usize::from(before) == 2);
        // Only what was on its way before the rotation was known is signed without the new secret.
        let is_known = rotations[current].0 + by.notice() <= one.at;
        old += usize::from(before && !last && !next && is_known);
    }
    assert!(both > 0, "no delivery was signed with both secrets");
    assert!(old <= SLOTS * CHANGES, "{old} deliveries signed with the old secret alone");
    let arrived = finished.arrived();
    assert_eq!((set(&arrived), arrived.len()), (set(&finished.accepted), finished.accepted.len()));
    format!(
        "ledger | a secret rotated {CHANGES} times under load, by {by} | {} | {} | 0 | | signed with two \
         secrets {both}, with the old one alone {old} |",
        finished.accepted.len(),
        arrived.len()
    )
}

#[tokio::test]
async fn a_delivery_on_its_way_to_a_removed_endpoint_changes_nothing_when_it_ends() {
    let (world, endpoint) = (World::new().await, Endpoint::start([Reply::Held]).await);
    let id = world.endpoint("whe_1", endpoint.url()).await;
    let mut patient = options();
    patient.timeout = Duration::from_secs(10);
    let deliveries = world.deliver(patient);
    world.submit("{}").await;
    endpoint.wait_for(1).await;
    world.store.remove_endpoint(&id).await.unwrap();
    endpoint.open();
    deliveries.stop(GRACE).await;
    let delivery = &world.deliveries().await[0];
    assert_eq!((delivery.state, delivery.attempts), (DeliveryState::Canceled, 0));
}
