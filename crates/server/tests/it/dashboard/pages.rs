//! What makes pages usable by keyboard and by ear.

use formsvc_server::dashboard::{Access, ROUTES, Verb};

use super::service::Service;
use super::things::Things;

/// The values of an attribute, in their order.
fn values<'a>(page: &'a str, attribute: &str) -> Vec<&'a str> {
    let attribute = format!(" {attribute}=\"");
    page.split(attribute.as_str()).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

#[track_caller]
fn assert_usable(path: &str, page: &str) {
    let ids = values(page, "id");
    let mut once = ids.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), ids.len(), "{path}: ids are unique: {ids:?}");
    let mut referred: Vec<&str> = values(page, "for");
    for attribute in ["aria-describedby", "aria-labelledby"] {
        referred.extend(values(page, attribute).iter().flat_map(|ids| ids.split(' ')));
    }
    referred.extend(values(page, "href").iter().filter_map(|link| link.strip_prefix('#')));
    for id in &referred {
        assert!(ids.contains(id), "{path}: nothing is `{id}`");
    }
    // Every input that is seen has a label.
    for element in ["<input ", "<textarea ", "<select "] {
        for input in page.split(element).skip(1) {
            let input = input.split('>').next().unwrap();
            if input.contains("type=\"hidden\"") || input.starts_with("hidden ") {
                continue;
            }
            let id = input.split("id=\"").nth(1).map(|rest| rest.split('"').next().unwrap());
            let id = id.unwrap_or_else(|| panic!("{path}: {input}"));
            assert!(page.contains(&format!("for=\"{id}\"")), "{path}: {id} has no label");
        }
    }
    assert_eq!(page.matches("<h1").count(), 1, "{path}");
    assert_eq!(page.matches("<main").count(), 1, "{path}");
    let mut level = 0;
    for heading in page.split("<h").skip(1) {
        let Some(next) = heading.chars().next().and_then(|digit| digit.to_digit(10)) else {
            continue;
        };
        assert!(next <= level + 1, "{path}: h{level} is followed by h{next}");
        level = next;
    }
    assert!(page.contains("class=\"skip\" href=\"#main\"") && page.contains("<html lang=\"en\">"));
    let title = page.split("<title>").nth(1).unwrap().split("</title>").next().unwrap();
    assert!(title.ends_with(" · formsvc") && title.len() > " · formsvc".len(), "{title}");
    for table in page.split("<table").skip(1) {
        assert!(table.contains("scope=\"col\"") && table.contains("scope=\"row\""), "{path}");
    }
    for never in ["<script", "javascript:", " style=", " onclick", " src=", "<style"] {
        assert!(!page.contains(never), "{path}: {never}");
    }
}

#[tokio::test]
async fn every_page_has_labels_headings_in_order_and_references_that_lead_somewhere() {
    let service = Service::new().await;
    let (browser, user) = service.member().await;
    let things = Things::of(&service, &user, "mine").await;
    let fields = r#"[{"label":"Name","type":"text","required":true,"help":"h"},
        {"label":"Size","type":"choice","choices":["a","b"]},{"label":"On","type":"checkbox"},
        {"label":"Many","type":"choice","choices":["1","2","3","4","5","6","7","8","9"]}]"#;
    let fielded = service.form(&user, "fielded", Some(fields)).await;
    let mut pages = 0;
    for route in ROUTES {
        if route.verb != Verb::Get || route.access != Access::Members {
            continue;
        }
        let path = things.path(route.path);
        let page = browser.get(&path).await.is(200);
        assert_usable(&path, &page.body);
        // A page of the bar, or of a form, says which it is.
        page.says("aria-current=");
        pages += 1;
    }
    assert!(pages >= 16, "{pages}");
    let path = format!("/dashboard/forms/{}/fields", fielded.id);
    assert_usable(&path, &browser.get(&path).await.is(200).body);
    let row = [
        ("f0.label", "Name"),
        ("f0.type", "text"),
        ("f1.label", "Size"),
        ("f1.type", "choice"),
        ("f1.choices", "a\r\nb"),
    ];
    for button in ["preview", "add"] {
        let pairs = [&row[..], &[("do", button)]].concat();
        let page = browser.post(&path, &pairs).await.is(200);
        assert_usable(&path, &page.body);
    }
    let wrong = [("f0.label", ""), ("f0.type", "number"), ("do", "save")];
    assert_usable(&path, &browser.post(&path, &wrong).await.is(422).body);
    assert_usable("new", &browser.post("/dashboard/new", &[("title", "")]).await.is(422).body);
    let made = browser.post("/dashboard/keys", &[("name", "n")]).await.is(200);
    assert_usable("key", &made.body);
    let added = things.path("/dashboard/forms/{form}/channels/new");
    let secret = browser.post(&added, &[("url", "http://127.0.0.1:9/x")]).await.is(200);
    assert_usable("secret", &secret.body);
    browser.forget();
    assert_usable("sign-in", &browser.get("/dashboard/sign-in").await.is(200).body);
    assert_usable("none", &browser.get("/dashboard/none").await.is(404).body);
}

#[tokio::test]
async fn a_form_of_ten_thousand_submissions_is_shown_and_searched_in_stretches() {
    let service = Service::new().await;
    let (browser, user) = service.member().await;
    let id = formsvc_protocol::PublicId::new("big").unwrap();
    let options = formsvc_server::seed::SeedOptions::new(id, 10_000);
    let form = formsvc_server::seed::seed_form(&service.admin, &user.id, &options).await.unwrap();
    service.watched.pages();
    let path = format!("/dashboard/forms/{}", form.id);
    let page = browser.get(&path).await.is(200);
    assert_eq!(page.body.matches("class=\"row-when\"").count(), 50);
    assert_eq!(service.watched.pages(), 1);
    browser.get("/dashboard").await.is(200).says("10,000");
    assert_eq!(service.watched.pages(), 0);
    // A search looks at 5,000 at most, fewer where that takes long, and its link goes on from there.
    let (mut total, mut searches, mut next) = (0, 0, Some(format!("{path}?q=zzzzzz")));
    while let Some(path) = next {
        let page = browser.get(&path).await.is(200);
        page.says("Nothing found");
        let scanned = page.body.split("Searched ").nth(1).unwrap().split(' ').next().unwrap();
        let scanned: usize = scanned.parse().unwrap();
        assert!(scanned <= 5_000 && service.watched.pages() <= 50, "{scanned}");
        (total, searches) = (total + scanned, searches + 1);
        let older = page.body.split("id=\"older\" href=\"").nth(1);
        next = older.map(|rest| rest.split('"').next().unwrap().replace("&#38;", "&"));
    }
    assert!(searches >= 2, "{searches}");
    assert_eq!(total, 10_000);
}

#[tokio::test]
async fn a_page_that_cannot_be_read_is_a_failure_and_not_an_empty_list() {
    let service = Service::new().await;
    let (browser, user) = service.member().await;
    let things = Things::of(&service, &user, "mine").await;
    service.watched.tear_pages();
    let list = things.path("/dashboard/forms/{form}");
    let one = things.path("/dashboard/forms/{form}/submissions/{submission}");
    for path in [&list, &format!("{list}?q=a"), &one] {
        let page = browser.get(path).await.is(500);
        page.says("its log says why").does_not_say("Nothing was sent yet");
    }
}
