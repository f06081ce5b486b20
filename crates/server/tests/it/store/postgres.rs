//! The PostgreSQL store keeps the store contract, in a schema for each check.

use std::sync::Arc;

use formsvc_server::store::Clock;
use formsvc_server::store::contract::Fresh;
use formsvc_server::store::contract::cluster::Cluster;
use formsvc_server::store::postgres::{PostgresOptions, PostgresStore};
use futures_util::future::BoxFuture;

fn on_postgres(clock: Clock) -> BoxFuture<'static, Fresh> {
    Box::pin(async {
        let cluster = Cluster::shared().expect("PostgreSQL");
        let options = PostgresOptions::of(cluster.fresh_schema());
        let store = PostgresStore::open_at(&options, clock).await.unwrap();
        Fresh { store: Arc::new(store), keep: Box::new(()) }
    })
}

fn reason_to_skip() -> Option<&'static str> {
    Cluster::shared().is_none().then_some("there is no PostgreSQL on this machine")
}

formsvc_server::store_contract!(contract, on_postgres, reason_to_skip);

mod processes {
    //! Several processes on one database, each with a store of its own.

    use std::collections::HashSet;
    use std::time::Duration;

    use formsvc_protocol::{Answers, EndpointId, FormId, SubmissionId};
    use formsvc_server::admin::{Admin, FormOptions};
    use formsvc_server::store::postgres::OpenError;
    use formsvc_server::store::{
        ClaimRequest, Commit, DeliveriesRequest, DeliveryState, EndpointNo, Idempotency, Lane,
        NewEndpoint, NewSubmission, PageRequest, SealedSecret, Store, StoreObserver, Want,
    };
    use secrecy::{ExposeSecret, SecretString};
    use tokio::task::JoinSet;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    /// A schema with nothing in it; none where there is no PostgreSQL.
    fn schema() -> Option<PostgresOptions> {
        Some(PostgresOptions::of(Cluster::or_skip()?.fresh_schema()))
    }

    async fn open(options: &PostgresOptions) -> Arc<PostgresStore> {
        Arc::new(PostgresStore::open(options).await.unwrap())
    }

    /// A form with an endpoint.
    async fn form(store: &Arc<PostgresStore>) -> (Admin, FormId, formsvc_protocol::UserId) {
        let admin = Admin::new(Arc::clone(store) as Arc<dyn Store>);
        let user = admin.create_user("a@example.org", "A").await.unwrap();
        let form = admin.create_form(&user.id, FormOptions::titled("T")).await.unwrap().id;
        let (id, url) = (EndpointId::new("whe_1").unwrap(), "https://a.example".into());
        let new = NewEndpoint { id, form: form.clone(), url, secret: SealedSecret(vec![1]) };
        store.add_endpoint(new).await.unwrap();
        (admin, form, user.id)
    }

    #[tokio::test]
    async fn work_that_one_makes_the_others_hear_of() {
        let Some(options) = schema() else { return };
        let (one, other) = (open(&options).await, open(&options).await);
        let (admin, form, _) = form(&one).await;
        let work = other.work();
        // It may not listen yet: then it hears of a later one.
        let heard = async {
            loop {
                admin.submit(&form, "{}").await.unwrap();
                let soon = tokio::time::timeout(Duration::from_millis(200), work.announced());
                if soon.await.is_ok() {
                    return work.take();
                }
            }
        };
        let lanes = tokio::time::timeout(PATIENCE, heard).await.expect("a notice is heard");
        let due = other.due().await.unwrap();
        assert_eq!(lanes.into_iter().collect::<Vec<_>>(), [(due[0].endpoint, Lane::Fresh)]);
    }

    #[tokio::test]
    async fn all_take_instants_of_one_form_and_none_takes_another_s() {
        const EACH: usize = 200;
        let Some(options) = schema() else { return };
        let stores = [open(&options).await, open(&options).await, open(&options).await];
        let (_, form, user) = form(&stores[0]).await;
        let mut tasks = JoinSet::new();
        for store in &stores {
            for _ in 0..EACH {
                let (admin, form) = (Admin::new(Arc::clone(store) as Arc<dyn Store>), form.clone());
                tasks.spawn(async move { admin.submit(&form, "{}").await.unwrap().instant });
            }
        }
        let accepted: HashSet<_> = tasks.join_all().await.into_iter().collect();
        assert_eq!(accepted.len(), 3 * EACH);
        let (mut before, mut found) = (None, 0);
        loop {
            let request =
                PageRequest { user: user.clone(), form: form.clone(), before, limit: 100 };
            let page = stores[1].page(request).await.unwrap().unwrap();
            assert!(page.last.is_some_and(|last| accepted.contains(&last)));
            (before, found) = (page.last, found + page.len);
            if !page.has_more {
                break;
            }
        }
        assert_eq!(found, 3 * EACH);
    }

