//! Verifies deliveries with the tower layer, in front of hyper. It does not detect duplicates.

use std::convert::Infallible;

use formsvc_receiver::bytes::Bytes;
use formsvc_receiver::http::{Request, Response};
use formsvc_receiver::{Verified, Verifier, VerifyLayer, WebhookEvent};
use http_body_util::Full;
use hyper_util::{rt::TokioIo, rt::TokioTimer, service::TowerToHyperService};

async fn hook(request: Request<Full<Bytes>>) -> Result<Response<Full<Bytes>>, Infallible> {
    if let Some(event) = request.extensions().get::<Verified<WebhookEvent>>() {
        println!("{:?} {:?}", event.kind(), event.as_json());
    }
    Ok(Response::default())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let verifier = Verifier::new(std::env::var("FORMSVC_SIGNING_SECRET")?)?;
    let layers = tower::ServiceBuilder::new().layer(VerifyLayer::new(verifier));
    let service = layers.service_fn(hook);
    let address = std::env::var("LISTEN").unwrap_or("127.0.0.1:9000".into());
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        let service = TowerToHyperService::new(service.clone());
        let mut http = hyper::server::conn::http1::Builder::new();
        // With a timer, hyper limits the time for reading the headers.
        let connection =
            http.timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service);
        tokio::spawn(connection);
    }
}
