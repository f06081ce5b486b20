//! The mock service.

use std::time::Duration;

use formsvc_client::test_util::{Fault, MockService, form, generate, submission};
use formsvc_client::{
    Client, Cursor, ErrorCode, ErrorKind, RequestOptions, RetryPolicy, SubmissionQuery, Timestamp,
    User,
};
use http::StatusCode;
use proptest::prelude::*;
use tokio::time::Instant;

fn service(rows: u32) -> MockService {
    MockService::new().form(form("frm_1", "Survey")).submissions("frm_1", generate(rows))
}

fn list(client: &Client) -> SubmissionQuery {
    client.form("frm_1").submissions()
}

async fn ids(list: SubmissionQuery) -> Vec<String> {
    let all = list.items().try_collect_max(10_000).await.unwrap();
    all.into_iter().map(|row| row.id.to_string()).collect()
}

fn once(service: &MockService) -> Client {
    service.client().with_options(RequestOptions::new().retry(RetryPolicy::none())).unwrap()
}

#[tokio::test]
async fn mock_returns_the_given_user_and_forms() {
    let user = User::new("usr_7".parse().unwrap(), "bob@example.org", "Bob");
    let service = service(0).form(form("frm_2", "Newer")).user(user.clone());
    assert_eq!(*service.client().me().await.unwrap(), user);
    let forms = service.client().forms().await.unwrap();
    assert_eq!(
        forms.iter().map(|form| form.title.as_str()).collect::<Vec<_>>(),
        ["Newer", "Survey"]
    );
    assert_eq!(forms.request_id(), Some("req_2"));
}

#[tokio::test]
async fn list_is_paged_as_specified() {
    let service = service(5);
    let client = service.client();
    let page = list(&client).page_size(2).page().await.unwrap();
    assert!(page.has_more() && page.len() == 2);
    let cursor = page.next_cursor().unwrap().clone();
    assert_eq!(cursor.as_str(), page.submissions()[1].created_at.as_str());
    let last = list(&client).start_at(cursor).page().await.unwrap();
    assert_eq!((last.len(), last.has_more()), (3, false));
    let beyond = list(&client).start_at(Cursor::new("2000-01-01T00:00:00Z")).page().await.unwrap();
    assert_eq!((beyond.len(), beyond.has_more(), beyond.next_cursor()), (0, false, None));
    let seen = service.requests();
    assert_eq!(seen[0].operation, "submissions.list");
    assert_eq!(seen[0].form.as_ref().unwrap().as_str(), "frm_1");
    assert_eq!((seen[0].limit.as_deref(), &seen[0].cursor), (Some("2"), &None));
    assert_eq!(seen[1].cursor, page.next_cursor().cloned());
    assert!(!format!("{service:?}{seen:?}").contains(MockService::API_KEY));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn rows_that_share_a_time_are_listed_once(
        times in prop::collection::vec(0_u32..4, 0..40),
        size in 1_u32..8,
    ) {
        let mut rows: Vec<_> = times.iter().enumerate().map(|(n, time)| {
            let time = format!("2026-01-01T00:00:00.00{time}Z");
            submission(&format!("sub_{n}"), "{}", &time)
        }).collect();
        let service = MockService::new().form(form("frm_1", "F")).submissions("frm_1", rows.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let read = runtime.block_on(ids(list(&service.client()).page_size(size)));
        rows.sort_by_key(|row| std::cmp::Reverse(row.created_at.clone()));
        prop_assert_eq!(read, rows.iter().map(|row| row.id.to_string()).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn errors_have_the_specified_codes_and_order() {
    let service = service(1);
    let code = async |client: &Client, form: &str, cursor: &str| {
        let form = client.form(form);
        let error = form.submissions().start_at(Cursor::new(cursor)).page().await.unwrap_err();
        let status = error.status().unwrap().as_u16();
        (status, error.code().unwrap().clone())
    };
    let client = service.client();
    assert_eq!(
        code(&client, "frm_9", "2026-01-01T00:00:00Z").await,
        (404, ErrorCode::FormNotFound)
    );
    assert_eq!(code(&client, "frm_9", "yesterday").await, (400, ErrorCode::BadRequest));
    let stranger = service.client_builder().api_key("fsk_unknown").build().unwrap();
    assert_eq!(code(&stranger, "frm_9", "yesterday").await, (401, ErrorCode::InvalidKey));
}

#[tokio::test(start_paused = true)]
async fn faults_apply_once_in_order() {
    let gateway = Fault::Status(StatusCode::BAD_GATEWAY, "<html>".to_owned());
    for (fault, kind, status) in [
        (Fault::Error(ErrorCode::InternalError), ErrorKind::Api, Some(500)),
        (Fault::Error(ErrorCode::Unavailable), ErrorKind::Api, Some(503)),
        (Fault::RateLimited(Duration::from_secs(7)), ErrorKind::Api, Some(429)),
        (gateway, ErrorKind::Api, Some(502)),
        (Fault::Unreachable, ErrorKind::Connect, None),
        (Fault::Disconnected, ErrorKind::Transport, None),
        (Fault::Truncated, ErrorKind::Decode, Some(200)),
        (Fault::Silent, ErrorKind::Timeout, None),
    ] {
        let service = service(3);
        service.fail_next(fault.clone());
        let error = once(&service).me().await.unwrap_err();
        assert_eq!(error.kind(), kind, "{fault:?}");
        assert_eq!(error.status().map(|status| status.as_u16()), status, "{fault:?}");
        once(&service).me().await.unwrap();

        // A retry succeeds.
        service.fail_next(fault.clone());
        assert_eq!(service.client().me().await.unwrap().attempts(), 2, "{fault:?}");
        let attempts: Vec<_> = service.requests().iter().map(|seen| seen.attempt).collect();
        assert_eq!(attempts, [1, 1, 1, 2]);
    }
    let service = service(0);
    service.fail_next(Fault::RateLimited(Duration::from_secs(7)));
    service.fail_next(Fault::Error(ErrorCode::from("plan_expired")));
    let (client, start) = (service.client(), Instant::now());
    let error = client.me().await.unwrap_err();
    assert_eq!((error.code().unwrap().as_str(), error.attempts()), ("plan_expired", 2));
    assert!((7..=8).contains(&start.elapsed().as_secs()));
}

#[tokio::test]
async fn submission_added_later_is_the_newest() {
    let service = service(2);
    let client = service.client();
    let newest: Timestamp = list(&client).page().await.unwrap().submissions()[0].created_at.clone();
    service.submit("frm_1", submission("sub_new", r#"{"Name":"Ada"}"#, newest.as_str()));
    assert_eq!(ids(list(&client)).await, ["sub_new", "sub_2", "sub_1"]);
}

#[tokio::test]
async fn mock_accepts_base_path_and_records_headers() {
    let service = service(1);
    let settings = service.client_builder().base_url("https://forms.example/tenant/7");
    let client = settings.default_header("traceparent", "00-1").build().unwrap();
    assert_eq!(ids(list(&client)).await, ["sub_1"]);
    let seen = &service.requests()[0];
    assert_eq!(seen.headers["traceparent"], "00-1");
    assert!(!seen.headers.contains_key("authorization"));
}
