//! The whole `formsvc-server` command, with the places where a test has it die. Only for tests.
//!
//! `server remove-endpoint ID` removes an endpoint of the database that
//! `FORMSVC_SERVER_DATABASE` names; everything else is the command's own.

use std::error::Error;
use std::process::ExitCode;

use formsvc_protocol::EndpointId;
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{Store, system_clock};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [command, id] = &arguments[..]
        && command == "remove-endpoint"
    {
        remove_endpoint(id)?;
        return Ok(ExitCode::SUCCESS);
    }
    Ok(formsvc_server::cmd::main(std::env::args_os()))
}

#[tokio::main]
async fn remove_endpoint(id: &str) -> Result<(), Box<dyn Error>> {
    let database = std::env::var("FORMSVC_SERVER_DATABASE")?;
    let store = SqliteStore::open(database.as_ref(), system_clock())?;
    store.remove_endpoint(&EndpointId::new(id)?).await?;
    Ok(store.close().await?)
}
