//! The child `sink`: the endpoint that deliveries go to. It reads each to its end, answers 200, and
//! does nothing else.

use std::convert::Infallible;
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

use crate::child::{self, Background};
use crate::error::BenchError;
use crate::pin;

/// What it says once it answers.
#[derive(Serialize, Deserialize)]
struct Listening {
    addr: SocketAddr,
}

/// An endpoint in a process of its own, on the core of clients.
pub(crate) struct Sink {
    process: Background,
    addr: SocketAddr,
}

impl Sink {
    pub(crate) fn start() -> Result<Self, BenchError> {
        let mut process = Background::start(child::this_program()?.arg("sink"))?;
        let Listening { addr } = process.first_line()?;
        Ok(Self { process, addr })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook", self.addr)
    }
}

pub(crate) fn run() -> Result<(), BenchError> {
    pin::to_core(pin::CLIENT)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|why| BenchError::io("cannot start", why))?;
    let addr = runtime.block_on(runtime.spawn(listen()));
    let addr = addr.map_err(|why| BenchError::because("the sink panicked", why))??;
    child::print_json(&Listening { addr })?;
    // The benchmark closes it when it is done, or gone.
    let _ = std::io::stdin().read(&mut [0]);
    runtime.shutdown_background();
    Ok(())
}

async fn listen() -> Result<SocketAddr, BenchError> {
    let failed = |why| BenchError::io("cannot listen", why);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(failed)?;
    let addr = listener.local_addr().map_err(failed)?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // Without it the last segment may wait.
            let _ = stream.set_nodelay(true);
            tokio::spawn(async move {
                let http = hyper::server::conn::http1::Builder::new();
                // Clients end by closing their connections.
                let _ = http.serve_connection(TokioIo::new(stream), service_fn(swallow)).await;
            });
        }
    });
    Ok(addr)
}

async fn swallow(
    request: http::Request<Incoming>,
) -> Result<http::Response<Empty<Bytes>>, Infallible> {
    let mut body = request.into_body();
    while let Some(Ok(_)) = body.frame().await {}
    Ok(http::Response::new(Empty::new()))
}
