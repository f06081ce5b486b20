//! The server dies by `kill -9` or at a fault point. Every accepted submission is stored once and delivered.
//! Only deliveries that were in flight may arrive twice.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use formsvc_server::FaultPoint;
use formsvc_tests::figures::Figures;
use formsvc_tests::receiver::Receiver;
use formsvc_tests::scale::scaled;

use super::ledgers::{PATIENCE, Story, UNLIMITED};

/// Concurrent attempts to one endpoint.
const SLOTS: usize = 4;
/// Deliveries of the removed endpoint: more than the 500 that a removal cancels at a time.
const MORE_THAN_AT_ONCE: usize = 600;

/// Condition under which a server reaches a fault point.
enum How {
    /// Under load, when it has passed the point this many times.
    Load(u32),
    /// Under load, when it gets SIGTERM.
    Stop,
    /// At the start, when it finds claims of a dead server.
    Start,
    /// In the command that removes an endpoint.
    Remove,
}

fn how(point: FaultPoint) -> How {
    use FaultPoint as P;
    match point {
        P::InSubmit | P::BeforeCommit | P::AfterCommit => How::Load(30),
        P::InClaim | P::BeforePost | P::MidRequest => How::Load(20),
        P::AfterClaim | P::BeforeSettle | P::AfterSettle => How::Load(10),
        P::MidAnswer | P::AfterAnswer | P::InSettle => How::Load(15),
        P::InRemoval | P::MidRemoval => How::Remove,
        P::BeforeClose => How::Stop,
        P::InRecovery | P::MidRecovery => How::Start,
    }
}

/// Returns true for the exit status of [`std::process::abort`].
fn aborted(status: ExitStatus) -> bool {
    status.signal() == Some(6)
}

/// Runs a server under load until it dies at a fault point.
async fn die_under_load(story: &mut Story, point: FaultPoint, times: u32) {
    let fault = format!("{}:{times}", point.name());
    let server = story.site.serve_with(&UNLIMITED, Some(&fault)).await.unwrap();
    let mut visitors = story.visit(&server.base_url);
    let status = tokio::time::timeout(PATIENCE, server.ended()).await;
    let status = status.unwrap_or_else(|_| panic!("`{}` was not reached", point.name()));
    assert!(aborted(status), "{status}: {}", story.site.log());
    visitors.ended().await;
    story.note_death();
}

async fn die_at(point: FaultPoint) -> Figures {
    let mut story = Story::new(2).await;
    match how(point) {
        How::Load(times) => die_under_load(&mut story, point, times).await,
        How::Stop => {
            let fault = format!("{}:1", point.name());
            let server = story.site.serve_with(&UNLIMITED, Some(&fault)).await.unwrap();
            let mut visitors = story.visit(&server.base_url);
            story.intake.wait_for(20).await;
            server.terminate().await;
            assert!(aborted(server.ended().await), "{}", story.site.log());
            visitors.ended().await;
            story.note_death();
        }
        How::Start => {
            die_under_load(&mut story, FaultPoint::AfterClaim, 10).await;
            let fault = format!("{}:1", point.name());
            let died = match story.site.serve_with(&UNLIMITED, Some(&fault)).await {
                Ok(server) => server.ended().await,
                Err(status) => status,
            };
            assert!(aborted(died), "{died}: {}", story.site.log());
            story.note_death();
        }
        How::Remove => return die_in_removal(story, point).await,
    }
    story.end(&format!("crash at `{}`", point.name())).await
}

/// Lets the command that removes an endpoint die while a server runs, then kills the server.
async fn die_in_removal(mut story: Story, point: FaultPoint) -> Figures {
    let doomed = Receiver::start("whe_doomed").await;
    // Longer than the test takes, so that most deliveries wait for the first responses.
    doomed.pause(PATIENCE);
    let site_store = story.site.open_store();
    site_store.register(story.form(), &doomed.id, &doomed.url(), &doomed.secret()).await;
    for (number, id) in site_store.fill(story.form(), MORE_THAN_AT_ONCE).await {
        story.intake.note(number, Some(id));
    }
    let server = story.serve().await;
    doomed.wait_for(1).await;
    let mut remove = story.site.command(&["webhook", "remove", &doomed.id]);
    remove.env("FORMSVC_FAULT_POINT", format!("{}:1", point.name()));
    let removed = remove.status().await.unwrap();
    assert!(aborted(removed), "{removed}");
    // From here on no delivery to the endpoint starts, although its removal is not finished.
    let (arrived, well) = (doomed.arrivals().len(), &story.forms[0].1[0]);
    let enough = well.arrivals().len() + 100;
    well.wait_for(enough).await;
    server.kill().await;
    site_store.close().await;
    story.note_death();
    // The next server finishes the removal, so the queue is empty at the end.
    let figures = story.end(&format!("crash at `{}`", point.name())).await;
    let late = doomed.arrivals().len() - arrived;
    assert!(late <= SLOTS, "{late} arrived after the endpoint was removed");
    figures.with("arrived at the removed endpoint", arrived + late)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_crash_at_fault_point_loses_and_invents_nothing() {
    let mut waiting = FaultPoint::ALL.iter().copied();
    let mut running = tokio::task::JoinSet::new();
    // Four at a time, because they mostly wait for the disk.
    for point in waiting.by_ref().take(4) {
        running.spawn(die_at(point));
    }
    while let Some(ended) = running.join_next().await {
        println!("{}", ended.unwrap());
        if let Some(point) = waiting.next() {
            running.spawn(die_at(point));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_kill_under_load_loses_and_invents_nothing() {
    // Uses several databases, because checking one with all submissions would take too long.
    let (databases, kills) = scaled((1, 10), (20, 25));
    let mut random = fastrand::Rng::with_seed(11);
    let mut all: Option<Figures> = None;
    for _ in 0..databases {
        let mut story = Story::new(3).await;
        for _ in 0..kills {
            let server = story.serve().await;
            let mut visitors = story.visit(&server.base_url);
            story.intake.wait_for(story.intake.taken() + random.usize(0..40)).await;
            let moment = Duration::from_micros(random.u64(0..15_000));
            // Sleeps because the time of the kill must be random.
            tokio::time::sleep(moment).await;
            server.kill().await;
            visitors.ended().await;
            story.note_death();
            if story.is_suspicious() {
                story.settle().await;
            }
        }
        let figures = story.end("`kill -9` at a random time under load").await;
        all = Some(match all {
            Some(all) => all.and(figures),
            None => figures,
        });
    }
    println!("{}", all.unwrap());
}
