//! Stores each submission in PostgreSQL once: the row and the mark commit in one transaction.

use std::error::Error;

use axum::{Extension, Router, http::StatusCode, routing::post};
use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod};
use formsvc_receiver::inbox::{DedupeResult, PostgresMarks};
use formsvc_receiver::{SubmissionCreated, Verified, Verifier};

async fn hook(Extension(pool): Extension<Pool>, new: Verified<SubmissionCreated>) -> StatusCode {
    let stored = store(&pool, &new).await.inspect_err(|error| eprintln!("{error}"));
    if stored.is_ok() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }
}

async fn store(pool: &Pool, submission: &SubmissionCreated) -> Result<(), Box<dyn Error>> {
    let (id, answers) = (submission.submission_id.as_str(), submission.data.as_json());
    let mut client = pool.get().await?;
    let tx = client.transaction().await?;
    if PostgresMarks::new().mark(&tx, id).await? == DedupeResult::New {
        tx.execute("INSERT INTO submissions VALUES ($1, $2)", &[&id, &answers]).await?;
    }
    Ok(tx.commit().await?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let verifier = Verifier::new(std::env::var("FORMSVC_SIGNING_SECRET")?)?;
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Custom("ROLLBACK".into()) };
    let config = std::env::var("DATABASE_URL")?.parse()?;
    let pool =
        Pool::builder(Manager::from_config(config, tokio_postgres::NoTls, recycling)).build()?;
    let sql = "CREATE TABLE IF NOT EXISTS submissions (id text PRIMARY KEY, answers text)";
    pool.get().await?.batch_execute(&(PostgresMarks::new().create_tables_sql() + sql)).await?;
    let listener = tokio::net::TcpListener::bind(std::env::var("LISTEN")?).await?;
    println!("listening on {}", listener.local_addr()?);
    let router = Router::new().route("/", post(hook)).layer(Extension(pool)).with_state(verifier);
    Ok(axum::serve(listener, router).await?)
}
