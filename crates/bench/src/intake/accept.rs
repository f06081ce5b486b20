//! The child `accept`: the server that takes submissions in, in one of its variants.

use std::io::Read;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

use formsvc_server::delivery::{Deliveries, Equipment};
use formsvc_server::rate_limit::RateLimit;
use formsvc_server::serve::{Running, ServeOptions, Server};
use formsvc_server::store::Store;

use super::{CLIENTS, Listening, skeleton};
use crate::args::{Accept, Accepting};
use crate::deliveries::{AT_A_TIME, equipment};
use crate::error::BenchError;
use crate::{child, database, pin};

pub(crate) fn run(args: &Accept) -> Result<(), BenchError> {
    pin::to_core(pin::SERVER)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|why| BenchError::io("cannot start", why))?;
    let starting = start(args.variant, args.database.clone(), args.sink.clone());
    let serving = runtime.block_on(runtime.spawn(starting));
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
    Skeleton(SocketAddr),
}

impl Serving {
    fn addr(&self) -> SocketAddr {
        match self {
            Self::Ours(running) => running.local_addr(),
            Self::Skeleton(addr) => *addr,
        }
    }
}

async fn start(
    variant: Accepting,
    database: std::path::PathBuf,
    sink: String,
) -> Result<Serving, BenchError> {
    if variant == Accepting::Skeleton {
        return skeleton::start(&database, &sink, CLIENTS).await.map(Serving::Skeleton);
    }
    ours(variant, &database, &sink).await.map(|ours| Serving::Ours(Box::new(ours)))
}

async fn ours(variant: Accepting, path: &Path, sink: &str) -> Result<Running, BenchError> {
    let store = database::open(path)?;
    let store = if variant == Accepting::Alone { store.with_batch_max(1) } else { store };
    let store: Arc<dyn Store> = Arc::new(store);
    let vault = database::vault(path)?;
    let form = database::add_form(&*store).await?;
    let delivers = variant == Accepting::Delivering;
    let url = if delivers { sink } else { database::NOWHERE };
    database::add_endpoint(&*store, &vault, &form, url).await?;
    let mut options = ServeOptions::default();
    // It counts every submission and refuses none.
    options.public.per_address = RateLimit::per_minute(NonZeroU32::MAX);
    options.public.per_form = options.public.per_address;
    let metrics = Arc::clone(&options.metrics);
    let running = Server::bind(options, Arc::clone(&store));
    let running = running.await.map_err(|why| BenchError::caused("cannot serve", &why))?;
    if !delivers {
        return Ok(running);
    }
    let equipment = Equipment { metrics, ..equipment(store, vault, AT_A_TIME) };
    Ok(running.with_deliveries(Deliveries::start(equipment)))
}
