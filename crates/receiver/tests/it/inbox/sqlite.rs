//! The inbox in a SQLite file.

mod file;
mod killed;
mod marks;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use formsvc_receiver::inbox::SqliteInbox;

use super::contract::{ManualClock, TestStore, inbox_contract, queue_contract};

fn open(path: &Path, clock: &ManualClock) -> SqliteInbox {
    let now = clock.clone();
    let ttl = Duration::from_secs(86_400);
    SqliteInbox::builder().ttl(ttl).clock(move || now.now()).open(path).unwrap()
}

#[expect(clippy::unused_async, reason = "the contract expects an async function")]
async fn empty_store() -> Option<TestStore> {
    let directory = tempfile::tempdir().unwrap();
    let (path, clock) = (directory.path().join("inbox.db"), ManualClock::default());
    let inbox = Arc::new(open(&path, &clock));
    let second = Arc::new(open(&path, &clock));
    let other_scope = Arc::new(inbox.scope("other").unwrap());
    Some(TestStore {
        queues: Some([inbox.clone(), second.clone(), other_scope.clone()]),
        inbox,
        second,
        other_scope,
        advance: Box::new(move |time| {
            clock.advance(time);
            Box::pin(std::future::ready(()))
        }),
        _directory: Some(directory),
    })
}

inbox_contract!(empty_store);
queue_contract!(empty_store);
