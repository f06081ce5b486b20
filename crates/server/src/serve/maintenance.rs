//! What has to be tidied up now and then.

use std::sync::Arc;
use std::time::Duration;

use crate::causes::on_one_line;
use crate::store::{Store, StoreFuture};

/// How often old idempotency keys, sessions and links are forgotten, and removals are finished.
const EVERY: Duration = Duration::from_secs(600);

/// What is tidied up: its name in the log, and the call that does some of it and says whether there may
/// be more.
type Chore = (&'static str, fn(&dyn Store) -> StoreFuture<'_, bool>);

const CHORES: [Chore; 3] = [
    ("removals", |store| store.finish_removals()),
    ("idempotency keys", |store| store.forget_idempotency_keys()),
    ("sessions and links", |store| store.forget_expired()),
];

/// Tidies up for as long as it is left running. What fails is tried again the next time, and keeps
/// nothing else from being done.
pub(super) async fn keep_tidy(store: Arc<dyn Store>) {
    loop {
        tokio::time::sleep(EVERY).await;
        tidy(&*store).await;
    }
}

async fn tidy(store: &dyn Store) {
    for (what, forget_some) in CHORES {
        loop {
            match forget_some(store).await {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    let cause = on_one_line(&error);
                    tracing::warn!(what, cause, "maintenance failed; it is retried later");
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use formsvc_protocol::{FormId, FormStatus, PublicId};

    use super::*;
    use crate::admin::Admin;
    use crate::store::contract::ManualClock;
    use crate::store::sqlite::SqliteStore;
    use crate::store::{NewForm, NewLink, NewSession, StoreError, TokenHash};

    #[tokio::test]
    async fn expired_sessions_and_links_are_forgotten() {
        let clock = ManualClock::at(1_000_000);
        let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory(clock.clock()).unwrap());
        let user = Admin::new(Arc::clone(&store)).create_user("a@b.c", "A").await.unwrap().id;
        for (number, seconds) in [(0, 1), (1, 1), (2, 3)] {
            let (token, lifetime) = (TokenHash([number; 32]), Duration::from_secs(seconds));
            let (user, password) = (user.clone(), None);
            store.add_session(NewSession { token, user, password, lifetime }).await.unwrap();
        }
        let link = NewLink { token: TokenHash([0; 32]), user: None, lifetime: EVERY };
        store.add_link(link).await.unwrap();
        clock.advance(2_000_000);
        tidy(&*store).await;
        assert_eq!(store.end_sessions(&user, None).await.unwrap(), 1, "the one that lasts");
        assert!(store.link(&TokenHash([0; 32])).await.unwrap().is_some());
    }

    #[tokio::test]
    async fn interrupted_removal_is_finished() {
        let clock = ManualClock::at(1_000_000);
        let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory(clock.clock()).unwrap());
        let user = Admin::new(Arc::clone(&store)).create_user("a@b.c", "A").await.unwrap().id;
        let new = NewForm {
            id: FormId::new("frm_1").unwrap(),
            user,
            public_id: PublicId::new("form").unwrap(),
            title: "T".into(),
            status: FormStatus::Published,
        };
        let staged = store.stage_form(new).await.unwrap();
        clock.advance(3_600_000_001);
        tidy(&*store).await;
        let gone = store.publish_staged(&staged).await;
        assert!(matches!(gone, Err(StoreError::NotFound { .. })), "{gone:?}");
    }
}
