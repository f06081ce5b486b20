//! PostgreSQL: the types of columns, and views that other objects depend on.

use formsvc_client::test_util::submission;
use formsvc_export::{ExportError, PostgresError};

use super::database::{Database, texts};
use super::{FORM, service_with, sync};

/// The types of the columns of a view after the first two.
async fn types(database: &Database, view: &str) -> Vec<String> {
    let select = format!(
        "SELECT format_type(atttypid, -1) FROM pg_attribute WHERE attrelid = '{}'::regclass \
         AND attnum > 2 ORDER BY attnum",
        database.table(view)
    );
    database.query(&select).await.into_iter().map(|mut row| row.remove(0).unwrap()).collect()
}

#[tokio::test]
async fn created_at_of_both_views_is_a_time_to_the_microsecond() {
    let Some(database) = Database::postgres().await else { return };
    let service = service_with(&["{}"]);
    for (id, time) in [("sub_a", "2026-03-01T12:00:00.123456Z"), ("sub_b", "0001-01-01T00:00:00Z")]
    {
        service.submit(FORM, submission(id, "{}", time));
    }
    let view = sync(&database.open().await, &service).await.unwrap().view;
    for view in [view.clone(), format!("{view}_typed")] {
        let select = format!(
            "SELECT pg_typeof(created_at), created_at AT TIME ZONE 'UTC' FROM {} \
             WHERE id IN ('sub_a', 'sub_b') ORDER BY id",
            database.table(&view)
        );
        let time = "timestamp with time zone";
        let first = texts(&[time, "2026-03-01 12:00:00.123456"]);
        assert_eq!(database.query(&select).await, [first, texts(&[time, "0001-01-01 00:00:00"])]);
    }
}

#[tokio::test]
async fn typed_view_has_numbers_and_booleans() {
    let Some(database) = Database::postgres().await else { return };
    let long = "9".repeat(301);
    let first = format!(
        r#"{{"n":7,"r":1.50,"b":true,"t":"7","e":0.30000000000000004,"m":"1","z":null,"l":{long}}}"#
    );
    let second = r#"{"n":-9223372036854775809,"r":2,"b":false,"e":1e-7,"m":1}"#;
    let view = sync(&database.open().await, &service_with(&[&first, second])).await.unwrap().view;
    let typed = format!("{view}_typed");
    assert_eq!(types(&database, &view).await, ["text"; 9]);
    let expected =
        ["text", "numeric", "numeric", "boolean", "text", "numeric", "text", "text", "text"];
    assert_eq!(types(&database, &typed).await, expected);
    let select = format!("SELECT n, r, b, e FROM {} ORDER BY id", database.table(&typed));
    assert_eq!(
        database.query(&select).await,
        [
            texts(&["7", "1.50", "t", "0.30000000000000004"]),
            texts(&["-9223372036854775809", "2", "f", "0.0000001"])
        ]
    );
}

#[tokio::test]
async fn widened_typed_view_is_replaced_and_keeps_its_grants() {
    let Some(database) = Database::postgres().await else { return };
    let store = database.open().await;
    let view = sync(&store, &service_with(&[r#"{"n":1,"z":null}"#])).await.unwrap().view;
    let (typed, reader) = (format!("{view}_typed"), format!("reader_{}", database.schema().name));
    let name = database.table(&typed);
    let grant = format!("CREATE ROLE {reader}; GRANT SELECT ON {name} TO {reader}, PUBLIC");
    database.execute(&grant).await;
    let wider = service_with(&[r#"{"n":"one","z":true}"#, r#"{"n":2}"#]);
    let changes = sync(&store, &wider).await.unwrap().changes;
    assert_eq!((changes.outdated.len(), changes.unfit_rows), (0, 0));
    assert_eq!(types(&database, &typed).await, ["text", "text", "boolean"]);
    let rows = database.query(&format!("SELECT n, z FROM {name} ORDER BY id")).await;
    assert_eq!(rows, [texts(&["one", "t"]), vec![Some("2".to_owned()), None]]);
    for role in [&reader, "public"] {
        let has_right = format!("SELECT has_table_privilege('{role}', '{name}', 'SELECT')");
        assert_eq!(database.query(&has_right).await, [texts(&["t"])], "{role}");
    }
}

#[tokio::test]
async fn typed_view_with_a_dependent_view_keeps_its_types() {
    let Some(database) = Database::postgres().await else { return };
    let store = database.open().await;
    let view = sync(&store, &service_with(&[r#"{"n":1,"b":true}"#])).await.unwrap().view;
    let typed = format!("{view}_typed");
    let (name, mine) = (database.table(&typed), database.table("mine"));
    database.execute(&format!("CREATE VIEW {mine} AS SELECT n, b FROM {name}")).await;
    let wider = [r#"{"n":1,"b":true}"#, r#"{"n":"x","b":true,"new":5}"#, r#"{"n":"2","b":"x"}"#];
    let wider = service_with(&wider);
    for _ in 0..2 {
        let changes = sync(&store, &wider).await.unwrap().changes;
        let [reason] = &changes.outdated[..] else { panic!("{:?}", changes.outdated) };
        assert!(reason.contains("depends on the view"), "{reason}");
        assert!(reason.contains(r#"keep their types: "n", "b""#), "{reason}");
        assert_eq!(changes.unfit_rows, 2);
        assert_eq!(types(&database, &typed).await, ["text", "numeric", "boolean", "numeric"]);
        let rows = database.query(&format!("SELECT n, b FROM {mine} ORDER BY n")).await;
        let [one, two, yes] = ["1", "2", "t"].map(|text| Some(text.to_owned()));
        assert_eq!(rows, [vec![one, yes.clone()], vec![two, None], vec![None, yes]]);
    }
    database.execute(&format!("DROP VIEW {mine}")).await;
    let changes = sync(&store, &wider).await.unwrap().changes;
    assert_eq!((changes.outdated.len(), changes.unfit_rows), (0, 0));
    assert_eq!(types(&database, &typed).await, ["text", "text", "text", "numeric"]);
}

#[tokio::test]
async fn view_of_the_user_under_the_typed_name_is_kept() {
    let Some(database) = Database::postgres().await else { return };
    let view = sync(&database.open().await, &service_with(&[r#"{"n":1}"#])).await.unwrap().view;
    let name = database.table(&format!("{view}_typed"));
    let own = format!(
        "DROP VIEW {name}; CREATE VIEW {name} AS SELECT ''::text AS id, now() AS created_at, \
         ''::text AS other_answers, '{{}}'::json AS n"
    );
    database.execute(&own).await;
    let error = sync(&database.open().await, &service_with(&[r#"{"n":1}"#])).await.unwrap_err();
    assert!(matches!(error, ExportError::Postgres(PostgresError::View(_))), "{error}");
}
