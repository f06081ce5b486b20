//! A service on a real socket, for what only a real socket shows.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use formsvc_client::Client;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate, matchers};

/// Answers requests in order; an unexpected one, or an answer left over, fails the test.
pub(crate) struct Served {
    server: MockServer,
    script: Arc<Script>,
}

struct Script {
    left: Mutex<VecDeque<ResponseTemplate>>,
    unexpected: Mutex<Vec<String>>,
}

struct FromScript(Arc<Script>);

impl Respond for FromScript {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        self.0.left.lock().unwrap().pop_front().unwrap_or_else(|| {
            self.0.unexpected.lock().unwrap().push(request.url.path().to_owned());
            ResponseTemplate::new(599)
        })
    }
}

impl Served {
    pub(crate) async fn script(answers: impl IntoIterator<Item = ResponseTemplate>) -> Self {
        let script = Arc::new(Script {
            left: Mutex::new(answers.into_iter().collect()),
            unexpected: Mutex::default(),
        });
        let server = MockServer::start().await;
        let respond = FromScript(script.clone());
        Mock::given(matchers::any()).respond_with(respond).mount(&server).await;
        Self { server, script }
    }

    pub(crate) fn url(&self) -> String {
        self.server.uri()
    }

    pub(crate) fn client(&self) -> Client {
        super::builder().base_url(self.url()).retry(super::quick()).build().unwrap()
    }

    /// The requests that came.
    pub(crate) async fn requests(&self) -> Vec<Request> {
        self.server.received_requests().await.unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let unexpected = self.script.unexpected.lock().unwrap();
            assert!(unexpected.is_empty(), "unexpected requests: {unexpected:?}");
            let left = self.script.left.lock().unwrap().len();
            assert_eq!(left, 0, "answers never asked for");
        }
    }
}

pub(crate) fn answer(code: u16, body: &str) -> ResponseTemplate {
    ResponseTemplate::new(code).set_body_raw(body, "application/json")
}
