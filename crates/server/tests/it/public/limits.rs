//! How often may be sent.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use formsvc_server::public::PublicOptions;
use formsvc_server::rate_limit::RateLimit;
use formsvc_server::serve::Peer;
use formsvc_server::store::SpamRequest;
use futures_util::stream;
use http::Request;

use super::service::{Answer, Service, URLENCODED, answer};

async fn post_from(service: &Service, form: &str, address: &str, forwarded: &str) -> Answer {
    let request = request_from(form, address).header("x-forwarded-for", forwarded);
    answer(&service.edge, request.body(Body::from("{}")).unwrap()).await
}

async fn post_body(service: &Service, form: &str, address: &str, body: impl Into<Body>) -> Answer {
    answer(&service.edge, request_from(form, address).body(body.into()).unwrap()).await
}

fn request_from(form: &str, address: &str) -> http::request::Builder {
    let peer = Peer(SocketAddr::new(address.parse::<IpAddr>().unwrap(), 1));
    let request =
        Request::post(format!("/f/{form}")).header("host", "service.test").extension(peer);
    request.header("content-type", "application/json")
}

fn per_minute(requests: u32) -> RateLimit {
    RateLimit::per_minute(NonZeroU32::new(requests).unwrap())
}

async fn service(options: PublicOptions) -> Service {
    let service = Service::with(options).await;
    service.form("form", None).await;
    service.form("other", None).await;
    service
}

#[tokio::test]
async fn the_21st_submission_of_a_minute_is_refused_and_whoever_waits_as_told_is_served() {
    let service = service(PublicOptions::default()).await;
    for _ in 0..20 {
        post_from(&service, "form", "192.0.2.1", "").await.id();
    }
    let refused = post_from(&service, "form", "192.0.2.1", "").await;
    refused.assert_error(429, "rate_limited");
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    assert!(wait >= 1);
    let page = service.post("/f/form", URLENCODED, "a=1").await;
    page.assert_page(429);
    assert_eq!(page.header("retry-after"), wait.to_string());
    assert!(page.body.contains(&format!("in {wait} seconds")));
    for told in [&refused.body, &page.body] {
        assert!(told.contains("too many submissions came from your address"), "{told}");
    }
    // Not of this address, not of this form.
    post_from(&service, "form", "192.0.2.2", "").await.id();
    post_from(&service, "other", "192.0.2.1", "").await.id();
    service.pass(Duration::from_secs(wait));
    post_from(&service, "form", "192.0.2.1", "").await.id();
}

#[tokio::test]
async fn looking_is_not_sending() {
    let service = service(PublicOptions { per_address: per_minute(1), ..Default::default() }).await;
    for _ in 0..5 {
        service.get("/f/form").await.assert_page(200);
        service.get("/f/form/thanks").await.assert_page(200);
    }
    post_from(&service, "form", "192.0.2.1", "").await.id();
}

#[tokio::test]
async fn one_network_of_ipv6_is_one_sender() {
    let service = service(PublicOptions { per_address: per_minute(1), ..Default::default() }).await;
    post_from(&service, "form", "2001:db8::1", "").await.id();
    post_from(&service, "form", "2001:db8::ffff:2", "").await.assert_error(429, "rate_limited");
    post_from(&service, "form", "2001:db8:0:1::1", "").await.id();
}

#[tokio::test]
async fn a_form_has_a_limit_over_all_addresses() {
    let service = service(PublicOptions { per_form: per_minute(5), ..Default::default() }).await;
    for n in 0..5 {
        post_from(&service, "form", &format!("192.0.2.{n}"), "").await.id();
    }
    let refused = post_from(&service, "form", "192.0.2.9", "").await;
    refused.assert_error(429, "rate_limited");
    assert!(refused.body.contains("this form got too many submissions"), "{}", refused.body);
    post_from(&service, "other", "192.0.2.9", "").await.id();
    service.pass(Duration::from_secs(61));
    post_from(&service, "form", "192.0.2.9", "").await.id();
}

