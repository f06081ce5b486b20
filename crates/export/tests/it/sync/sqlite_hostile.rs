//! SQLite databases with objects that run code or hide submissions.

use std::time::Duration;

use formsvc_export::{ExportError, RowRange, RowSource, SpoolFolder, StoreProblem};
use rusqlite::Connection;

use super::database::{Database, texts};
use super::{service, service_with, sync};

/// A view without end in place of a table.
const ENDLESS: &str = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS key, \
     x AS source, '' AS origin, '' AS form_id, '' AS title, '' AS view, 0 AS rows, '' AS id FROM n";

/// Asserts that a database is neither read nor written, and that the error contains the text.
async fn assert_refused(database: &Database, expected: &str) {
    let before = std::fs::read(database.path()).unwrap();
    let ExportError::Store(error) = database.target.open().await.unwrap_err() else { panic!() };
    let is_object =
        matches!(error.problem(), StoreProblem::Object(_) | StoreProblem::ChangedTable(_));
    assert!(is_object, "{error}");
    assert!(error.to_string().contains(expected), "{error}");
    assert_eq!(std::fs::read(database.path()).unwrap(), before);
}

#[tokio::test]
async fn trigger_on_a_table_of_the_program_is_refused() {
    let database = Database::sqlite();
    sync(&database.open().await, &service(3)).await.unwrap();
    for table in ["submissions", "sources", "coverage", "SubMissions"] {
        let create = format!(
            "CREATE TRIGGER \"my trigger\" AFTER INSERT ON {table} BEGIN DELETE FROM submissions; END"
        );
        database.execute(&create).await;
        let expected = format!("trigger `my trigger` on table `{}`", table.to_lowercase());
        assert_refused(&database, &expected).await;
        database.execute("DROP TRIGGER \"my trigger\"").await;
    }
    sync(&database.open().await, &service(3)).await.unwrap();
}

#[tokio::test]
async fn object_in_place_of_a_table_is_refused() {
    for table in ["sources", "submissions", "coverage", "left_out"] {
        for (kind, create, expected) in [
            ("VIEW", format!("CREATE VIEW {table} AS {ENDLESS}"), "it has view"),
            ("TABLE", format!("CREATE VIRTUAL TABLE {table} USING fts5 (id)"), "its table"),
            ("TABLE", format!("CREATE TABLE {table} (source, id AS (source))"), "its table"),
        ] {
            let database = Database::sqlite();
            sync(&database.open().await, &service(3)).await.unwrap();
            database
                .execute(&format!("PRAGMA foreign_keys = OFF; DROP TABLE {table}; {create}"))
                .await;
            assert_refused(&database, &format!("{expected} `{table}`")).await;
            database.execute(&format!("DROP {kind} {table}")).await;
            let error = database.target.open().await.unwrap_err().to_string();
            assert!(error.contains(&format!("table `{table}` is missing")), "{error}");
        }
    }
}

#[tokio::test]
async fn changed_table_is_refused() {
    let database = Database::sqlite();
    sync(&database.open().await, &service(3)).await.unwrap();
    database.execute("ALTER TABLE labels ADD COLUMN x AS (position)").await;
    assert_refused(&database, "its table `labels` is not as formsvc creates it").await;
}

