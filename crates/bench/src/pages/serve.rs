//! The child `serve`: the server under load, in one of its variants.

use std::convert::Infallible;
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use formsvc_server::api::{Api, Trail};
use formsvc_server::rate_limit::{RateLimit, RateLimiter, monotonic_clock};
use formsvc_server::serve::{Running, ServeOptions, Server};
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{Store, system_clock};
use formsvc_server::telemetry::{self, LogFormat};
use http::{HeaderMap, HeaderValue, header};
use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde::Serialize;
use tokio::net::TcpListener;
use tracing::level_filters::LevelFilter;

use super::reserialise;
use crate::args::{Serve, Variant};
use crate::error::BenchError;
use crate::{child, pin};

/// The path of the pages.
pub(crate) const ROUTE: &str = "/api/v1/forms/{form_id}/submissions";

/// What is told once it answers.
#[derive(Serialize)]
struct Listening {
    addr: SocketAddr,
}

pub(crate) fn run(args: &Serve) -> Result<(), BenchError> {
    pin::to_core(args.core)?;
    let logged = matches!(args.variant, Variant::StoreLogged | Variant::ConstantLogged);
    // As `formsvc-server serve` does unless told otherwise, until the end.
    let _log = logged.then(|| telemetry::init(LevelFilter::INFO, LogFormat::Text, system_clock()));
    let page = match &args.page {
        Some(path) => Bytes::from(std::fs::read(path).map_err(BenchError::at(path))?),
        None => Bytes::new(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|why| BenchError::io("cannot start", why))?;
    let serving = runtime.block_on(runtime.spawn(start(args.variant, args.database.clone(), page)));
    let serving = serving.map_err(|why| BenchError::because("the server panicked", why))??;
    child::print_json(&Listening { addr: serving.addr() })?;
    // The benchmark closes it when it is done, or gone.
    let _ = std::io::stdin().read(&mut [0]);
    runtime.shutdown_background();
    Ok(())
}

/// A server that runs as long as this is kept.
enum Serving {
    Ours(Box<Running>),
    Hyper(SocketAddr),
}

impl Serving {
    fn addr(&self) -> SocketAddr {
        match self {
            Self::Ours(running) => running.local_addr(),
            Self::Hyper(addr) => *addr,
        }
    }
}

async fn start(
    variant: Variant,
    database: std::path::PathBuf,
    page: Bytes,
) -> Result<Serving, BenchError> {
    // It counts every request and refuses none.
    let rate_limit = RateLimit::per_minute(NonZeroU32::MAX);
    let options = ServeOptions { rate_limit, ..ServeOptions::default() };
    let open = || -> Result<Arc<dyn Store>, BenchError> {
        let store = SqliteStore::open(&database, system_clock());
        Ok(Arc::new(store.map_err(|why| BenchError::because("cannot open the database", why))?))
    };
    let running = match variant {
        Variant::Store | Variant::StoreLogged => Server::bind(options, open()?).await,
        Variant::Hyper => return bare(page).await,
        Variant::Constant | Variant::ConstantLogged => {
            Server::bind_router(options, Router::new().route(ROUTE, get(constant)).with_state(page))
                .await
        }
        Variant::ConstantAdmitted => {
            let api = Arc::new(Api::new(open()?, RateLimiter::new(rate_limit, monotonic_clock())));
            let router = Router::new().route(ROUTE, get(admitted)).with_state((api, page));
            Server::bind_router(options, router).await
        }
        Variant::Reserialise => {
            let api = Arc::new(Api::new(open()?, RateLimiter::new(rate_limit, monotonic_clock())));
            let router = Router::new().route(ROUTE, get(reserialise::list)).with_state(api);
            Server::bind_router(options, router).await
        }
    };
    let running = running.map(|running| Serving::Ours(Box::new(running)));
    running.map_err(|why| BenchError::because("cannot serve", why))
}

async fn constant(State(page): State<Bytes>) -> Response {
    Trail::of(ROUTE).close(Ok(page))
}

async fn admitted(State((api, page)): State<(Arc<Api>, Bytes)>, headers: HeaderMap) -> Response {
    let mut trail = Trail::of(ROUTE);
    let admitted = api.admit(&headers, &mut trail).await;
    trail.close(admitted.map(|_| page))
}

/// hyper and the page, nothing else.
async fn bare(page: Bytes) -> Result<Serving, BenchError> {
    let failed = |why| BenchError::io("cannot listen", why);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(failed)?;
    let addr = listener.local_addr().map_err(failed)?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let page = page.clone();
            // Without it the last segment may wait.
            let _ = stream.set_nodelay(true);
            tokio::spawn(async move {
                let service = service_fn(move |_| {
                    let mut response = http::Response::new(Full::new(page.clone()));
                    let json = HeaderValue::from_static("application/json");
                    response.headers_mut().insert(header::CONTENT_TYPE, json);
                    async move { Ok::<_, Infallible>(response) }
                });
                let http = hyper::server::conn::http1::Builder::new();
                // The load ends by closing its connections.
                let _ = http.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    Ok(Serving::Hyper(addr))
}
