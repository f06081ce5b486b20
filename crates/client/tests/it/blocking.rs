//! The blocking client.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use bytes::Bytes;
use formsvc_client::blocking::{Client, ClientBuilder, SubmissionQuery};
use formsvc_client::transport::{AttemptContext, BoxFuture, Transport, TransportError};
use formsvc_client::{ErrorKind, RequestOptions, RetryPolicy, Submission, SubmissionId};
use http::{Request, Response};

use crate::support::bodies::{FORMS, USER, last, page};
use crate::support::builder as async_builder;
use crate::support::fake::{Fake, ok, status};

fn builder() -> ClientBuilder {
    ClientBuilder::from(async_builder())
}

fn client(fake: &Arc<Fake>) -> Client {
    builder().transport(fake.wire()).build().unwrap()
}

fn query(fake: &Arc<Fake>) -> SubmissionQuery {
    client(fake).form("frm_1").submissions()
}

#[test]
fn calls_and_lists_work_without_a_runtime() {
    let answers = [USER, FORMS, &page([0, 1], "a"), &last([2]), &last([3])].map(ok);
    let fake = Fake::script(answers);
    let client = client(&fake);
    assert_eq!(client.me().unwrap().name, "Ada");
    assert_eq!(client.forms().unwrap().len(), 1);
    let form = client.form("frm_1");
    let ids: Vec<_> = form.submissions().items().map(|item| item.unwrap().id).collect();
    assert_eq!(
        ids.iter().map(SubmissionId::as_str).collect::<Vec<_>>(),
        ["sub_0", "sub_1", "sub_2"]
    );
    assert_eq!(form.submissions().page().unwrap().len(), 1);
    assert_eq!(form.id().unwrap().as_str(), "frm_1");
}

#[test]
fn page_is_requested_when_it_is_needed() {
    let fake = Fake::script([ok(page([0, 1], "a")), ok(last([2]))]);
    let mut items = query(&fake).items();
    for requests in [1, 1, 2] {
        items.next().unwrap().unwrap();
        assert_eq!(fake.sent().len(), requests);
    }
    assert!(items.next().is_none() && items.next().is_none());
    assert!(items.resume_token().is_finished());

    let fake = Fake::script([ok(page([0], "a")), ok(last([1]))]);
    let mut pages = query(&fake).pages();
    for requests in [1, 2] {
        assert_eq!(pages.next().unwrap().unwrap().len(), 1);
        assert_eq!(fake.sent().len(), requests);
    }
    assert!(pages.next().is_none());
}

#[test]
fn settings_tokens_and_errors_are_those_of_the_async_client() {
    let rows = || ok(page([0, 1, 2, 3], "a"));
    let fake = Fake::script([rows(), rows(), status(403)]);
    let stop = |row: &Submission| row.id == "sub_2";
    let mut items = query(&fake).page_size(4).stop_when(stop).items();
    assert_eq!(items.by_ref().count(), 2);
    let token = items.resume_token();
    let mut rest = query(&fake).page_size(4).resume_from(token).items();
    assert_eq!(rest.next().unwrap().unwrap().id, "sub_2");
    assert_eq!(rest.next().unwrap().unwrap().id, "sub_3");
    let error = rest.next().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Api);
    assert!(rest.next().is_none());
    assert_eq!(rest.resume_token().cursor().unwrap().as_str(), "a");
}

#[test]
fn client_with_options_shares_the_runtime() {
    let fake = Fake::script([status(503), ok(USER)]);
    let client = client(&fake);
    let once = client.with_options(RequestOptions::new().retry(RetryPolicy::none())).unwrap();
    assert_eq!(once.me().unwrap_err().attempts(), 1);
    drop(client);
    once.me().unwrap();
}

/// Every call fails with a config error; construction and drop work.
fn assert_refused() {
    let fake = Fake::script([]);
    let client = client(&fake);
    let query = client.form("frm_1").submissions();
    for error in [
        client.me().unwrap_err(),
        client.forms().unwrap_err(),
        client.find_form("Contact").unwrap_err(),
        client.get_raw("/x", &[]).unwrap_err(),
        query.clone().page().unwrap_err(),
        query.clone().items().try_collect_max(1).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.to_string().contains("runs async tasks"), "{error}");
    }
    let (mut items, mut pages) = (query.clone().items(), query.pages());
    assert_eq!(items.next().unwrap().unwrap_err().kind(), ErrorKind::Config);
    assert_eq!(pages.next().unwrap().unwrap_err().kind(), ErrorKind::Config);
    assert!(items.next().is_none() && pages.next().is_none());
}

