//! What is sent, and what is kept of it.

use http::{Request, StatusCode};
use serde_json::json;

use super::service::{EVERY_KIND, Service, URLENCODED};

const KEPT: &str = r#"{"Name":"Zoë","Message":"a\nb","E-mail":"z@example.org","Guests":2.0,"Day":"2026-01-31","Size":"M","Colours":["red","\"blue\""],"Terms":true}"#;

#[tokio::test]
async fn the_three_encodings_say_the_same() {
    let service = Service::with_form().await;
    let body = "Terms=on&Colours=red&Colours=%22blue%22&Size=M&Day=2026-01-31&Guests=2.0\
                &E-mail=z%40example.org&Message=a%0D%0Ab&Name=Zo%C3%AB&_gotcha=&_id=1";
    service.post("/f/form", URLENCODED, body).await.assert_thanks("form");
    let pairs = [
        ("Name", "Zoë"),
        ("Message", "a\r\nb"),
        ("E-mail", "z@example.org"),
        ("Guests", "2.0"),
        ("Day", "2026-01-31"),
        ("Size", "M"),
        ("Colours", "red"),
        ("Colours", "\"blue\""),
        ("Terms", "on"),
        ("_gotcha", ""),
    ];
    let (content_type, body) = multipart(&pairs);
    service.post("/f/form", &content_type, body).await.assert_thanks("form");
    let body = r#"{"Terms":true,"Colours":["red","\"blue\""],"Size":"M","Day":"2026-01-31",
        "Guests":2.0,"E-mail":"z@example.org","Message":"a\nb","Name":"Zo\u00eb"}"#;
    service.post_json("/f/form", body).await.id();
    assert_eq!(service.kept("form").await, [KEPT; 3]);
}

/// A body as browsers write it.
pub(super) fn multipart(pairs: &[(&str, &str)]) -> (String, String) {
    let mut body = String::new();
    for (name, value) in pairs {
        let name = name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
        body.push_str("------x\r\nContent-Disposition: form-data; name=\"");
        for part in [&name, "\"\r\n\r\n", value, "\r\n"] {
            body.push_str(part);
        }
    }
    body.push_str("------x--\r\n");
    ("multipart/form-data; boundary=----x".to_owned(), body)
}

