//! A way to the database that acknowledges everything, and loses answers.

use std::sync::Arc;
use std::time::Duration;

use formsvc_protocol::{FormId, UserId};
use formsvc_server::admin::{Admin, FormOptions};
use formsvc_server::store::contract::cluster::Cluster;
use formsvc_server::store::postgres::{PostgresOptions, PostgresStore};
use formsvc_server::store::{PageRequest, Store};
use secrecy::ExposeSecret;

use super::proxy::Proxy;

const PATIENCE: Duration = Duration::from_secs(30);

/// A store behind a proxy, with a form.
struct World {
    proxy: Proxy,
    store: Arc<PostgresStore>,
    admin: Admin,
    user: UserId,
    form: FormId,
    schema: String,
}

impl World {
    async fn new() -> Option<Self> {
        let cluster = Cluster::or_skip()?;
        let proxy = Proxy::to(cluster.socket_dir().join(".s.PGSQL.5432"));
        let address = cluster.fresh_schema();
        let schema = address.expose_secret().rsplit("%3D").next().unwrap().to_owned();
        let address = format!(
            "postgres://nobody@127.0.0.1:{}/postgres?sslmode=disable&options=-c%20search_path%3D{schema}",
            proxy.port
        );
        let answer_within = Duration::from_secs(1);
        let options = PostgresOptions { answer_within, ..PostgresOptions::of(address.into()) };
        let store = Arc::new(PostgresStore::open(&options).await.unwrap());
        let admin = Admin::new(Arc::clone(&store) as Arc<dyn Store>);
        let user = admin.create_user("a@example.org", "A").await.unwrap().id;
        let form = admin.create_form(&user, FormOptions::titled("T")).await.unwrap().id;
        Some(Self { proxy, store, admin, user, form, schema })
    }

    /// Submits once; whether that was accepted.
    async fn submit(&self) -> bool {
        let submitting = self.admin.submit(&self.form, "{}");
        tokio::time::timeout(PATIENCE, submitting).await.expect("an end").is_ok()
    }

    async fn kept(&self) -> usize {
        let (user, form) = (self.user.clone(), self.form.clone());
        let request = PageRequest { user, form, before: None, limit: 100 };
        self.store.page(request).await.unwrap().unwrap().len
    }
}

#[tokio::test]
async fn a_commit_whose_answer_never_comes_is_found_on_another_connection() {
    let Some(world) = World::new().await else { return };
    assert!(world.submit().await);
    world.proxy.lose_answers_to(b"COMMIT");
    assert!(world.submit().await, "it is there");
    assert!(world.submit().await);
    assert_eq!(world.kept().await, 3);
}

#[tokio::test]
async fn a_transaction_that_nobody_answers_is_given_up_and_keeps_nothing() {
    let Some(world) = World::new().await else { return };
    assert!(world.submit().await);
    world.proxy.lose_answers_to(b"BEGIN");
    assert!(!world.submit().await, "nothing was written");
    // Its locks are gone with its connection.
    assert!(world.submit().await);
    assert_eq!(world.kept().await, 2);
}

/// The commit waits for a lock when its connection is lost, and succeeds later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_commit_that_is_slow_is_accepted_once() {
    let Some(world) = World::new().await else { return };
    let cluster = Cluster::shared().unwrap();
    let schema = &world.schema;
    cluster.sql(&format!(
        "CREATE TABLE {schema}.gate (); GRANT ALL ON {schema}.gate TO PUBLIC;
        CREATE FUNCTION {schema}.pass() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN PERFORM FROM {schema}.gate; RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON {schema}.submissions
            DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION {schema}.pass()"
    ));
    let address = cluster.address("");
    let (client, connection) =
        tokio_postgres::connect(address.expose_secret(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute(&format!("BEGIN; LOCK TABLE {schema}.gate")).await.unwrap();
    world.proxy.lose_answers_to(b"COMMIT");

    let (admin, form) = (world.admin.clone(), world.form.clone());
    let submitting = tokio::spawn(async move { admin.submit(&form, "{}").await });
    // Another session waits for the lost transaction.
    let waits = format!(
        "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND pg_blocking_pids(pid) && ARRAY(
            SELECT pid FROM pg_locks WHERE NOT granted AND relation = '{schema}.gate'::regclass))"
    );
    while !submitting.is_finished()
        && !client.query_one(&waits, &[]).await.unwrap().get::<_, bool>(0)
    {
        tokio::task::yield_now().await;
    }
    client.batch_execute("COMMIT").await.unwrap();
    let accepted = tokio::time::timeout(PATIENCE, submitting).await.expect("an end").unwrap();
    accepted.expect("a submission that is stored is accepted");
    assert_eq!(world.kept().await, 1);
}