    #[tokio::test]
    async fn forms_that_take_turns_and_repeats_among_them_all_find_their_place() {
        const FORMS: usize = 5;
        const TASKS: usize = 48;
        const EACH: usize = 12;
        let Some(options) = schema() else { return };
        let store = open(&options).await;
        let (admin, first, user) = form(&store).await;
        let mut forms = vec![first];
        for _ in 1..FORMS {
            let form = admin.create_form(&user, FormOptions::titled("T")).await.unwrap().id;
            forms.push(form);
        }
        let mut tasks = JoinSet::new();
        for task in 0..TASKS {
            let (store, forms) = (Arc::clone(&store), forms.clone());
            tasks.spawn(async move {
                let mut instants = Vec::new();
                for nth in 0..EACH {
                    // For a while all submit to one form, so that what is begun ahead fits, and then it does not.
                    let form = &forms[if nth < EACH / 2 { 0 } else { (task + nth) % FORMS }];
                    let digest = [u8::try_from(task).unwrap(); 32];
                    let new = NewSubmission {
                        id: SubmissionId::new(&format!("sub_{task}_{nth}")).unwrap(),
                        form: form.clone(),
                        answers: Answers::parse("{}".to_owned()).unwrap(),
                        revision: None,
                        idempotency: (nth % 5 == 4)
                            .then_some(Idempotency { key: digest, fingerprint: digest }),
                    };
                    instants.push((form.clone(), store.submit(new).await.unwrap().instant));
                }
                instants
            });
        }
        let accepted = tokio::time::timeout(PATIENCE, tasks.join_all()).await.expect("all answer");
        let accepted: HashSet<_> = accepted.into_iter().flatten().collect();
        let mut found = HashSet::new();
        for form in &forms {
            let mut before = None;
            loop {
                let request =
                    PageRequest { user: user.clone(), form: form.clone(), before, limit: 1 };
                let Some(at) = store.page(request).await.unwrap().unwrap().last else { break };
                (before, _) = (Some(at), found.insert((form.clone(), at)));
            }
        }
        assert_eq!(found, accepted);
    }

    #[tokio::test]
    async fn what_one_claims_no_other_claims() {
        const DELIVERIES: usize = 300;
        let Some(options) = schema() else { return };
        let stores = [open(&options).await, open(&options).await];
        let (admin, form, _) = form(&stores[0]).await;
        for _ in 0..DELIVERIES {
            admin.submit(&form, "{}").await.unwrap();
        }
        let endpoint: EndpointNo = stores[1].due().await.unwrap()[0].endpoint;
        let mut workers = JoinSet::new();
        for n in 0..6_u32 {
            let store = Arc::clone(&stores[n as usize % 2]);
            workers.spawn(async move {
                let mut claimed = Vec::new();
                loop {
                    let wants = vec![Want { endpoint, lane: Lane::Fresh, count: 1 + n }];
                    let lease = Duration::from_secs(60);
                    let request = ClaimRequest { wants, lease, bytes_max: usize::MAX };
                    let claims = store.claim(request).await.unwrap();
                    if claims.deliveries.is_empty()
                        && claims.due.iter().all(|due| due.lane != Lane::Fresh)
                    {
                        return claimed;
                    }
                    claimed.extend(
                        claims.deliveries.into_iter().map(|one| (one.key, one.lease.token)),
                    );
                }
            });
        }
        let claimed = workers.join_all().await.concat();
        let deliveries: HashSet<_> = claimed.iter().map(|(key, _)| *key).collect();
        assert_eq!((claimed.len(), deliveries.len()), (DELIVERIES, DELIVERIES));
    }

    /// Panics as often as it is told of a commit.
    struct Fragile;

    impl StoreObserver for Fragile {
        fn committed(&self, _commit: Commit) {
            panic!("on purpose");
        }
        fn accepted(&self, _took: Duration, _ahead: Duration) {}
        fn canceled(&self, _deliveries: u64) {}
    }