#[tokio::test]
async fn unique_index_of_the_user_removes_no_label() {
    let database = Database::sqlite();
    sync(&database.open().await, &service(0)).await.unwrap();
    database.execute("CREATE UNIQUE INDEX x ON labels (source)").await;
    let error = sync(&database.open().await, &service_with(&[r#"{"a":1,"b":2}"#])).await;
    assert!(error.unwrap_err().to_string().contains("UNIQUE constraint failed"));
    database.execute("DROP INDEX x").await;
    let view = sync(&database.open().await, &service_with(&[r#"{"a":1,"b":2}"#])).await.unwrap();
    let columns = database.columns(&view.view).await;
    assert!(columns.ends_with(&["a".to_owned(), "b".to_owned()]), "{columns:?}");
}

#[tokio::test]
async fn view_in_place_of_the_version_is_foreign() {
    let database = Database::sqlite();
    sync(&database.open().await, &service(3)).await.unwrap();
    database.execute(&format!("DROP TABLE meta; CREATE VIEW meta AS {ENDLESS}")).await;
    let ExportError::Store(error) = database.target.open().await.unwrap_err() else { panic!() };
    assert!(matches!(error.problem(), StoreProblem::Foreign), "{error}");
}

#[tokio::test]
async fn objects_of_the_user_are_kept_and_not_used() {
    let database = Database::sqlite();
    sync(&database.open().await, &service(3)).await.unwrap();
    let own = "CREATE TABLE notes (id TEXT PRIMARY KEY, note TEXT, source, submission,
             FOREIGN KEY (source, submission) REFERENCES submissions (source, id));
         CREATE TRIGGER own AFTER INSERT ON notes BEGIN DELETE FROM submissions; END;
         CREATE INDEX by_created_at ON submissions (created_at);
         CREATE VIEW latest AS SELECT * FROM submissions ORDER BY instant DESC LIMIT 1;
         CREATE VIEW deep AS SELECT latest.id FROM latest, latest AS other;";
    database.execute(own).await;
    let objects = "SELECT name, sql FROM sqlite_schema \
         WHERE name IN ('notes', 'own', 'by_created_at', 'latest', 'deep') ORDER BY name";
    let before = database.query(objects).await;
    assert_eq!(before.len(), 5);
    let summary = sync(&database.open().await, &service(5)).await.unwrap();
    assert_eq!(summary.pull.rows, 5);
    assert_eq!(database.query(objects).await, before);
    assert_eq!(database.query("SELECT id FROM latest").await, [texts(&["sub_5"])]);
}

#[tokio::test]
async fn statement_ends_at_the_time_limit() {
    let database = Database::sqlite();
    let store = database.open().await;
    sync(&store, &service(2_000)).await.unwrap();
    let form = store.status().await.unwrap().pop().unwrap();
    let spools = SpoolFolder::temporary().unwrap();
    for (limit, expected) in [(None, 2_000), (Some(Duration::ZERO), 0)] {
        let store = database.target.clone().time_limit(limit).open().await.unwrap();
        let mut count = 0;
        let rows = store.rows(&form, RowRange::default(), &spools).await;
        let read = rows.and_then(|rows| {
            rows.for_each(&mut |_| {
                count += 1;
                Ok(())
            })
        });
        assert_eq!(read.is_ok(), limit.is_none());
        assert!(matches!(read, Ok(()) | Err(ExportError::TimeLimit)), "{read:?}");
        assert!(count >= expected && count < expected + 1_000, "{count}");
    }
}

#[tokio::test]
async fn damaged_schema_is_an_error() {
    let database = Database::sqlite();
    sync(&database.open().await, &service(3)).await.unwrap();
    let connection = Connection::open(database.path()).unwrap();
    connection
        .execute_batch(
            "PRAGMA writable_schema = ON;
             UPDATE sqlite_schema SET sql = 'CREATE TABLE submissions (x' WHERE name = 'submissions'",
        )
        .unwrap();
    drop(connection);
    let ExportError::Store(error) = database.target.open().await.unwrap_err() else { panic!() };
    assert!(matches!(error.problem(), StoreProblem::Damaged(_)), "{error}");
}

#[tokio::test]
async fn texts_of_many_megabytes_are_damage() {
    for (table, insert) in [
        ("labels", "(source, position, label, heading) VALUES (1, {n}, {text}, '')"),
        ("left_out", "VALUES (1, {n}, '', {text})"),
        ("sources", "(origin, form_id, title) VALUES ('', '{n}', {text})"),
    ] {
        let database = Database::sqlite();
        sync(&database.open().await, &service(3)).await.unwrap();
        for number in ["98", "99"] {
            let values = insert.replace("{n}", number).replace("{text}", "hex(zeroblob(17 << 20))");
            database.execute(&format!("INSERT INTO {table} {values}")).await;
        }
        let store = database.open().await;
        let error = match store.status().await {
            Ok(_) => sync(&store, &service(3)).await.unwrap_err(),
            Err(error) => error,
        };
        let ExportError::Store(error) = &error else { panic!("{error:?}") };
        assert!(matches!(error.problem(), StoreProblem::Damaged(_)), "{table}: {error}");
        assert!(error.to_string().contains(&format!("`{table}` has more than 64 MiB")), "{error}");
    }
}
