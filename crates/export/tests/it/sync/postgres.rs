//! PostgreSQL: rights, tables of other programs, lost connections, poolers.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use formsvc_client::ErrorCode;
use formsvc_client::test_util::{Fault, MockService};
use formsvc_export::{ExportError, PostgresError, PullOptions, PullProgress, SyncTarget};

use super::database::{Database, texts};
use super::postgres_schema::PostgresSchema;
use super::{form_id, service, service_with, sync, sync_by};
use crate::limited::limited;

fn postgres_error(error: ExportError) -> PostgresError {
    match error {
        ExportError::Postgres(error) => error,
        error => panic!("{error}"),
    }
}

/// Creates a user without rights; returns its name.
async fn create_user(schema: &PostgresSchema) -> String {
    let user = format!("user_{}", schema.name);
    schema.query(&format!("CREATE ROLE {user} LOGIN")).await;
    user
}

/// Syncs as a user without rights and grants those that the message names, until it works. Returns the
/// statements.
async fn grant_until_it_works(
    database: &Database,
    user: &str,
    service: &MockService,
) -> Vec<String> {
    let schema = database.schema();
    let target = schema.target_of(user);
    let mut statements = Vec::new();
    loop {
        let before = service.requests().len();
        let error = match target.open().await {
            Ok(store) => match sync(&store, service).await {
                Ok(_) => return statements,
                Err(error) => error,
            },
            Err(error) => error,
        };
        assert_eq!(service.requests().len(), before, "no request before the rights are there");
        let PostgresError::Rights { user: named, statement } = postgres_error(error) else {
            panic!("other error")
        };
        assert_eq!(named, user);
        schema.query(&statement).await;
        statements.push(statement);
        assert!(statements.len() < 5, "{statements:?}");
    }
}

#[tokio::test]
async fn missing_rights_are_named_before_the_first_request() {
    let Some(database) = Database::postgres().await else { return };
    let user = create_user(database.schema()).await;
    let schema = &database.schema().name;
    let statements = grant_until_it_works(&database, &user, &service(3)).await;
    let expected = format!("GRANT USAGE, CREATE ON SCHEMA \"{schema}\" TO \"{user}\";");
    assert_eq!(statements, [expected]);
}

