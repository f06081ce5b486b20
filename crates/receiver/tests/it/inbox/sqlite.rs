//! The inbox in a SQLite file.

mod file;
mod killed;
mod marks;

use std::path::Path;
use std::sync::Arc;

use formsvc_receiver::inbox::SqliteInbox;

use super::contract::{Clock, World, inbox_contract, queue_contract};

fn open(path: &Path, clock: &Clock) -> SqliteInbox {
    let now = clock.clone();
    let ttl = std::time::Duration::from_secs(86_400);
    SqliteInbox::builder().ttl(ttl).clock(move || now.now()).open(path).unwrap()
}

#[expect(clippy::unused_async, reason = "other stores wait until they are there")]
async fn fresh() -> Option<World> {
    let dir = tempfile::tempdir().unwrap();
    let (path, clock) = (dir.path().join("inbox.db"), Clock::default());
    let inbox = open(&path, &clock);
    let elsewhere = Arc::new(open(&path, &clock));
    let other_scope = Arc::new(inbox.scope("other").unwrap());
    let inbox = Arc::new(inbox);
    Some(World {
        queues: Some([inbox.clone(), elsewhere.clone(), other_scope.clone()]),
        inbox,
        elsewhere,
        other_scope,
        pass: Box::new(move |time| {
            clock.pass(time);
            Box::pin(std::future::ready(()))
        }),
        _keep: Box::new(dir),
    })
}

inbox_contract!(fresh);
queue_contract!(fresh);