#[tokio::test]
async fn a_program_is_told_the_id_and_the_time() {
    let service = Service::with_form().await;
    let taken = service.post_json("/f/form", r#"{"Name":"a"}"#).await;
    assert_eq!(taken.status, StatusCode::CREATED);
    assert_eq!(taken.header("content-type"), "application/json");
    let json = taken.json();
    assert_eq!(json.as_object().unwrap().len(), 2);
    assert!(json["id"].as_str().unwrap().starts_with("sub_"));
    let created_at = json["created_at"].as_str().unwrap();
    assert!(created_at.len() == 24 && created_at.ends_with('Z'), "{created_at}");
}

#[tokio::test]
async fn accept_decides_and_without_it_the_body_does() {
    let service = Service::with_form().await;
    let send = async |content_type: &str, accept: &str, body: &'static str| {
        let request = Request::post("/f/form").header("content-type", content_type);
        service.send(request.header("accept", accept), body).await.status.as_u16()
    };
    assert_eq!(send(URLENCODED, "application/json", "Name=a").await, 201);
    assert_eq!(send(URLENCODED, "text/html,*/*;q=0.8", "Name=a").await, 303);
    assert_eq!(send(URLENCODED, "*/*", "Name=a").await, 303);
    assert_eq!(send("application/json", "*/*", r#"{"Name":"a"}"#).await, 201);
    assert_eq!(send("application/json", "text/html", r#"{"Name":"a"}"#).await, 303);
}

#[tokio::test]
async fn the_page_that_thanks_can_be_reloaded() {
    let service = Service::with_form().await;
    let taken = service.post("/f/form", URLENCODED, "Name=a").await;
    taken.assert_thanks("form");
    for _ in 0..2 {
        let thanks = service.get(taken.header("location")).await;
        thanks.assert_page(200);
        assert!(thanks.body.contains("Thank you"));
    }
    assert_eq!(service.kept("form").await.len(), 1);
}

#[tokio::test]
async fn invalid_answers_are_told_field_by_field() {
    let service = Service::with_form().await;
    let refused =
        service.post_json("/f/form", r#"{"E-mail":"nobody","Guests":9,"odd":1,"Size":"M"}"#).await;
    refused.assert_error(422, "invalid_answers");
    assert_eq!(
        refused.json()["error"]["fields"],
        json!([
            {"field": "Name", "message": "needs an answer"},
            {"field": "E-mail", "message": "must be an e-mail address, such as name@example.org"},
            {"field": "Guests", "message": "must be from 1 to 8"},
            {"field": "odd", "message": "is no field of this form"},
        ])
    );
    assert!(service.kept("form").await.is_empty());
}

#[tokio::test]
async fn a_page_with_problems_keeps_what_was_typed() {
    let service = Service::with_form().await;
    let body = "Name=&Message=%0D%0A%3C%2Ftextarea%3E+%26amp%3B&E-mail=nobody&Guests=many\
                &Day=2026-01-31&Size=M&Colours=%22blue%22&Terms=on&odd=%3Cscript%3E";
    let page = service.post("/f/form", URLENCODED, body).await;
    page.assert_page(422);
    // Mended, sent, and refused once more, as by a limit, it is gone back to.
    assert_eq!(page.header("cache-control"), "private, no-cache");
    for kept in [
        "rows=\"6\" aria-describedby=\"field-1-hint\" dir=\"auto\">\n\r\n&#60;/textarea&#62; &#38;amp;</textarea>",
        r#"value="nobody""#,
        r#"value="many""#,
        r#"value="2026-01-31""#,
        r#"name="Size" value="M" checked"#,
        r#"value="&#34;blue&#34;" checked"#,
        r#"name="Terms" value="on" checked"#,
        r##"<a href="#field-0">Name needs an answer</a>"##,
        r#"<p class="error" id="field-0-error"><span dir="auto">Needs an answer.</span></p>"#,
        "<li><span dir=\"auto\">odd is no field of this form</span></li>",
        "<title>Please check: Form &#60;form&#62;</title>",
    ] {
        assert!(page.body.contains(kept), "{kept}: {}", page.body);
    }
    assert!(!page.body.contains("name=\"Size\" value=\"S\" checked"));
    assert!(!page.body.contains("<script"));
    assert!(service.kept("form").await.is_empty());
}

#[tokio::test]
async fn a_free_form_takes_what_it_is_sent() {
    let service = Service::new().await;
    service.form("free", None).await;
    let odd = r#"{ "n": 1.50, "\ud83e\udd80": [{"x": null}], "n": 2 }"#;
    service.post_json("/f/free", odd).await.id();
    service.post("/f/free", URLENCODED, "b=1&a=2&b=3&_id=x").await.assert_thanks("free");
    assert_eq!(service.kept("free").await, [r#"{"b":["1","3"],"a":"2"}"#, odd]);
    let many: Vec<_> = (0..201).map(|n| format!("{n}=")).collect();
    let page = service.post("/f/free", URLENCODED, many.join("&")).await;
    page.assert_page(422);
    assert!(page.body.contains("201 fields"));
    let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(8), "]".repeat(8));
    service.post_json("/f/free", deep).await.assert_error(422, "invalid_answers");
}

#[tokio::test]
async fn fields_that_change_hold_from_the_next_submission_on() {
    let service = Service::new().await;
    let form = service.form("form", None).await;
    service.post("/f/form", URLENCODED, "anything=1").await.assert_thanks("form");
    let fields = formsvc_server::fields::Fields::parse(EVERY_KIND).unwrap();
    let edit = formsvc_server::admin::FormEdit { fields: Some(fields), ..Default::default() };
    service.admin.edit_form(&form.id, edit).await.unwrap();
    service.post("/f/form", URLENCODED, "anything=1").await.assert_page(422);
}

#[tokio::test]
async fn half_of_a_surrogate_pair_is_no_answer() {
    let service = Service::new().await;
    service.form("free", None).await;
    let refused = service.post_json("/f/free", r#"{"a":"\ud800"}"#).await;
    assert_eq!(refused.status, 422, "{}", refused.body);
    assert!(service.kept("free").await.is_empty());
}