#[tokio::test]
async fn call_inside_a_current_thread_runtime_is_config_error() {
    assert_refused();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn call_inside_a_multi_thread_runtime_is_config_error() {
    assert_refused();
    tokio::spawn(async { assert_refused() }).await.unwrap();
}

fn assert_works() {
    let fake = Fake::script([status(503), ok(USER), ok(last([0]))]);
    let client = client(&fake);
    assert_eq!(client.me().unwrap().name, "Ada");
    assert_eq!(client.form("frm_1").submissions().items().count(), 1);
}

#[tokio::test]
async fn call_in_spawn_blocking_works() {
    tokio::task::spawn_blocking(assert_works).await.unwrap();
    let nested = || tokio::runtime::Handle::current().block_on(async { assert_refused() });
    tokio::task::spawn_blocking(nested).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn call_on_a_thread_that_may_block_works() {
    tokio::task::spawn_blocking(assert_works).await.unwrap();
    tokio::task::block_in_place(assert_works);
    let runtime = tokio::runtime::Handle::current();
    let enter = move || {
        let _context = runtime.enter();
        assert_works();
    };
    std::thread::spawn(enter).join().unwrap();
}

#[test]
fn call_from_a_listener_works() {
    let own = Arc::new(Mutex::new(None::<Client>));
    let names = Arc::new(Mutex::new(Vec::new()));
    let (used, received) = (own.clone(), names.clone());
    let fake = Fake::script([ok(USER), ok(USER)]);
    let client = builder()
        .on_event(move |_| {
            let client = used.lock().unwrap().take();
            let name = client.map(|client| client.me().unwrap().name.clone());
            received.lock().unwrap().extend(name);
        })
        .transport(fake.wire())
        .build()
        .unwrap();
    *own.lock().unwrap() = Some(client.clone());
    client.me().unwrap();
    assert_eq!(*names.lock().unwrap(), ["Ada"]);
}

#[test]
fn panic_of_a_callback_reaches_the_caller() {
    let fake = Fake::script([ok(page([0], "a")), ok(last([1])), ok(USER), ok(last([1]))]);
    let client = client(&fake);
    let query = client.form("frm_1").submissions();
    let stop = |row: &Submission| if row.id == "sub_1" { panic!("test") } else { false };
    let mut items = query.clone().stop_when(stop).items();
    items.next().unwrap().unwrap();
    let next = std::panic::AssertUnwindSafe(|| items.next());
    assert!(std::panic::catch_unwind(next).is_err());
    // The position is before the page that the callback did not return from.
    let token = items.resume_token();
    assert!(items.next().is_none() && items.completeness().is_none());
    client.me().unwrap();
    let rest = query.resume_from(token).items().try_collect_max(9).unwrap();
    assert_eq!(rest.len(), 1);
}

/// Spawns a task on the runtime of the client, which keeps the sender until the runtime ends.
struct LeakingTransport(Mutex<mpsc::Sender<()>>);

impl Transport for LeakingTransport {
    fn send<'a>(
        &'a self,
        _request: Request<Bytes>,
        _context: &'a AttemptContext,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        let sender = self.0.lock().unwrap().clone();
        tokio::spawn(async move {
            std::future::pending::<()>().await;
            drop(sender);
        });
        Box::pin(async { Ok(Response::new(Bytes::from_static(USER.as_bytes()))) })
    }
}

#[test]
fn runtime_ends_with_the_last_client_or_list() {
    let (sender, ended) = mpsc::channel();
    let transport = LeakingTransport(Mutex::new(sender));
    let client = builder().transport(transport).build().unwrap();
    client.me().unwrap();
    let items = client.form("frm_1").submissions().items();
    drop(client);
    assert_eq!(ended.try_recv(), Err(mpsc::TryRecvError::Empty), "the list still uses it");
    drop(items);
    let end = ended.recv_timeout(Duration::from_secs(10));
    assert_eq!(end, Err(mpsc::RecvTimeoutError::Disconnected));
}
