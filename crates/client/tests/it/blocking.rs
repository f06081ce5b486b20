//! The client that blocks, with and without a runtime around it.

use std::error::Error as _;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use bytes::Bytes;
use formsvc_client::blocking::{Client, ListSubmissions};
use formsvc_client::{
    AttemptContext, BoxFuture, ErrorKind, RequestOptions, RetryPolicy, Row, SubmissionId,
    TieOverflow, Timeouts, Transport, TransportError,
};
use http::{Request, Response};
use wiremock::matchers::{any, path, query_param};
use wiremock::{Mock, MockServer};

use crate::support::bodies::{FORMS, USER, last, page, page_of, row_at, time};
use crate::support::builder;
use crate::support::fake::{Answer, Fake, ok, status};
use crate::support::served::answer;

fn client(fake: &Arc<Fake>) -> Client {
    builder().transport(fake.wire()).build_blocking().unwrap()
}

fn list(fake: &Arc<Fake>) -> ListSubmissions {
    client(fake).form("frm_1".parse().unwrap()).submissions()
}

#[test]
fn calls_and_lists_work_without_a_runtime() {
    let answers = [USER, FORMS, &page([0, 1], "a"), &last([2]), &last([3])].map(ok);
    let fake = Fake::script(answers);
    let client = client(&fake);
    assert_eq!(client.me().unwrap().name, "Ada");
    assert_eq!(client.forms().unwrap().len(), 1);
    let form = client.form("frm_1".parse().unwrap());
    let ids: Vec<_> = form.submissions().items().map(|item| item.unwrap().id).collect();
    assert_eq!(
        ids.iter().map(SubmissionId::as_str).collect::<Vec<_>>(),
        ["sub_0", "sub_1", "sub_2"]
    );
    assert_eq!(form.submissions().page().unwrap().len(), 1);
    assert_eq!(form.id().as_str(), "frm_1");
}

#[test]
fn a_list_asks_for_a_page_when_it_is_needed() {
    let fake = Fake::script([ok(page([0, 1], "a")), ok(last([2]))]);
    let mut items = list(&fake).items();
    for asked in [1, 1, 2] {
        items.next().unwrap().unwrap();
        assert_eq!(fake.sent().len(), asked);
    }
    assert!(items.next().is_none() && items.next().is_none());
    assert!(items.resume_token().is_finished());

    let fake = Fake::script([ok(page([0], "a")), ok(page([1], "b")), ok(last([2]))]);
    let mut pages = list(&fake).prefetch(true).pages();
    for asked in [2, 3, 3] {
        assert_eq!(pages.next().unwrap().unwrap().len(), 1);
        assert_eq!(fake.sent().len(), asked);
    }
    assert!(pages.next().is_none());
}

#[test]
fn settings_tokens_and_errors_are_those_of_the_async_client() {
    let fake =
        Fake::script([ok(page([0, 1, 2, 3], "a")), ok(page([0, 1, 2, 3], "a")), status(403)]);
    let mut items = list(&fake).page_size(4).stop_when(|row: Row<'_>| row.id() == "sub_2").items();
    assert_eq!(items.by_ref().count(), 2);
    let token = items.resume_token();
    let mut rest = list(&fake).page_size(4).with(|list| list.resume_from(token)).items();
    assert_eq!(rest.next().unwrap().unwrap().id.as_str(), "sub_2");
    assert_eq!(rest.next().unwrap().unwrap().id.as_str(), "sub_3");
    let error = rest.next().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Api);
    assert!(rest.next().is_none());
    assert_eq!(rest.resume_token().cursor().unwrap().as_str(), "a");
}

#[test]
fn answers_are_read_as_a_type() {
    let fake = Fake::script([ok(last([0, 1]))]);
    let form = client(&fake).form("frm_1".parse().unwrap());
    let mut items = form.submissions_as::<std::collections::BTreeMap<String, bool>>();
    let error = items.next().unwrap().unwrap().unwrap_err();
    assert_eq!(error.json_path(), "data[0].data.Number");
    assert!(error.source().is_some() && items.next().unwrap().unwrap().is_err());
    assert!(items.next().is_none() && items.resume_token().is_finished());
}

