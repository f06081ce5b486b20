//! What visitors are shown.

use formsvc_protocol::FormStatus;
use http::{Method, Request};

use super::service::{Service, URLENCODED};

#[tokio::test]
async fn a_form_shows_its_fields_and_nothing_runs() {
    let service = Service::with_form().await;
    let page = service.get("/f/form").await;
    page.assert_page(200);
    assert!(page.body.contains("<h1>Form &#60;form&#62;</h1>"), "{}", page.body);
    for input in [
        r#"type="text" name="Name""#,
        r#"<textarea id="field-1" name="Message""#,
        r#"type="email" name="E-mail""#,
        r#"type="text" name="Guests" value="" inputmode="decimal""#,
        r#"type="date" name="Day""#,
        r#"type="radio" name="Size" value="M""#,
        r#"type="checkbox" name="Colours" value="&#34;blue&#34;""#,
        r#"type="checkbox" name="Terms" value="on""#,
        r#"type="hidden" name="_id" value=""#,
    ] {
        assert!(page.body.contains(input), "{input}: {}", page.body);
    }
    for never in ["<script", "javascript:", " src=", " style=", "http://", "https://", "<link"] {
        assert!(!page.body.contains(never), "{never}");
    }
    assert_eq!(page.header("cache-control"), "private, no-cache");
}

#[tokio::test]
async fn every_input_has_a_label_and_every_reference_a_target() {
    let service = Service::with_form().await;
    let page = service.post("/f/form", URLENCODED, "Guests=99&Size=X&Colours=none&odd=").await;
    page.assert_page(422);
    let values = |attribute: &str| {
        let attribute = format!("{attribute}=\"");
        let parts = page.body.split(&attribute).skip(1);
        let values = parts.map(|rest| rest.split('"').next().unwrap().to_owned());
        values.collect::<Vec<_>>()
    };
    let ids = values(" id");
    let mut once = ids.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), ids.len(), "ids are unique: {ids:?}");
    let targets = values("href").into_iter().map(|target| target.replace('#', ""));
    let described = values("aria-describedby");
    let described = described.iter().flat_map(|ids| ids.split(' ').map(str::to_owned));
    let mut references: Vec<_> = targets.chain(described).chain(values(" for")).collect();
    references.extend(values("aria-labelledby"));
    assert!(references.iter().all(|id| ids.contains(id)), "{references:?} {ids:?}");
    let inputs = ids.iter().filter(|id| {
        id.starts_with("field-") && !["error", "help", "hint"].iter().any(|part| id.ends_with(part))
    });
    for id in inputs {
        assert!(page.body.contains(&format!("<label for=\"{id}\"")), "{id} has no label");
    }
    assert_eq!(page.body.matches("<legend>").count(), 2);
}

#[tokio::test]
async fn each_showing_has_an_id_of_its_own() {
    let service = Service::with_form().await;
    let (first, second) = (service.get("/f/form").await, service.get("/f/form").await);
    assert_ne!(first.body, second.body);
    let csp = first.header("content-security-policy");
    assert_eq!(csp, second.header("content-security-policy"));
    assert!(csp.contains("base-uri 'none'") && csp.contains("frame-ancestors 'none'"), "{csp}");
}

#[tokio::test]
async fn what_is_not_there_is_not_found_and_drafts_are_not_there_yet() {
    let service = Service::new().await;
    service.form_with("draft", None, FormStatus::Draft, None).await;
    for target in
        ["/f/nothing", "/f/draft", "/f/draft/thanks", "/f/nothing/thanks", "/f/%ff", "/f/a%2Fb"]
    {
        service.get(target).await.assert_page(404);
        let json = Request::get(target).header("accept", "application/json");
        service.send(json, "").await.assert_error(404, "form_not_found");
    }
    service.post("/f/draft", URLENCODED, "a=1").await.assert_page(404);
    service.post_json("/f/nothing", "{}").await.assert_error(404, "form_not_found");
}

#[tokio::test]
async fn a_closed_form_says_so() {
    let service = Service::new().await;
    service.form_with("closed", None, FormStatus::Closed, None).await;
    let page = service.get("/f/closed").await;
    page.assert_page(410);
    assert!(page.body.contains("This form is closed"));
    service.post("/f/closed", URLENCODED, "a=1").await.assert_page(410);
    service.post("/f/closed", URLENCODED, "_gotcha=1").await.assert_page(410);
    service.post_json("/f/closed", "{}").await.assert_error(410, "form_closed");
    let keyed = Request::post("/f/closed").header("idempotency-key", "k");
    let keyed = keyed.header("content-type", "application/json");
    service.send(keyed, "{}").await.assert_error(410, "form_closed");
    // Whoever was thanked may reload that.
    service.get("/f/closed/thanks").await.assert_page(200);
    assert!(service.kept("closed").await.is_empty());
}

#[tokio::test]
async fn a_form_without_fields_has_nothing_to_fill_in() {
    let service = Service::new().await;
    service.form("free", None).await;
    let page = service.get("/f/free").await;
    page.assert_page(200);
    assert!(!page.body.contains("<form"));
}

#[tokio::test]
async fn many_choices_are_a_list_and_an_optional_choice_can_be_taken_back() {
    let service = Service::new().await;
    let fields = r#"[{"label":"Few","type":"choice","choices":["a","b"]},
        {"label":"Must","type":"choice","required":true,"choices":["a","b"]},
        {"label":"Many","type":"choice","choices":["1","2","3","4","5","6","7","8","9"]}]"#;
    service.form("choices", Some(fields)).await;
    let page = service.get("/f/choices").await.body;
    assert!(page.contains(r#"name="Few" value="">"#), "{page}");
    assert!(!page.contains(r#"name="Must" value="">"#) && page.contains(r#"value="b" required>"#));
    assert!(page.contains(r#"<select id="field-2" name="Many">"#));
}

#[tokio::test]
async fn a_public_id_of_any_script_has_a_page() {
    let service = Service::new().await;
    service.form("é+\"<x>", None).await;
    let target = "/f/%C3%A9+%22%3Cx%3E";
    service.get(target).await.assert_page(200);
    let taken = service.post(target, URLENCODED, "a=1").await;
    assert_eq!(taken.header("location"), format!("{target}/thanks"));
    service.get(taken.header("location")).await.assert_page(200);
}

#[tokio::test]
async fn other_methods_are_refused() {
    let service = Service::with_form().await;
    for method in [Method::PUT, Method::DELETE, Method::PATCH] {
        let request = Request::builder().method(&method).uri("/f/form");
        let answer = service.send(request, "").await;
        answer.assert_error(405, "method_not_allowed");
        assert!(answer.header("allow").contains("POST"), "{}", answer.header("allow"));
    }
    let head = service.send(Request::head("/f/form"), "").await;
    assert_eq!((head.status.as_u16(), head.body.as_str()), (200, ""));
}