    #[tokio::test]
    async fn a_panic_ends_no_loop_that_takes_submissions() {
        const PANICS: u64 = 4;
        let Some(options) = schema() else { return };
        let store = open(&options).await;
        let (admin, form, user) = form(&store).await;
        store.observe(Arc::new(Fragile));
        for _ in 0..PANICS {
            // Committed, and then the loop is gone before it could say so.
            admin.submit(&form, "{}").await.unwrap_err();
        }
        let request = PageRequest { user, form, before: None, limit: 100 };
        let page = store.page(request).await.unwrap().unwrap();
        assert_eq!(page.len as u64, PANICS);
        tokio::time::timeout(PATIENCE, store.close()).await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn unreadable_delivery_fails_and_the_next_is_claimed() {
        let Some(options) = schema() else { return };
        let store = open(&options).await;
        let (admin, form, _) = form(&store).await;
        for _ in 0..2 {
            admin.submit(&form, "{}").await.unwrap();
        }
        let schema = options.address.expose_secret().rsplit("%3D").next().unwrap();
        let sql = format!("UPDATE {schema}.submissions SET item = 'no item' WHERE key & 1 = 1");
        Cluster::shared().unwrap().sql(&sql);
        let endpoint = store.due().await.unwrap()[0].endpoint;
        let wants = vec![Want { endpoint, lane: Lane::Fresh, count: 9 }];
        let lease = Duration::from_secs(60);
        let request = ClaimRequest { wants, lease, bytes_max: usize::MAX };
        let claimed = store.claim(request).await.unwrap().deliveries;
        assert_eq!(claimed.len(), 1);
        let request = DeliveriesRequest {
            form,
            endpoint: None,
            state: Some(DeliveryState::Failed),
            submission: None,
            after: None,
            limit: 9,
        };
        let failed = store.deliveries(request).await.unwrap();
        assert_eq!(failed.len(), 1);
        assert!(failed[0].finished_at.is_some() && failed[0].key != claimed[0].key);
        assert_eq!(store.backlog().await.unwrap().unfinished, 1);
    }

    #[tokio::test]
    async fn those_that_begin_at_the_same_time_make_the_tables_once() {
        let Some(options) = schema() else { return };
        let mut opening = JoinSet::new();
        for _ in 0..8 {
            let options = options.clone();
            opening.spawn(async move { PostgresStore::open(&options).await });
        }
        for opened in opening.join_all().await {
            opened.unwrap().probe().await.unwrap();
        }
    }

    #[tokio::test]
    async fn tables_of_others_and_of_newer_releases_are_left_alone() {
        let Some(options) = schema() else { return };
        let cluster = Cluster::shared().unwrap();
        let name = options.address.expose_secret().rsplit("%3D").next().unwrap().to_owned();
        cluster.sql(&format!("CREATE TABLE {name}.mine (x int)"));
        let refused = PostgresStore::open(&options).await.unwrap_err();
        assert!(matches!(&refused, OpenError::NotOurs { schema } if *schema == name), "{refused}");
        cluster.sql(&format!("DROP TABLE {name}.mine"));
        open(&options).await.close().await.unwrap();
        cluster.sql(&format!("UPDATE {name}.formsvc_schema SET version = 1000"));
        let refused = PostgresStore::open(&options).await.unwrap_err();
        assert!(matches!(refused, OpenError::NewerSchema { found: 1000, .. }), "{refused}");
    }

    #[tokio::test]
    async fn version_view_or_table_of_another_role_is_refused() {
        let Some(options) = schema() else { return };
        let cluster = Cluster::shared().unwrap();
        let name = options.address.expose_secret().rsplit("%3D").next().unwrap().to_owned();
        open(&options).await.close().await.unwrap();
        let stranger = format!("stranger_{name}");
        cluster.sql(&format!(
            "CREATE ROLE {stranger}; GRANT CREATE, USAGE ON SCHEMA {name} TO {stranger}; \
             DROP TABLE {name}.formsvc_schema"
        ));
        for create in ["VIEW formsvc_schema AS", "TABLE formsvc_schema AS"] {
            cluster.sql(&format!(
                "SET search_path TO {name}; SET ROLE {stranger}; CREATE {create} SELECT 1 AS version"
            ));
            let refused = PostgresStore::open(&options).await.unwrap_err();
            assert!(
                matches!(&refused, OpenError::NotOurs { schema } if *schema == name),
                "{refused}"
            );
            let kind = create.split(' ').next().unwrap();
            cluster.sql(&format!("DROP {kind} {name}.formsvc_schema"));
        }
    }

    #[tokio::test]
    async fn an_address_that_cannot_be_used_is_refused_and_not_repeated() {
        for (address, refused) in [
            ("mysql://me:hunter2@h/d", "is not like"),
            ("postgres://me:hunter2@/d?port=x", "is not like"),
            ("postgres://me:hunter2@/d", "names no host"),
        ] {
            let options = PostgresOptions::of(SecretString::from(address));
            let error = PostgresStore::open(&options).await.unwrap_err();
            let told = format!("{error} {error:?}");
            assert!(told.contains(refused) && !told.contains("hunter2"), "{told}");
        }
    }
}
