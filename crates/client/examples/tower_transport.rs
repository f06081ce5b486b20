//! A transport that sends requests through a tower service.
#![expect(clippy::print_stdout, reason = "an example prints")]

use formsvc_client::Client;
use formsvc_client::bytes::Bytes;
use formsvc_client::http::{Request, Response};
use formsvc_client::transport::{
    AttemptContext, BoxFuture, Transport, TransportError, TransportErrorKind,
};
use tower::{Service, ServiceExt, service_fn};

struct TowerTransport<S>(S);

impl<S> Transport for TowerTransport<S>
where
    S: Service<Request<Bytes>, Response = Response<Bytes>> + Clone + Send + Sync + 'static,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    S::Future: Send,
{
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        _context: &'a AttemptContext,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        let answer = self.0.clone().oneshot(request);
        Box::pin(async {
            answer.await.map_err(|e| TransportError::new(TransportErrorKind::Other, e))
        })
    }
}

const USER: &str = r#"{"id":"usr_1","email":"ada@example.org","name":"Ada"}"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let service = service_fn(async |_| Ok::<_, std::io::Error>(Response::new(Bytes::from(USER))));
    let builder = Client::builder().base_url("https://forms.example").api_key("fsk_example");
    let client = builder.transport(TowerTransport(service)).build()?;
    println!("{}", client.me().await?.name);
    Ok(())
}
