//! Marks a submission as handled in a transaction of sqlx, by the SQL that the receiver documents, and opens a
//! row store: one SQLite serves all three crates. Arguments: an SQLite URL and the id of the submission.

use std::time::{SystemTime, UNIX_EPOCH};

use formsvc_export::SyncTarget;
use formsvc_receiver::inbox::{DEFAULT_TTL, SqliteMarks};
use sqlx::SqlitePool;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [url, id] = [1, 2].map(|index| std::env::args().nth(index).unwrap_or_default());
    let db = SqlitePool::connect(&url).await?;
    sqlx::raw_sql(SqliteMarks::CREATE_TABLE).execute(&db).await?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let millis = |time: std::time::Duration| i64::try_from(time.as_millis());
    let mut transaction = db.begin_with("BEGIN IMMEDIATE").await?;
    let mark = sqlx::query(SqliteMarks::MARK)
        .bind("default")
        .bind(id.as_bytes())
        .bind(millis(now + DEFAULT_TTL)?)
        .bind(millis(now)?);
    let is_new = mark.execute(&mut *transaction).await?.rows_affected() == 1;
    transaction.commit().await?;
    println!("{}", if is_new { "new" } else { "duplicate" });
    println!("{}", SyncTarget::sqlite("rows.db"));
    Ok(())
}
