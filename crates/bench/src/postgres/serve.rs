//! The child `serve-postgres`: the server on PostgreSQL, or the same one with a constant page.

use std::io::Read;
use std::num::NonZeroU32;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use formsvc_server::api::Trail;
use formsvc_server::rate_limit::RateLimit;
use formsvc_server::secrets::Vault;
use formsvc_server::serve::{Running, ServeOptions, Server};
use formsvc_server::store::Store;
use formsvc_server::store::postgres::{PostgresOptions, PostgresStore};

use super::Listening;
use crate::args::ServePostgres;
use crate::database::{self, NOWHERE};
use crate::error::BenchError;
use crate::pages::serve::ROUTE;
use crate::{child, pin};

pub(crate) fn run(args: &ServePostgres) -> Result<(), BenchError> {
    pin::to_core(pin::SERVER)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|why| BenchError::io("cannot start", why))?;
    let serving = runtime.block_on(start(args))?;
    child::print_json(&Listening { addr: serving.local_addr() })?;
    // The benchmark closes it when it is done, or gone.
    let _ = std::io::stdin().read(&mut [0]);
    runtime.shutdown_background();
    Ok(())
}

async fn start(args: &ServePostgres) -> Result<Running, BenchError> {
    // It counts every request and refuses none.
    let rate_limit = RateLimit::per_minute(NonZeroU32::MAX);
    let mut options = ServeOptions { rate_limit, ..ServeOptions::default() };
    options.public.per_address = rate_limit;
    options.public.per_form = rate_limit;
    let running = if let Some(path) = &args.page {
        let page = Bytes::from(std::fs::read(path).map_err(BenchError::at(path))?);
        let router = Router::new().route(ROUTE, get(constant)).with_state(page);
        Server::bind_router(options, router).await
    } else {
        let store = open(&args.address).await?;
        if args.make_form {
            make_form(&*store).await?;
        }
        Server::bind(options, store).await
    };
    running.map_err(|why| BenchError::caused("cannot serve", &why))
}

async fn constant(State(page): State<Bytes>) -> Response {
    Trail::of(ROUTE).close(Ok(page))
}

pub(super) async fn open(address: &str) -> Result<Arc<dyn Store>, BenchError> {
    let store = PostgresStore::open(&PostgresOptions::of(address.to_owned().into())).await;
    Ok(Arc::new(store.map_err(|why| BenchError::caused("cannot open the database", &why))?))
}

/// The form that is submitted to, with an endpoint.
pub(super) async fn make_form(store: &dyn Store) -> Result<(), BenchError> {
    let vault = Vault::ephemeral().map_err(|why| BenchError::caused("no key", &why))?;
    let form = database::add_form(store).await?;
    database::add_endpoint(store, &vault, &form, NOWHERE).await
}
