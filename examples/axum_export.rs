//! Serves the submissions of a form as CSV: `GET /FORM_ID.csv`. A request that is given up costs nothing
//! twice: the next one continues with the submissions received so far. The argument is a port.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use formsvc_client::Client;
use formsvc_export::{Export, SpoolFolder};

async fn export(State(client): State<Client>, Path(form): Path<String>) -> Response {
    match csv(client, form.trim_end_matches(".csv")).await {
        Ok(csv) => ([(CONTENT_TYPE, "text/csv")], csv).into_response(),
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}

async fn csv(client: Client, form: &str) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("rows.csv");
    let state = SpoolFolder::new(std::env::temp_dir().join("axum-export"));
    Export::new(client, form.parse()?).spools(state).to_file(&path).await?;
    Ok(tokio::fs::read(path).await?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port = std::env::args().nth(1).ok_or("usage: axum_export PORT")?;
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    println!("http://{}/", listener.local_addr()?);
    let app = axum::Router::new().route("/{form}", get(export)).with_state(Client::from_env()?);
    Ok(axum::serve(listener, app).await?)
}