#[tokio::test]
async fn a_site_of_ipv6_is_16_senders_and_no_more() {
    let service = service(PublicOptions { per_address: per_minute(1), ..Default::default() }).await;
    let from = async |site: u16, network: u16| {
        post_from(&service, "form", &format!("2001:db8:{site:x}:{network:x}::1"), "").await
    };
    for network in 0..16 {
        from(7, network * 4_000).await.id();
        // Refused by the smaller limit, and so it spends nothing of the larger one.
        from(7, network * 4_000).await.assert_error(429, "rate_limited");
    }
    from(7, 65_535).await.assert_error(429, "rate_limited");
    from(8, 0).await.id();
    // Addresses of IPv4 have no site.
    for n in 0..20 {
        post_from(&service, "form", &format!("192.0.2.{n}"), "").await.id();
    }
    service.pass(Duration::from_secs(61));
    from(7, 65_535).await.id();
}

#[tokio::test]
async fn what_a_form_refuses_counts_against_the_sender_and_not_against_the_form() {
    let options =
        PublicOptions { per_address: per_minute(2), per_form: per_minute(2), ..Default::default() };
    let service = service(options).await;
    service.form("strict", Some(r#"[{"label":"Name","type":"text","required":true}]"#)).await;
    let post = async |n: u8, body: &'static str| {
        post_body(&service, "strict", &format!("192.0.2.{n}"), body).await
    };
    for n in 0..10 {
        post(n, "{}").await.assert_error(422, "invalid_answers");
        post(n, "[").await.assert_error(400, "bad_request");
        post(n, r#"{"Name":"a"}"#).await.assert_error(429, "rate_limited");
        // Robots have a quota of their own.
        post(100 + n, r#"{"_gotcha":"x"}"#).await.id();
    }
    post(201, r#"{"Name":"a"}"#).await.id();
    post(202, r#"{"Name":"a"}"#).await.id();
    post(203, r#"{"Name":"a"}"#).await.assert_error(429, "rate_limited");
    assert_eq!(service.kept("strict").await.len(), 2);
    let form = service.admin.find_form("strict").await.unwrap().id;
    let request = SpamRequest { form, after: None, limit: 100 };
    assert_eq!(service.admin.list_spam(request).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_form_that_can_take_no_more_reads_nothing() {
    let service = service(PublicOptions { per_form: per_minute(1), ..Default::default() }).await;
    post_from(&service, "form", "192.0.2.1", "").await.id();
    let never = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
    let refused = post_body(&service, "form", "192.0.2.2", never).await;
    refused.assert_error(429, "rate_limited");
}

#[tokio::test]
async fn what_is_refused_to_one_does_not_count_against_the_others() {
    let options =
        PublicOptions { per_address: per_minute(1), per_form: per_minute(2), ..Default::default() };
    let service = service(options).await;
    post_from(&service, "form", "192.0.2.1", "").await.id();
    for _ in 0..5 {
        post_from(&service, "form", "192.0.2.1", "").await.assert_error(429, "rate_limited");
    }
    post_from(&service, "form", "192.0.2.2", "").await.id();
}

#[tokio::test]
async fn only_a_proxy_that_is_trusted_is_asked_who_sends() {
    let trusted_proxies = vec!["10.0.0.0/8".parse().unwrap()];
    let options =
        PublicOptions { per_address: per_minute(1), trusted_proxies, ..Default::default() };
    let service = service(options).await;
    post_from(&service, "form", "10.0.0.1", "198.51.100.1").await.id();
    post_from(&service, "form", "10.0.0.1", "198.51.100.2").await.id();
    let again = post_from(&service, "form", "10.0.0.2", "6.6.6.6, 198.51.100.2").await;
    again.assert_error(429, "rate_limited");
    post_from(&service, "form", "192.0.2.1", "1.1.1.1").await.id();
    let lied = post_from(&service, "form", "192.0.2.1", "2.2.2.2").await;
    lied.assert_error(429, "rate_limited");
}

#[tokio::test]
async fn off_means_off() {
    let options = PublicOptions {
        per_address: RateLimit::Off,
        per_form: RateLimit::Off,
        ..Default::default()
    };
    let service = service(options).await;
    for _ in 0..50 {
        post_from(&service, "form", "192.0.2.1", "").await.id();
    }
}
