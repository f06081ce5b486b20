//! Pages of other sites.

use formsvc_protocol::FormStatus;
use http::{Method, Request};

use super::service::{Answer, Service, URLENCODED};

const HOME: &str = "https://home.example";

async fn service() -> Service {
    let service = Service::new().await;
    service.form("open", None).await;
    service.form_with("listed", None, FormStatus::Published, Some(&[HOME])).await;
    service
}

async fn post_from(service: &Service, form: &str, origin: &str) -> Answer {
    let request = Request::post(format!("/f/{form}")).header("origin", origin);
    service.send(request.header("content-type", "application/json"), r#"{"a":1}"#).await
}

async fn preflight(service: &Service, form: &str, origin: &str) -> Answer {
    let request = Request::builder().method(Method::OPTIONS).uri(format!("/f/{form}"));
    let request = request.header("origin", origin).header("access-control-request-method", "POST");
    service.send(request, "").await
}

#[tokio::test]
async fn any_page_may_send_to_a_form_that_names_none_without_credentials() {
    let service = service().await;
    let taken = post_from(&service, "open", "https://anywhere.example").await;
    taken.id();
    assert_eq!(taken.header("access-control-allow-origin"), "*");
    assert_eq!(taken.header("access-control-allow-credentials"), "");
    assert_eq!(taken.header("vary"), "");
    let asked = preflight(&service, "open", "https://anywhere.example").await;
    assert_eq!(asked.status.as_u16(), 204);
    assert_eq!(asked.header("access-control-allow-origin"), "*");
    assert_eq!(asked.header("access-control-allow-methods"), "POST");
    assert_eq!(asked.header("access-control-allow-headers"), "content-type, idempotency-key");
    assert_eq!(asked.header("access-control-max-age"), "7200");
}

#[tokio::test]
async fn a_form_that_names_origins_takes_from_no_other_page() {
    let service = service().await;
    let taken = post_from(&service, "listed", HOME).await;
    taken.id();
    assert_eq!(taken.header("access-control-allow-origin"), HOME);
    assert_eq!(taken.header("vary"), "Origin");
    let refused = post_from(&service, "listed", "https://evil.example").await;
    refused.assert_error(403, "origin_not_allowed");
    assert_eq!(refused.header("access-control-allow-origin"), "");
    assert_eq!(refused.header("vary"), "Origin");
    post_from(&service, "listed", "null").await.assert_error(403, "origin_not_allowed");
    assert_eq!(
        preflight(&service, "listed", HOME).await.header("access-control-allow-origin"),
        HOME
    );
    let asked = preflight(&service, "listed", "https://evil.example").await;
    assert_eq!(asked.header("access-control-allow-origin"), "");
    assert_eq!(asked.header("access-control-allow-methods"), "");
    assert_eq!(service.kept("listed").await.len(), 1);
}

#[tokio::test]
async fn its_own_page_and_what_is_no_page_may_send() {
    let service = service().await;
    post_from(&service, "listed", "http://service.test").await.id();
    service.post("/f/listed", URLENCODED, "a=1").await.assert_thanks("listed");
    assert_eq!(service.kept("listed").await.len(), 2);
}

#[tokio::test]
async fn a_page_elsewhere_can_read_why_it_was_refused() {
    let service = service().await;
    let refused = post_from(&service, "nothing", HOME).await;
    refused.assert_error(404, "form_not_found");
    assert_eq!(refused.header("access-control-allow-origin"), "*");
    let request = Request::post("/f/listed").header("origin", HOME);
    let refused = service.send(request.header("content-type", "text/plain"), "").await;
    assert_eq!(refused.status.as_u16(), 415);
    assert_eq!(refused.header("access-control-allow-origin"), HOME);
    assert_eq!(refused.header("access-control-expose-headers"), "retry-after, x-request-id");
}

#[tokio::test]
async fn a_script_elsewhere_is_led_to_the_thanks_it_may_read() {
    let service = service().await;
    for (form, allowed) in [("open", "*"), ("listed", HOME)] {
        let request = Request::get(format!("/f/{form}/thanks")).header("origin", HOME);
        let thanks = service.send(request, "").await;
        assert_eq!(thanks.header("access-control-allow-origin"), allowed);
    }
}

#[tokio::test]
async fn a_preflight_of_nothing_is_not_found() {
    let service = service().await;
    preflight(&service, "nothing", HOME).await.assert_error(404, "form_not_found");
}
