//! Stores the new submissions of a form in PostgreSQL with sqlx: each page and the sync point after it in one
//! transaction, so that an interrupted run loses and repeats none. Arguments: the id of the form.

use formsvc_client::{Client, SyncPoint};
use sqlx::PgPool;

const TABLES: &str = "CREATE TABLE IF NOT EXISTS answers (id text PRIMARY KEY, data text NOT NULL);
    CREATE TABLE IF NOT EXISTS sync_points (form text PRIMARY KEY, point text NOT NULL)";
const INSERT: &str = "INSERT INTO answers SELECT * FROM unnest($1::text[], $2::text[])";
const SAVE: &str = "INSERT INTO sync_points VALUES ($1, $2)
    ON CONFLICT (form) DO UPDATE SET point = excluded.point";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let form = std::env::args().nth(1).ok_or("usage: batches FORM_ID")?;
    let db = PgPool::connect(&std::env::var("DATABASE_URL")?).await?;
    sqlx::raw_sql(TABLES).execute(&db).await?;
    let saved: Option<String> = sqlx::query_scalar("SELECT point FROM sync_points WHERE form = $1")
        .bind(&form)
        .fetch_optional(&db)
        .await?;
    let point: SyncPoint = saved.map(|text| text.parse()).transpose()?.unwrap_or_default();
    let client = Client::from_env()?;
    let mut pages = client.form(form.as_str()).submissions().sync_from(&point).pages();
    while let Some(page) = pages.try_next().await? {
        let ids: Vec<&str> = page.submissions().iter().map(|row| row.id.as_str()).collect();
        let data: Vec<&str> = page.submissions().iter().map(|row| row.data.as_json()).collect();
        let mut transaction = db.begin().await?;
        sqlx::query(INSERT).bind(ids).bind(data).execute(&mut *transaction).await?;
        let point = page.sync_point().to_string();
        sqlx::query(SAVE).bind(&form).bind(point).execute(&mut *transaction).await?;
        transaction.commit().await?;
        println!("{} new submissions", page.submissions().len());
    }
    Ok(())
}