#[test]
fn options_and_another_key_share_the_thread() {
    let fake = Fake::script([status(503), ok(USER), ok(USER)]);
    let client = client(&fake);
    let once = client.with_options(RequestOptions::new().retry(RetryPolicy::none())).unwrap();
    assert_eq!(once.me().unwrap_err().attempts(), 1);
    client.with_api_key("fsk_other".into()).unwrap().me().unwrap();
    // The thread lives as long as anything of it does.
    drop(client);
    once.me().unwrap();
}

#[test]
fn one_client_serves_many_threads() {
    let fake = Fake::rule(|_| ok(USER));
    let client = client(&fake);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(client.clone().me().unwrap().name, "Ada"));
        }
    });
    assert_eq!(fake.sent().len(), 8);
}

/// Makes, uses and drops everything where it stands, over a real socket.
fn everything(url: &str) {
    let client = builder().base_url(url).build_blocking().unwrap();
    assert_eq!(client.me().unwrap().attempts(), 1);
    let list = client.form("frm_1".parse().unwrap()).submissions().prefetch(true);
    let mut pages = list.clone().pages();
    assert_eq!(pages.next().unwrap().unwrap().len(), 1);
    // Dropped with a request under way, and the client before its list.
    drop(client);
    drop(pages);
    assert!(list.page().is_ok());
}

/// A service whose second page takes longer than anybody here waits for.
async fn served() -> MockServer {
    let server = MockServer::start().await;
    let second = query_param("cursor", "a");
    let late = answer(200, &last([1])).set_delay(Duration::from_secs(60));
    Mock::given(path("/api/v1/me")).respond_with(answer(200, USER)).mount(&server).await;
    Mock::given(second).respond_with(late).mount(&server).await;
    let first = answer(200, &page([0], "a"));
    Mock::given(any()).respond_with(first).mount(&server).await;
    server
}

