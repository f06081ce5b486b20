//! A client with requests that fail after a number of successes.

use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use formsvc_client::Client;
use formsvc_client::test_util::{Fault, MockService};
use formsvc_client::transport::{AttemptContext, BoxFuture, Transport, TransportError};
use http::{Request, Response};

struct Limited {
    service: MockService,
    left: AtomicU32,
    fault: Fault,
}

/// Returns a client of which the first `requests` requests reach the service; all others fail.
pub(crate) fn limited(service: &MockService, requests: u32, fault: Fault) -> Client {
    let transport = Limited { service: service.clone(), left: requests.into(), fault };
    service.client_builder().transport(transport).build().unwrap()
}

impl Transport for Limited {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        context: &'a AttemptContext,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 {
            self.service.fail_next(self.fault.clone());
        }
        self.left.store(left.saturating_sub(1), Ordering::Relaxed);
        self.service.send(request, context)
    }
}
