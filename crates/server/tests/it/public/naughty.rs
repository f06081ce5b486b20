//! The big list of naughty strings, typed into a form.

use formsvc_server::public::PublicOptions;
use formsvc_server::rate_limit::RateLimit;
use serde_json::Value;

use super::answers::multipart;
use super::service::{Service, URLENCODED};

fn strings() -> Vec<String> {
    serde_json::from_str(include_str!("../../../../../fixtures/forms/naughty.json")).unwrap()
}

async fn service() -> Service {
    let off = RateLimit::Off;
    let options = PublicOptions { per_address: off, per_form: off, ..Default::default() };
    let service = Service::with(options).await;
    let fields = r#"[{"label":"Say","type":"long_text"},{"label":"Number","type":"number"}]"#;
    service.form("say", Some(fields)).await;
    service
}

/// The newest answer to "Say".
async fn said(service: &Service) -> Option<String> {
    let kept = service.newest("say", 1).await;
    let kept: Value = serde_json::from_str(kept.first()?).unwrap();
    kept.get("Say").map(|text| text.as_str().unwrap().to_owned())
}

#[tokio::test]
async fn each_is_kept_to_the_character_or_refused_by_the_name_of_a_control() {
    let service = service().await;
    let (mut kept, mut refused) = (0, 0);
    for text in strings() {
        let json = serde_json::json!({ "Say": text }).to_string();
        let encoded =
            form_urlencoded::Serializer::new(String::new()).append_pair("Say", &text).finish();
        let (parts_type, parts) = multipart(&[("Say", &text)]);
        let as_typed = text.replace("\r\n", "\n");
        for (content_type, body, wanted) in [
            ("application/json", json, &text),
            (URLENCODED, encoded, &as_typed),
            (&parts_type, parts, &as_typed),
        ] {
            let request = http::Request::post("/f/say").header("content-type", content_type);
            let answer = service.send(request.header("accept", "application/json"), body).await;
            let has_control = wanted.chars().any(|c| c.is_control() && !['\n', '\t'].contains(&c));
            if has_control {
                answer.assert_error(422, "invalid_answers");
                assert!(answer.body.contains("control character U+"), "{}", answer.body);
                refused += 1;
            } else {
                answer.id();
                let wanted = Some(wanted.clone()).filter(|text| !text.is_empty());
                assert_eq!(said(&service).await, wanted, "{content_type}");
                kept += 1;
            }
        }
    }
    assert!(kept > 1_300 && refused > 0 && refused < 30, "{kept} kept, {refused} refused");
}

#[tokio::test]
async fn each_is_shown_again_as_text() {
    let service = service().await;
    for text in strings() {
        let mut body = form_urlencoded::Serializer::new(String::new());
        let body =
            body.append_pair("Say", &text).append_pair("Number", &text).append_pair(&text, "");
        let page = service.post("/f/say", URLENCODED, body.finish()).await;
        if page.status.as_u16() == 303 {
            // Nothing that a form without such a field would refuse.
            continue;
        }
        page.assert_page(422);
        let area = page.body.split("<textarea").nth(1).unwrap();
        let shown = area.split_once("dir=\"auto\">\n").unwrap().1;
        let shown = shown.split("</textarea>").next().unwrap();
        let mut typed = text.clone();
        for (character, reference) in
            [("&", "&#38;"), ("<", "&#60;"), (">", "&#62;"), ("\"", "&#34;"), ("'", "&#39;")]
        {
            typed = typed.replace(character, reference);
        }
        assert_eq!(shown, typed);
        let value = page.body.split(r#"name="Number" value=""#).nth(1).unwrap();
        assert_eq!(value.split('"').next().unwrap(), typed);
        for tag in page.body.split('<').skip(1) {
            let name = tag.trim_start_matches('/').split([' ', '>']).next().unwrap();
            assert!(TAGS.contains(&name), "{text}: <{name}>");
        }
    }
}

/// What the template is made of.
const TAGS: [&str; 22] = [
    "!doctype", "a", "body", "button", "div", "form", "h1", "h2", "head", "html", "input", "label",
    "li", "main", "meta", "p", "span", "style", "textarea", "title", "ul", "option",
];
