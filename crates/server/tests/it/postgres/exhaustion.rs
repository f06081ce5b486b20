//! More callers than connections, and a lock that somebody holds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use formsvc_protocol::FormInstant;
use formsvc_server::admin::{Admin, FormOptions};
use formsvc_server::api::Edge;
use formsvc_server::health::{self, Health};
use formsvc_server::store::contract::cluster::Cluster;
use formsvc_server::store::postgres::{PostgresOptions, PostgresStore};
use formsvc_server::store::{PageRequest, Store, StoreError};
use http::{Request, StatusCode};
use secrecy::ExposeSecret;
use tokio::task::JoinSet;

/// Longer than a caller waits for a connection, and a statement for a lock.
const BOUND: Duration = Duration::from_secs(8);

async fn ready(edge: &Edge) -> StatusCode {
    let request = Request::get("/readyz").header("host", "x").body(Body::empty()).unwrap();
    edge.answer(request).await.status()
}

/// Waits until the readiness probe has a status.
async fn turns(edge: &Edge, is_expected: impl Fn(StatusCode) -> bool) {
    let turned = async {
        while !is_expected(ready(edge).await) {
            // Sleeps because the probe keeps its result for a second.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(BOUND, turned).await.expect("the readiness changes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_beyond_the_connections_wait_a_while_and_not_for_ever() {
    let Some(cluster) = Cluster::or_skip() else { return };
    for connections in [1, 2] {
        let schema = cluster.fresh_schema();
        // Locks are waited for as long as a test likes.
        let address = format!("{}%20-c%20lock_timeout%3D300", schema.expose_secret());
        let options = PostgresOptions { connections, ..PostgresOptions::of(address.into()) };
        let store: Arc<dyn Store> = Arc::new(PostgresStore::open(&options).await.unwrap());
        let admin = Admin::new(Arc::clone(&store));
        let user = admin.create_user("a@example.org", "A").await.unwrap().id;
        let form = admin.create_form(&user, FormOptions::titled("T")).await.unwrap().id;
        let edge = Edge::new(health::router(Arc::new(Health::new(Arc::clone(&store)))));
        assert_eq!(ready(&edge).await, StatusCode::OK);

        let (other, connection) =
            tokio_postgres::connect(schema.expose_secret(), tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        other.batch_execute("BEGIN; LOCK TABLE forms, probe").await.unwrap();
        let began = Instant::now();
        let mut callers = JoinSet::new();
        for n in 0..60 {
            let (store, user, form) = (Arc::clone(&store), user.clone(), form.clone());
            callers.spawn(async move {
                if n % 2 == 0 {
                    return Admin::new(store).submit(&form, "{}").await.map(Some).map_err(drop);
                }
                let request = PageRequest { user, form, before: None, limit: 100 };
                match store.page(request).await {
                    Ok(_) => Ok(None),
                    Err(StoreError::Unavailable(_)) => Err(()),
                    Err(error) => panic!("{error:?}"),
                }
            });
        }
        turns(&edge, |status| status != StatusCode::OK).await;
        other.batch_execute("ROLLBACK").await.unwrap();
        let mut accepted = Vec::<FormInstant>::new();
        for outcome in callers.join_all().await {
            accepted.extend(outcome.ok().flatten().map(|accepted| accepted.instant));
        }
        assert!(began.elapsed() < BOUND, "{:?}", began.elapsed());
        turns(&edge, |status| status == StatusCode::OK).await;
        // One that is refused was not kept, and one that was accepted was.
        let name = schema.expose_secret().rsplit("%3D").next().unwrap();
        let kept = cluster.sql(&format!("SELECT count(*) FROM {name}.submissions"));
        assert_eq!(kept, accepted.len().to_string());
        admin.submit(&form, "{}").await.unwrap();
    }
}
