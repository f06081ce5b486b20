//! A service with submissions that violate the API.

use bytes::Bytes;
use formsvc_client::Client;
use formsvc_client::test_util::MockService;
use formsvc_client::transport::{AttemptContext, BoxFuture, Transport, TransportError};
use http::{Request, Response};

struct Spoiled {
    service: MockService,
    numbers: &'static [u32],
}

/// A client of a service in memory. The submissions with these answers `Number` have no answers: their
/// `data` is null.
pub(crate) fn spoiled(service: &MockService, numbers: &'static [u32]) -> Client {
    let transport = Spoiled { service: service.clone(), numbers };
    service.client_builder().transport(transport).build().unwrap()
}

impl Transport for Spoiled {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        context: &'a AttemptContext,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let response = self.service.send(request, context).await?;
            Ok(response.map(|body| {
                let text = String::from_utf8(body.into()).unwrap();
                let text = self.numbers.iter().fold(text, |text, number| {
                    text.replace(&format!(r#""data":{{"Number":{number}}}"#), r#""data":null"#)
                });
                text.into()
            }))
        })
    }
}
