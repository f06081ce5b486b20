//! SPEC §4: the lists.

use serde_json::Value;

use super::service::Service;

#[tokio::test]
async fn forms_are_listed_newest_first_with_every_field() {
    let service = Service::new().await;
    let first = service.form("First").await;
    let second = service.form("Second \"quoted\"").await;
    let list = service.get("/api/v1/forms").await.json();
    let forms = list["data"].as_array().unwrap();
    assert_eq!(forms.len(), 2);
    assert_eq!(forms[0], serde_json::to_value(&second).unwrap());
    assert_eq!(forms[1]["id"], first.id.as_str());
    assert_eq!(forms[1]["url"], format!("/f/{}", first.public_id));
    assert_eq!(forms[1]["status"], "published");
    assert_eq!(forms[1].as_object().unwrap().len(), 7);
}

#[tokio::test]
async fn pages_walk_a_form_once_and_completely() {
    let service = Service::new().await;
    let form = service.form_with_rows(57).await;
    for limit in [1, 7, 25, 56, 57, 58, 100] {
        // The walks together are more than one minute's requests.
        service.pass(std::time::Duration::from_secs(61));
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        loop {
            let target = format!("/api/v1/forms/{}/submissions?limit={limit}{cursor}", form.id);
            let page = service.get(&target).await.json();
            seen.extend(
                page["data"].as_array().unwrap().iter().map(|row| row["data"]["n"].clone()),
            );
            assert!(page["pagination"]["next_cursor"].is_string());
            cursor = format!("&cursor={}", page["pagination"]["next_cursor"].as_str().unwrap());
            if page["pagination"]["has_more"] == false {
                break;
            }
        }
        let expected: Vec<Value> = (0..57).rev().map(Value::from).collect();
        assert_eq!(seen, expected, "limit {limit}");
    }
}

#[tokio::test]
async fn the_default_page_has_25_rows_and_an_empty_one_no_cursor() {
    let service = Service::new().await;
    let form = service.form_with_rows(26).await;
    let target = format!("/api/v1/forms/{}/submissions", form.id);
    let page = service.get(&target).await.json();
    assert_eq!(page["data"].as_array().unwrap().len(), 25);
    assert_eq!(page["pagination"]["has_more"], true);
    let before_all = service.get(&format!("{target}?cursor=1970-01-01T00:00:00Z")).await;
    assert_eq!(
        before_all.body,
        r#"{"data":[],"pagination":{"next_cursor":null,"has_more":false}}"#
    );
}

#[tokio::test]
async fn an_offset_in_the_cursor_means_the_same_instant() {
    let service = Service::new().await;
    let form = service.form_with_rows(2).await;
    let target = format!("/api/v1/forms/{}/submissions", form.id);
    let offset = service.get(&format!("{target}?cursor=9999-01-01T02:00:00%2B02:00")).await;
    assert_eq!(offset.json()["data"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn answers_come_back_to_the_letter() {
    let service = Service::new().await;
    let form = service.form("Letters").await;
    let answers = r#"{"z":1,"a":12345678901234567890.5000,"z":2,"é\u00e9":"\/","e":1E300}"#;
    service.admin.submit(&form.id, answers).await.unwrap();
    let page = service.get(&format!("/api/v1/forms/{}/submissions", form.id)).await;
    assert!(page.body.contains(&format!("\"data\":{answers}")), "{}", page.body);
}

#[tokio::test]
async fn answers_are_private_json() {
    let service = Service::new().await;
    let form = service.form_with_rows(1).await;
    let submissions = format!("/api/v1/forms/{}/submissions", form.id);
    for target in ["/api/v1/me", "/api/v1/forms", &submissions, "/api/v1/no", "/livez"] {
        let answer = service.get(target).await;
        assert_eq!(answer.header("content-type"), "application/json", "{target}");
        assert_eq!(answer.header("cache-control"), "no-store", "{target}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{target}");
        assert!(answer.header("x-request-id").starts_with("req_"), "{target}");
    }
}

#[tokio::test]
async fn a_page_of_large_submissions_ends_early_and_the_walk_misses_none() {
    let service = Service::new().await;
    let form = service.form("Large").await;
    let long = "x".repeat(4_000_000);
    for n in 0..9 {
        let answers = format!("{{\"n\":{n},\"long\":\"{long}\"}}");
        service.admin.submit(&form.id, &answers).await.unwrap();
    }
    let refused = service.admin.submit(&form.id, &format!("{{\"a\":\"{long}{long}\"}}")).await;
    let message = refused.unwrap_err().to_string();
    assert_eq!(
        message,
        "size of answers `8000008 bytes` is over the limit of 4194304 bytes (4 MiB)"
    );
    let (mut pages, mut seen, mut cursor) = (Vec::new(), Vec::new(), String::new());
    loop {
        let target = format!("/api/v1/forms/{}/submissions?limit=100{cursor}", form.id);
        let page = service.get(&target).await;
        assert!(page.body.len() < 17 << 20, "{}", page.body.len());
        let page = page.json();
        let rows = page["data"].as_array().unwrap();
        pages.push(rows.len());
        seen.extend(rows.iter().map(|row| row["data"]["n"].as_u64().unwrap()));
        cursor = format!("&cursor={}", page["pagination"]["next_cursor"].as_str().unwrap());
        if page["pagination"]["has_more"] == false {
            break;
        }
    }
    assert_eq!(pages, [4, 4, 1]);
    assert_eq!(seen, [8, 7, 6, 5, 4, 3, 2, 1, 0]);
}
