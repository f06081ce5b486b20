//! Serves the submissions of a form as CSV. The argument is the id of the form. After a request that was given
//! up, the next one continues with the submissions received so far.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use formsvc_client::{Client, FormId};
use formsvc_export::{Export, SpoolFolder};

async fn export(State((client, form)): State<(Client, FormId)>) -> Response {
    match csv(client, form).await {
        Ok(csv) => ([(CONTENT_TYPE, "text/csv")], csv).into_response(),
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}

async fn csv(client: Client, form: FormId) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("rows.csv");
    Export::new(client, form).spools(SpoolFolder::new("state")).to_file(&path).await?;
    Ok(tokio::fs::read(path).await?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let form = std::env::args().nth(1).ok_or("usage: axum_export FORM_ID")?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    let state = (Client::from_env()?, form.parse()?);
    let app = axum::Router::new().route("/", get(export)).with_state(state);
    Ok(axum::serve(listener, app).await?)
}
