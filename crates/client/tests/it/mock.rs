//! The mock keeps to the specification, and fails as told.

use std::num::NonZeroU32;
use std::time::Duration;

use formsvc_client::test_util::{Fault, MockService, form, generate, submission};
use formsvc_client::{
    Client, Cursor, ErrorCode, ErrorKind, ListSubmissions, RateLimit, RequestOptions, RetryPolicy,
    Timestamp, User,
};
use http::{HeaderName, HeaderValue, StatusCode};
use proptest::prelude::*;
use tokio::time::Instant;

fn service(rows: u32) -> MockService {
    MockService::new().form(form("frm_1", "Survey")).submissions("frm_1", generate(rows))
}

fn list(client: &Client) -> ListSubmissions {
    client.form("frm_1".parse().unwrap()).submissions()
}

async fn ids(list: ListSubmissions) -> Vec<String> {
    let all = list.items().try_collect_max(10_000).await.unwrap();
    all.into_iter().map(|row| row.id.to_string()).collect()
}

fn once(service: &MockService) -> Client {
    service.client().with_options(RequestOptions::new().retry(RetryPolicy::none())).unwrap()
}

#[tokio::test]
async fn its_forms_and_its_user_are_those_it_was_given() {
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
async fn a_list_is_paged_as_the_specification_says() {
    let service = service(5);
    let client = service.client();
    let page = list(&client).page_size(2).page().await.unwrap();
    assert!(page.has_more() && page.len() == 2);
    let cursor = page.next_cursor().unwrap().clone();
    assert_eq!(cursor.as_str(), page.row(1).unwrap().created_at());
    let last = list(&client).before(cursor).page().await.unwrap();
    assert_eq!((last.len(), last.has_more()), (3, false));
    let beyond = list(&client).before(Cursor::new("2000-01-01T00:00:00Z")).page().await.unwrap();
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
    fn every_row_comes_once_however_many_share_a_time(
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
async fn it_refuses_in_the_order_and_with_the_codes_of_the_specification() {
    let service = service(1).api_key("fsk_second");
    let code = async |client: &Client, form: &str, cursor: &str| {
        let form = client.form(form.parse().unwrap());
        let error = form.submissions().before(Cursor::new(cursor)).page().await.unwrap_err();
        let status = error.status().unwrap().as_u16();
        (status, error.code().unwrap().clone())
    };
    let client = service.client();
    assert_eq!(
        code(&client, "frm_9", "2026-01-01T00:00:00Z").await,
        (404, ErrorCode::FormNotFound)
    );
    assert_eq!(code(&client, "frm_9", "yesterday").await, (400, ErrorCode::BadRequest));
    let stranger = client.with_api_key("fsk_unknown".into()).unwrap();
    assert_eq!(code(&stranger, "frm_9", "yesterday").await, (401, ErrorCode::InvalidKey));
    let second = client.with_api_key("fsk_second".into()).unwrap();
    second.me().await.unwrap();
    service.revoke("fsk_second");
    assert_eq!(code(&second, "frm_1", "yesterday").await, (401, ErrorCode::KeyRevoked));
    client.me().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_limit_is_kept_and_says_when_to_come_back() {
    let service = service(0).rate_limit(NonZeroU32::new(2).unwrap());
    let client = once(&service);
    client.me().await.unwrap();
    client.me().await.unwrap();
    let error = client.me().await.unwrap_err();
    assert_eq!(error.code(), Some(&ErrorCode::RateLimited));
    let wait = error.retry_after().unwrap();
    assert!((59..=61).contains(&wait.as_secs()), "{wait:?}");
    tokio::time::advance(wait).await;
    client.me().await.unwrap();
    // The client's own limiter never lets it come to that.
    let service = service.rate_limit(NonZeroU32::new(2).unwrap());
    let limit = RateLimit::per_minute(NonZeroU32::new(2).unwrap());
    let settings = service.client_builder().rate_limit(limit).retry(RetryPolicy::none());
    let polite = settings.build().unwrap();
    tokio::time::advance(Duration::from_secs(61)).await;
    for _ in 0..5 {
        polite.me().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn each_fault_is_met_once_in_the_order_they_were_asked_for() {
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
        (Fault::Slow(Duration::from_secs(31)), ErrorKind::Timeout, None),
    ] {
        let service = service(3);
        service.fail_next(fault.clone());
        let error = once(&service).me().await.unwrap_err();
        assert_eq!(error.kind(), kind, "{fault:?}");
        assert_eq!(error.status().map(|status| status.as_u16()), status, "{fault:?}");
        once(&service).me().await.unwrap();

        // Each is mended by a retry.
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
async fn faults_of_pages_wait_for_a_page() {
    let service = service(6);
    let client = service.client();
    service.fail_next(Fault::EmptyPage);
    client.me().await.unwrap();
    let all = ids(list(&client).page_size(2)).await;
    assert_eq!(all.len(), 6);
    // One empty page, one of two new rows, and four of one new row each.
    assert_eq!(service.requests().len(), 1 + 1 + 5);

    let service = self::service(9);
    let client = service.client();
    let mut pages = list(&client).page_size(3).pages();
    pages.try_next().await.unwrap();
    service.fail_next(Fault::EmptyPage);
    assert!(pages.try_next().await.unwrap().unwrap().is_empty());
    service.fail_next(Fault::RepeatedRow);
    let again = pages.try_next().await.unwrap().unwrap();
    assert_eq!((again.len(), again.text().matches("\"id\"").count()), (1, 3));
    assert_eq!(pages.try_next().await.unwrap().unwrap().len(), 2);
    service.fail_next(Fault::StuckCursor);
    assert_eq!(pages.try_next().await.unwrap().unwrap().len(), 2);
    assert_eq!(pages.try_next().await.unwrap_err().kind(), ErrorKind::PaginationStuck);
}

#[tokio::test]
async fn what_is_submitted_meanwhile_is_the_newest() {
    let service = service(2);
    let client = service.client();
    let newest: Timestamp =
        list(&client).page().await.unwrap().row(0).unwrap().created_at().parse().unwrap();
    service.submit("frm_1", submission("sub_new", r#"{"Name":"Ada"}"#, newest.as_str()));
    assert_eq!(ids(list(&client)).await, ["sub_new", "sub_2", "sub_1"]);
}

#[tokio::test]
async fn it_is_found_under_a_path_of_its_own_and_shows_the_headers_it_got() {
    let service = service(1);
    let settings = service.client_builder().base_url("https://forms.example/tenant/7");
    let name = HeaderName::from_static("traceparent");
    let options = RequestOptions::new().header(name.clone(), HeaderValue::from_static("00-1"));
    let client = settings.build().unwrap().with_options(options).unwrap();
    assert_eq!(ids(list(&client)).await, ["sub_1"]);
    let seen = &service.requests()[0];
    assert_eq!(seen.headers[name], "00-1");
    assert!(!seen.headers.contains_key("authorization"));
}
