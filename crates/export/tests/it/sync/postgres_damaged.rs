//! PostgreSQL tables of which the owner changed a column or a value.

use formsvc_export::{ExportError, PostgresError, RowRange, RowSource, SpoolFolder};

use super::database::Database;
use super::{service, sync};

/// Reads the status and the rows of a database, then synchronizes it.
async fn use_all(database: &Database) -> Result<(), ExportError> {
    let store = database.target.open().await?;
    for form in store.status().await? {
        let spools = SpoolFolder::temporary()?;
        store.rows(&form, RowRange::default(), &spools).await?.for_each(&mut |_| Ok(()))?;
    }
    sync(&store, &service(3)).await.map(drop)
}

#[tokio::test]
async fn changed_column_of_a_table_is_damage() {
    for (table, change) in [
        ("sources", "ALTER title TYPE bytea USING title::bytea"),
        ("submissions", "ALTER created_at TYPE bytea USING created_at::bytea"),
        ("submissions", "ALTER data TYPE jsonb USING data::jsonb"),
        ("coverage", "ALTER completeness TYPE bytea USING completeness::bytea"),
        ("labels", "ALTER types TYPE text"),
        ("labels", "ALTER heading TYPE text USING NULL"),
    ] {
        let Some(database) = Database::postgres().await else { return };
        sync(&database.open().await, &service(3)).await.unwrap();
        use_all(&database).await.unwrap();
        let schema = &database.schema().name;
        database.execute(&format!("ALTER TABLE {schema}.formsvc_{table} {change}")).await;
        let error = use_all(&database).await.unwrap_err();
        let ExportError::Postgres(PostgresError::Damaged(reason)) = &error else {
            panic!("{change}: {error:?}")
        };
        assert!(reason.contains("column"), "{change}: {reason}");
    }
}

#[tokio::test]
async fn texts_of_many_megabytes_are_damage() {
    for (table, values) in
        [("labels", "VALUES (1, {n}, {text}, '')"), ("left_out", "VALUES (1, {n}, '', {text})")]
    {
        let Some(database) = Database::postgres().await else { return };
        sync(&database.open().await, &service(3)).await.unwrap();
        let schema = &database.schema().name;
        for number in ["98", "99"] {
            let values = values.replace("{n}", number).replace("{text}", "repeat('x', 34 << 20)");
            database.execute(&format!("INSERT INTO {schema}.formsvc_{table} {values}")).await;
        }
        let error = sync(&database.open().await, &service(3)).await.unwrap_err();
        let ExportError::Postgres(PostgresError::Damaged(reason)) = &error else {
            panic!("{table}: {error:?}")
        };
        assert_eq!(*reason, format!("table `{table}` has more than 64 MiB"));
    }
}
