//! Adds the header `traceparent` to every request, so that the service's log can be matched with a trace.

use std::error::Error;
use std::sync::Arc;

use formsvc_client::ClientBuilder;
use formsvc_client::bytes::Bytes;
use formsvc_client::http::{HeaderValue, Request, Response};
use formsvc_client::transport::{AttemptContext, BoxFuture, Transport, TransportError};

/// The built-in transport, with one more header.
struct WithTraceParent {
    inner: Arc<dyn Transport>,
    trace_parent: HeaderValue,
}

impl Transport for WithTraceParent {
    fn send<'a>(
        &'a self,
        mut request: Request<Bytes>,
        context: &'a AttemptContext,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        request.headers_mut().insert("traceparent", self.trace_parent.clone());
        self.inner.send(request, context)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let trace_parent = std::env::var("TRACEPARENT")?.parse()?;
    let client = ClientBuilder::from_env()?
        .wrap_transport(|inner| WithTraceParent { inner, trace_parent })
        .build()?;
    println!("{}", client.me().await?.email);
    Ok(())
}