#[tokio::test]
async fn user_with_rights_on_tables_only_stores_rows() {
    let Some(database) = Database::postgres().await else { return };
    let view = sync(&database.open().await, &service_with(&["{}"])).await.unwrap().view;
    let user = create_user(database.schema()).await;
    let statements = grant_until_it_works(&database, &user, &service_with(&["{}"])).await;
    assert!(statements.iter().all(|statement| !statement.contains("CREATE")), "{statements:?}");
    let store = database.schema().target_of(&user).open().await.unwrap();
    let summary = sync(&store, &service_with(&["{}", r#"{"new":"x"}"#])).await.unwrap();
    assert_eq!(summary.pull.replaced + summary.pull.new, 1);
    let [text, typed] = &summary.changes.outdated[..] else { panic!("one reason per view") };
    for hint in [text, typed] {
        assert!(hint.contains("GRANT USAGE, CREATE ON SCHEMA"), "{hint}");
    }
    // The owner's next run adds the column.
    let summary = sync(&database.open().await, &service_with(&["{}", r#"{"new":"x"}"#])).await;
    assert!(summary.unwrap().changes.outdated.is_empty());
    let select = format!("SELECT new FROM {} WHERE id = 'sub_001'", database.table(&view));
    assert_eq!(database.query(&select).await, [texts(&["x"])]);
}

#[tokio::test]
async fn missing_schema_is_an_error_with_its_statement() {
    let Some(database) = Database::postgres().await else { return };
    let target = database.schema().target().schema("no \"such");
    let error = target.open().await.unwrap_err().to_string();
    assert!(error.ends_with("CREATE SCHEMA \"no \"\"such\";"), "{error}");
}

#[tokio::test]
async fn tables_of_other_programs_stay_as_they_are() {
    let Some(database) = Database::postgres().await else { return };
    let schema = &database.schema().name;
    let create = ["submissions", "sources", "labels", "meta"].map(|name| {
        format!("CREATE TABLE {schema}.{name} (x int); INSERT INTO {schema}.{name} VALUES (7);")
    });
    database.execute(&create.concat()).await;
    sync(&database.open().await, &service(3)).await.unwrap();
    let rows = database.query(&format!("SELECT x FROM {schema}.submissions")).await;
    assert_eq!(rows, [texts(&["7"])]);

    let Some(other) = Database::postgres().await else { return };
    let schema = &other.schema().name;
    other.execute(&format!("CREATE TABLE {schema}.formsvc_labels (x int)")).await;
    let error = other.target.open().await.unwrap_err().to_string();
    assert!(error.contains("is missing, but others exist"), "{error}");
    let count = format!("SELECT count(*) FROM pg_tables WHERE schemaname = '{schema}'");
    assert_eq!(other.query(&count).await, [texts(&["1"])]);
}

#[tokio::test]
async fn tables_of_another_release_are_refused() {
    let Some(database) = Database::postgres().await else { return };
    sync(&database.open().await, &service(3)).await.unwrap();
    let schema = &database.schema().name;
    database.execute(&format!("UPDATE {schema}.formsvc_meta SET version = 9")).await;
    let error = database.target.open().await.unwrap_err().to_string();
    assert!(error.contains("version is `9`"), "{error}");
}

#[tokio::test]
async fn object_of_the_user_under_the_view_name_is_kept() {
    let Some(database) = Database::postgres().await else { return };
    let view = sync(&database.open().await, &service(3)).await.unwrap().view;
    let name = database.table(&view);
    database.execute(&format!("DROP VIEW {name}; CREATE TABLE {name} (x int)")).await;
    let error = sync(&database.open().await, &service(3)).await.unwrap_err();
    assert!(matches!(postgres_error(error), PostgresError::View(_)));
    database.execute(&format!("DROP TABLE {name}")).await;
    sync(&database.open().await, &service(3)).await.unwrap();
    assert_eq!(database.query(&format!("SELECT count(*) FROM {name}")).await, [texts(&["3"])]);
}

#[tokio::test]
async fn lost_connection_is_an_error_and_the_same_call_continues() {
    let Some(database) = Database::postgres().await else { return };
    let (service, schema) = (service(1_500), &database.schema().name);
    let (client, form, options) = (service.client(), form_id(), PullOptions::default());
    let store = database.open().await;
    for pages in [1, 3, 6] {
        let mut left = pages;
        let on_page = |_: PullProgress<'_>| {
            left -= 1;
            if left == 0 {
                terminate_sessions(database.schema(), "true");
            }
        };
        let error = store.sync(&client, &form, None, &options, on_page).await.unwrap_err();
        let error = postgres_error(error);
        assert!(matches!(error, PostgresError::Lost(_)), "{error:?}");
    }
    let summary = store.sync(&client, &form, None, &options, |_| {}).await.unwrap();
    assert_eq!(summary.pull.rows, 1_500);
    let distinct = format!("SELECT count(DISTINCT id) FROM {schema}.formsvc_submissions");
    assert_eq!(database.query(&distinct).await, [texts(&["1500"])]);
}

/// Ends the sessions of runs with this schema for which a condition is true, and waits until they have
/// ended.
fn terminate_sessions(schema: &PostgresSchema, condition: &str) {
    let sql = format!(
        "SELECT bool_and(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity \
         WHERE application_name = '{}' AND {condition}",
        schema.name
    );
    assert_eq!(psql(schema, &sql).trim(), "t");
}

/// Runs a statement in a session of its own, without this process's runtime.
fn psql(schema: &PostgresSchema, sql: &str) -> String {
    let folder = schema.socket_folder();
    let args = ["-XAtq", "-U", "nobody", "-d", "postgres", "-h", &folder, "-c", sql];
    let output = Command::new("psql").args(args).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn query_that_uses_the_view_does_not_stop_a_run() {
    let Some(database) = Database::postgres().await else { return };
    let view = sync(&database.open().await, &service_with(&["{}"])).await.unwrap().view;
    let name = database.table(&view);
    let mut reader = Command::new("psql")
        .args(["-XAtq", "-U", "nobody", "-d", "postgres", "-h", &database.schema().socket_folder()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let stdin = reader.stdin.as_mut().unwrap();
    writeln!(stdin, "BEGIN; SELECT 'ready' FROM {name};").unwrap();
    let mut line = [0; 6];
    reader.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
    let newer = service_with(&["{}", r#"{"new":"x"}"#]);
    let summary = sync(&database.open().await, &newer).await.unwrap();
    let hint = summary.changes.outdated.concat();
    assert!(hint.contains("the next run adds the columns"), "{hint}");
    reader.kill().unwrap();
    reader.wait().unwrap();
    let summary = sync(&database.open().await, &newer).await.unwrap();
    assert!(summary.changes.outdated.is_empty());
    assert!(database.columns(&view).await.contains(&"new".to_owned()));
}

#[tokio::test]
async fn nothing_new_writes_no_row() {
    let Some(database) = Database::postgres().await else { return };
    let service = service_with(&["{}"; 20]);
    let store = database.open().await;
    sync(&store, &service).await.unwrap();
    let schema = &database.schema().name;
    let versions = ["sources", "submissions", "labels", "coverage"]
        .map(|table| format!("SELECT string_agg(xmin::text, ',') FROM {schema}.formsvc_{table}"));
    // A lock on a row changes xmax only.
    let versions = versions.join(" UNION ALL ");
    let before = database.query(&versions).await;
    sync(&store, &service).await.unwrap();
    assert_eq!(database.query(&versions).await, before);
}

#[tokio::test]
async fn run_after_a_lost_lock_merges_the_other_run() {
    let Some(database) = Database::postgres().await else { return };
    let service = service(2_000);
    let mut pages = 0;
    let on_page = |_: PullProgress<'_>| {
        pages += 1;
        if pages == 1 {
            // An administrator ends the session of the lock; another run stores 700 submissions.
            let has_lock = "pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory')";
            terminate_sessions(database.schema(), has_lock);
            let client = limited(&service, 7, Fault::Error(ErrorCode::KeyRevoked));
            let target = database.target.clone();
            let other = std::thread::spawn(move || {
                let runtime =
                    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(async { sync_by(&target.open().await.unwrap(), &client).await })
            });
            assert!(matches!(other.join().unwrap(), Err(ExportError::Service(_))));
        }
    };
    let store = database.open().await;
    let options = PullOptions::default();
    let summary = store.sync(&service.client(), &form_id(), None, &options, on_page).await.unwrap();
    // Pages overlap by a few submissions.
    assert!((1_300..1_500).contains(&summary.pull.new), "{}", summary.pull.new);
    let status = store.status().await.unwrap().pop().unwrap();
    assert_eq!((status.rows, status.coverage.intervals().len()), (2_000, 1));
}

#[tokio::test]
async fn server_errors_contain_message_and_code() {
    let Some(database) = Database::postgres().await else { return };
    let schema = database.schema();
    sync(&database.open().await, &service(3)).await.unwrap();
    database
        .execute(&format!(
            "ALTER TABLE {0}.formsvc_labels RENAME COLUMN heading TO other",
            schema.name
        ))
        .await;
    let refused = sync(&database.open().await, &service(3)).await.unwrap_err();
    let port = schema.url().replace("postgres?", "no_database?password=hunter2&");
    let missing = port.parse::<SyncTarget>().unwrap().open().await.unwrap_err();
    for (error, expected) in [
        (
            refused,
            "the database refused a statement: ERROR: column \"heading\" does not exist (42703)",
        ),
        (
            missing,
            "cannot connect to the database: FATAL: database \"no_database\" does not exist (3D000)",
        ),
    ] {
        assert_eq!(error.to_string(), expected);
        assert!(std::error::Error::source(&error).is_none());
    }
}

#[tokio::test]
async fn silent_server_is_an_error_after_the_connect_timeout() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let url = format!("postgres://me:hunter2@127.0.0.1:{port}/d?connect_timeout=1");
    let open = url.parse::<SyncTarget>().unwrap();
    let opened = tokio::time::timeout(Duration::from_secs(30), open.open()).await;
    let error = opened.expect("the connection has a limit").unwrap_err().to_string();
    assert!(error.contains("did not answer within 1 s (`connect_timeout`"), "{error}");
}

#[tokio::test]
async fn missing_tls_does_not_hide_the_reason() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let refusal = b"SFATAL\0C3D000\0Mdatabase \"d\" does not exist\0\0";
        let len = u32::try_from(refusal.len() + 4).unwrap().to_be_bytes();
        let (mut client, _) = listener.accept().unwrap();
        for answer in [b"N".to_vec(), [&b"E"[..], &len, refusal].concat()] {
            let mut first = [0; 8];
            client.read_exact(&mut first).unwrap();
            client.write_all(&answer).unwrap();
        }
    });
    let target = format!("postgres://me@127.0.0.1:{port}/d").parse::<SyncTarget>().unwrap();
    let error = target.open().await.unwrap_err().to_string();
    assert!(error.contains("database \"d\" does not exist (3D000)"), "{error}");
    server.join().unwrap();
}

#[tokio::test]
async fn row_lock_of_another_session_ends_with_the_time_limit() {
    let Some(database) = Database::postgres().await else { return };
    let (store, service) = (database.open().await, service(3));
    sync(&store, &service).await.unwrap();
    let other = database.schema().connect().await;
    let schema = &database.schema().name;
    let lock = format!("BEGIN; SELECT key FROM {schema}.formsvc_sources FOR UPDATE");
    other.batch_execute(&lock).await.unwrap();
    let options = PullOptions::default().time_limit(Duration::from_secs(1));
    let (client, form) = (service.client(), form_id());
    let run = store.sync(&client, &form, None, &options, |_| {});
    let error = tokio::time::timeout(Duration::from_secs(30), run).await.unwrap().unwrap_err();
    assert!(matches!(error, ExportError::TimeLimit), "{error}");
    other.batch_execute("COMMIT").await.unwrap();
    sync(&store, &service).await.unwrap();
}

#[tokio::test]
async fn lock_timeout_is_a_conflict() {
    let Some(database) = Database::postgres().await else { return };
    let service = service(3);
    sync(&database.open().await, &service).await.unwrap();
    let other = database.schema().connect().await;
    let schema = &database.schema().name;
    let lock = format!("BEGIN; SELECT key FROM {schema}.formsvc_sources FOR UPDATE");
    other.batch_execute(&lock).await.unwrap();
    let store = target_with(&database, "lock_timeout=50").open().await.unwrap();
    let error = postgres_error(sync(&store, &service).await.unwrap_err());
    assert!(matches!(error, PostgresError::Conflict(_)), "{error:?}");
}

/// The database with a setting of the server.
fn target_with(database: &Database, setting: &str) -> SyncTarget {
    let (url, schema) = database.address();
    let setting = setting.replace('=', "%3D");
    let url = format!("{url}&options=-c%20{setting}");
    url.parse::<SyncTarget>().unwrap().schema(schema)
}

#[tokio::test]
async fn serializable_default_does_not_disturb_runs() {
    let Some(database) = Database::postgres().await else { return };
    let target = target_with(&database, "default_transaction_isolation=serializable");
    let service = service(300);
    let run = async || sync(&target.open().await.unwrap(), &service).await.unwrap();
    // All runs create the tables, and wait for the lock.
    let (first, second, third) = tokio::join!(run(), run(), run());
    assert_eq!(first.pull.new + second.pull.new + third.pull.new, 300);
}

#[tokio::test]
async fn idle_timeout_of_the_server_does_not_end_the_lock() {
    let Some(database) = Database::postgres().await else { return };
    let target = target_with(&database, "idle_in_transaction_session_timeout=500");
    let service = service(300);
    let store = target.open().await.unwrap();
    let has_lock = format!(
        "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) \
         WHERE locktype = 'advisory' AND application_name = '{}'",
        database.schema().name
    );
    let mut locks = None;
    let on_page = |_: PullProgress<'_>| {
        // Sleeps because the time limit of the server has to pass.
        let count = || psql(database.schema(), &format!("SELECT pg_sleep(1); {has_lock}"));
        locks.get_or_insert_with(count);
    };
    let (client, form, options) = (service.client(), form_id(), PullOptions::default());
    store.sync(&client, &form, None, &options, on_page).await.unwrap();
    assert_eq!(locks.unwrap().trim(), "1");
}

#[tokio::test]
async fn database_without_utf8_is_refused_with_the_remedy() {
    let Some(database) = Database::postgres().await else { return };
    let schema = database.schema();
    let url = |name: &str| schema.url().replacen("///postgres?", &format!("///{name}?"), 1);
    let ascii = format!("ascii_{}", schema.name);
    let create = format!("CREATE DATABASE {ascii} ENCODING 'SQL_ASCII' TEMPLATE template0");
    schema.query(&create).await;
    let target = url(&ascii).parse::<SyncTarget>().unwrap();
    let message = target.open().await.unwrap_err().to_string();
    assert!(message.contains("the encoding of the database is `SQL_ASCII`"), "{message}");
    // The statement of the message creates a database that works.
    let (_, statement) = message.split_once("`UTF8`: `").unwrap();
    let utf8 = format!("utf8_{}", schema.name);
    schema.query(&statement.trim_end_matches('`').replace(" forms ", &format!(" {utf8} "))).await;
    let store = url(&utf8).parse::<SyncTarget>().unwrap().open().await.unwrap();
    assert_eq!(sync(&store, &service(3)).await.unwrap().pull.new, 3);
}