#[tokio::test]
async fn inside_a_runtime_of_one_thread_it_blocks_and_does_not_panic() {
    let served = served().await;
    everything(&served.uri());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn inside_a_runtime_of_many_threads_it_blocks_and_does_not_panic() {
    let served = served().await;
    let url = served.uri();
    tokio::spawn(async move { everything(&url) }).await.unwrap();
}

#[tokio::test]
async fn where_blocking_is_meant_to_be_it_works_too() {
    let served = served().await;
    let url = served.uri();
    tokio::task::spawn_blocking(move || everything(&url)).await.unwrap();
}

#[test]
fn time_limits_hold() {
    let fake = Fake::script([Answer::Silence]);
    let timeouts = Timeouts::new().attempt(Duration::from_millis(10));
    let client = builder().timeouts(timeouts).retry(RetryPolicy::none()).transport(fake.wire());
    assert_eq!(client.build_blocking().unwrap().me().unwrap_err().kind(), ErrorKind::Timeout);
}

#[test]
fn a_call_from_within_a_call_fails_instead_of_waiting_for_itself() {
    let own = Arc::new(Mutex::new(None::<Client>));
    let results = Arc::new(Mutex::new(Vec::new()));
    let (used, heard) = (own.clone(), results.clone());
    let fake = Fake::script([ok(USER)]);
    let client = builder()
        .on_event(move |_| {
            let client = used.lock().unwrap().take().unwrap();
            heard.lock().unwrap().push(client.me().map(|_| ()).map_err(|error| error.kind()));
            let mut items = client.form("frm_1".parse().unwrap()).submissions().items();
            let next = items.next().unwrap().map(|_| ()).map_err(|error| error.kind());
            heard.lock().unwrap().push(next);
        })
        .transport(fake.wire())
        .build_blocking()
        .unwrap();
    *own.lock().unwrap() = Some(client.clone());
    client.me().unwrap();
    assert_eq!(*results.lock().unwrap(), [Err(ErrorKind::Config); 2]);
}

#[test]
fn a_panic_of_the_callers_function_reaches_the_caller_and_nobody_else() {
    let fake = Fake::script([ok(page([0], "a")), ok(last([1])), ok(USER), ok(last([1]))]);
    let client = client(&fake);
    let list = client.form("frm_1".parse().unwrap()).submissions();
    let stop = |row: Row<'_>| if row.id() == "sub_1" { panic!("mine") } else { false };
    let mut items = list.clone().stop_when(stop).items();
    items.next().unwrap().unwrap();
    let next = std::panic::AssertUnwindSafe(|| items.next());
    assert!(std::panic::catch_unwind(next).is_err());
    client.me().unwrap();
    assert!(items.next().is_none() && items.tie_overflows().is_empty(), "it has ended");
    let rest = list.resume_from(items.resume_token()).items().try_collect_max(9).unwrap();
    assert_eq!(rest.len(), 1, "its token still knows the place before the panic");
}

#[test]
fn collecting_refuses_to_grow_beyond_its_bound() {
    let answers = || [ok(page([0, 1], "a")), ok(last([2]))];
    let fake = Fake::script(answers());
    let mut items = list(&fake).items();
    assert_eq!(items.try_collect_max(2).unwrap_err().kind(), ErrorKind::TooLarge);
    assert_eq!(items.next().unwrap().unwrap().id.as_str(), "sub_2");
    let fake = Fake::script(answers());
    assert_eq!(list(&fake).items().try_collect_max(3).unwrap().len(), 3);
}

#[test]
fn tie_overflows_are_reported_by_every_list() {
    let overflow = || {
        let tied = |n| row_at(n, &time(7));
        let page = |rows: [u32; 2]| page_of(&rows.map(tied), Some(&time(7)), true);
        [ok(page([0, 1])), ok(page([0, 1])), ok(last([9])), ok(last([9]))]
    };
    let list = |fake| list(fake).page_size(2).allow_incomplete(true);
    let found =
        |overflows: &[TieOverflow]| overflows.iter().map(TieOverflow::rows).collect::<Vec<_>>();

    let fake = Fake::rule(by_turns(overflow()));
    let mut items = list(&fake).items();
    assert_eq!(items.by_ref().filter_map(Result::ok).count(), 3);
    assert_eq!(found(items.tie_overflows()), [2]);
    let fake = Fake::rule(by_turns(overflow()));
    let mut typed = list(&fake).items_as::<serde_json::Value>();
    assert_eq!(typed.by_ref().filter_map(Result::ok).count(), 3);
    assert_eq!(found(typed.tie_overflows()), [2]);
    let fake = Fake::rule(by_turns(overflow()));
    let mut pages = list(&fake).pages();
    assert_eq!(pages.by_ref().filter_map(Result::ok).count(), 2);
    assert_eq!(found(pages.tie_overflows()), [2]);
}

/// One answer after the other.
fn by_turns(
    answers: impl IntoIterator<Item = Answer>,
) -> impl FnMut(&Request<Bytes>) -> Answer + Send + 'static {
    let mut answers = answers.into_iter().collect::<std::collections::VecDeque<_>>();
    move |_| answers.pop_front().unwrap_or_else(|| status(403))
}

/// Leaves a task behind on the client's runtime, which holds the sender until the runtime ends.
struct Squatter(Mutex<mpsc::Sender<()>>);

impl Transport for Squatter {
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
fn the_thread_ends_with_the_last_use_of_it() {
    let (sender, ended) = mpsc::channel();
    let client = builder().transport(Squatter(Mutex::new(sender))).build_blocking().unwrap();
    client.me().unwrap();
    let items = client.form("frm_1".parse().unwrap()).submissions().items();
    drop(client);
    assert_eq!(ended.try_recv(), Err(mpsc::TryRecvError::Empty), "a list still uses it");
    drop(items);
    let end = ended.recv_timeout(Duration::from_secs(10));
    assert_eq!(end, Err(mpsc::RecvTimeoutError::Disconnected));
}
