//! What members do with their forms, submissions and keys.

use formsvc_protocol::FormStatus;
use formsvc_server::store::NewSubmission;

use super::browser::Browser;
use super::service::{EMAIL, PASSWORD};
use super::service::{Service, sign_in};

/// The editor's rows as a browser sends them.
fn rows<'a>(labels: &[&'a str]) -> Vec<(String, &'a str)> {
    let row = |(n, label): (usize, &&'a str)| {
        [(format!("f{n}.label"), *label), (format!("f{n}.type"), "text")]
    };
    labels.iter().enumerate().flat_map(row).collect()
}

async fn press(
    browser: &Browser,
    path: &str,
    labels: &[&str],
    revision: &str,
    button: &str,
) -> super::browser::Answer {
    let rows = rows(labels);
    let mut pairs: Vec<_> = rows.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    pairs.extend([("revision", revision), ("do", button)]);
    browser.post(path, &pairs).await
}

fn revision(answer: &super::browser::Answer) -> String {
    let value = answer.body.split("name=\"revision\" value=\"").nth(1).unwrap();
    value.split('"').next().unwrap().to_owned()
}

/// The labels in the editor, in their order.
fn labels(answer: &super::browser::Answer) -> Vec<String> {
    let inputs = answer.body.split(".label\" value=\"").skip(1);
    inputs.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_form_is_made_edited_published_closed_and_opened_again() {
    let service = Service::new().await;
    let (browser, _) = service.member().await;
    browser.get("/dashboard").await.says("No forms yet").says("formsvc-server seed");
    browser.get("/dashboard/new").await.is(200);
    browser.post("/dashboard/new", &[("title", " ")]).await.is(422).says("cannot be blank");
    let answer = browser.post("/dashboard/new", &[("title", "Party")]).await;
    let fields = answer.leads().split('?').next().unwrap().to_owned();
    let form = fields.strip_suffix("/fields").unwrap().to_owned();
    let page = browser.get(answer.leads()).await.is(200);
    page.says("as a draft").says("save-publish");
    // What is typed there would not be published.
    page.does_not_say("id=\"publish-form\"");
    browser.get(&form).await.says("id=\"publish-form\"");
    let rev = revision(&page);
    // Buttons change the page and nothing else.
    let page = press(&browser, &fields, &["A", "B"], &rev, "add").await.is(200);
    assert_eq!(labels(&page), ["A", "B", ""]);
    let page = press(&browser, &fields, &["A", "B", "C"], &rev, "up:2").await.is(200);
    assert_eq!(labels(&page), ["A", "C", "B"]);
    let page = press(&browser, &fields, &["A", "C", "B"], &rev, "remove:0").await.is(200);
    assert_eq!(labels(&page), ["C", "B"]);
    let page = press(&browser, &fields, &["C", "B"], &rev, "preview").await.is(200);
    page.says("id=\"preview\"").says("name=\"C\"");
    let page = press(&browser, &fields, &["C", "C", ""], &rev, "save").await.is(422);
    page.says("id=\"f2-error\"").says("Nothing was saved");
    assert_eq!(labels(&browser.get(&fields).await), [""], "nothing is saved so far");
    let answer = press(&browser, &fields, &["C", "B"], &rev, "publish").await;
    assert_eq!(answer.leads(), format!("{fields}?said=published"));
    assert_eq!(labels(&browser.get(&fields).await), ["C", "B"]);
    let id = form.strip_prefix("/dashboard/forms/").unwrap();
    let public = service.admin.find_form(id).await.unwrap();
    assert_eq!(public.status, FormStatus::Published);
    browser.get(&public.url).await.is(200).says("name=\"B\"");
    // To try it with: its own labels.
    browser.get(&form).await.says("{&#34;C&#34;:").does_not_say("Hello");
    browser.get(&format!("{form}/close")).await.is(200).says("Visitors are told");
    let status = format!("{form}/status");
    browser.post(&status, &[("status", "closed")]).await.leads();
    browser.get(&public.url).await.is(410);
    browser.get(&form).await.says("Reopen");
    browser.post(&status, &[("status", "published")]).await.leads();
    browser.get(&public.url).await.is(200);
}

#[tokio::test]
async fn of_two_who_edit_at_a_time_the_second_is_told_and_keeps_what_was_typed() {
    let service = Service::new().await;
    let (browser, user) = service.member().await;
    let form = service.form(&user, "contact", None).await;
    let path = format!("/dashboard/forms/{}/fields", form.id);
    let other = service.browser();
    sign_in(&other, EMAIL, PASSWORD).await.leads();
    let began = revision(&browser.get(&path).await.is(200));
    let theirs = revision(&other.get(&path).await.is(200));
    press(&other, &path, &["Theirs"], &theirs, "save").await.leads();
    let answer = press(&browser, &path, &["Mine"], &began, "save").await.is(409);
    answer.says("was changed since you opened it");
    assert_eq!(labels(&answer), ["Mine"]);
    assert_eq!(labels(&browser.get(&path).await), ["Theirs"], "both are kept");
    // Saved again, from the page that says so, mine replaces theirs.
    let again = revision(&answer);
    press(&browser, &path, &["Mine"], &again, "save").await.leads();
    assert_eq!(labels(&browser.get(&path).await), ["Mine"]);
}

#[tokio::test]
async fn settings_are_kept_and_judged_at_their_fields() {
    let service = Service::new().await;
    let (browser, user) = service.member().await;
    let form = service.form(&user, "contact", None).await;
    let path = format!("/dashboard/forms/{}/settings", form.id);
    browser.get(&path).await.is(200).says("/f/contact");
    let pairs =
        [("title", "Renamed"), ("origins", "https://a.example\r\n\r\nhttps://b.example:1 ")];
    assert_eq!(browser.post(&path, &pairs).await.leads(), format!("{path}?said=saved"));
    let met = service.store.public_form(&form.public_id).await.unwrap().unwrap();
    assert_eq!(met.form.title, "Renamed");
    assert_eq!(met.origins.unwrap(), ["https://a.example", "https://b.example:1"]);
    let wrong = [("title", "Renamed"), ("origins", "a.example/path")];
    browser.post(&path, &wrong).await.is(422).says("id=\"origins-error\"").says("a.example/path");
    browser.post(&path, &[("title", ""), ("origins", "")]).await.is(422).says("id=\"title-error\"");
    browser.post(&path, &[("title", "Renamed"), ("origins", " ")]).await.leads();
    let met = service.store.public_form(&form.public_id).await.unwrap().unwrap();
    assert_eq!(met.origins, None);
}

#[tokio::test]
async fn submissions_are_paged_searched_and_shown_alone() {
    let service = Service::new().await;
    let (browser, user) = service.member().await;
    let form = service.form(&user, "contact", None).await;
    for n in 0..230 {
        let answers = format!(
            r#"{{"Name":"Visitor {n:03}","City":"{}"}}"#,
            if n == 3 { "KÖLN" } else { "Ulm" }
        );
        service.admin.submit(&form.id, &answers).await.unwrap();
    }
    let path = format!("/dashboard/forms/{}", form.id);
    let first = browser.get(&path).await.is(200);
    first
        .says("Visitor 229")
        .says("Visitor 180")
        .does_not_say("Visitor 179")
        .does_not_say("id=\"newest\"");
    first.says(&format!("formsvc submissions export {}", form.id)).says(&service.base);
    let older = |page: &super::browser::Answer| {
        let rest = page.body.split("id=\"older\" href=\"").nth(1)?;
        Some(rest.split('"').next().unwrap().replace("&#38;", "&"))
    };
    let (mut pages, mut next) = (1, older(&first));
    while let Some(path) = next {
        let page = browser.get(&path).await.is(200);
        page.says("id=\"newest\"");
        (pages, next) = (pages + 1, older(&page));
    }
    assert_eq!(pages, 5);
    let found = browser.get(&format!("{path}?q=k%C3%B6ln")).await.is(200);
    found
        .says("Visitor 003")
        .does_not_say("Visitor 004")
        .says("Searched 230 submissions, to the oldest");
    let link = found
        .body
        .split("href=\"/dashboard/forms/")
        .find(|rest| rest.contains("/submissions/"))
        .unwrap();
    let link = format!("/dashboard/forms/{}", link.split('"').next().unwrap());
    browser
        .get(&link.replace("&#38;", "&"))
        .await
        .is(200)
        .says("Visitor 003")
        .says("There are none");
    // A search ends when there is a page of them, and goes on from there.
    let found = browser.get(&format!("{path}?q=ULM")).await.is(200);
    found.says("Searched 100 submissions, back to").says("Search older");
    let found = browser.get(&older(&found).unwrap()).await.is(200);
    found.says("Visitor 129").does_not_say("Visitor 130");
    browser.get(&format!("{path}?q=nowhere")).await.is(200).says("Nothing found");
    browser.get(&format!("{path}?before=nonsense")).await.is(200).says("Visitor 229");
}

#[tokio::test]
async fn submissions_of_one_millisecond_are_told_apart() {
    let still = formsvc_protocol::FormInstant::from_micros(1_700_000_000_000_000);
    let wanted = super::service::Wanted {
        store_clock: std::sync::Arc::new(move || still),
        ..Default::default()
    };
    let service = Service::with(wanted).await;
    let (browser, user) = service.member().await;
    let form = service.form(&user, "contact", None).await;
    // A second of milliseconds, then microseconds of the same one.
    for n in 0..1_250 {
        let id = formsvc_protocol::SubmissionId::new(&format!("sub_{n}")).unwrap();
        let answers = formsvc_protocol::Answers::parse(format!(r#"{{"n":"row {n}"}}"#)).unwrap();
        let new =
            NewSubmission { id, form: form.id.clone(), answers, revision: None, idempotency: None };
        service.store.submit(new).await.unwrap();
    }
    let page = browser.get(&format!("/dashboard/forms/{}", form.id)).await.is(200);
    let links = page.body.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    let links: Vec<_> = links.filter(|link| link.contains("/submissions/")).collect();
    assert_eq!(links.len(), 50);
    for (n, link) in links.iter().enumerate().step_by(7) {
        let page = browser.get(&link.replace("&#38;", "&")).await.is(200);
        page.says(&format!("row {}", 1_249 - n));
    }
}

#[tokio::test]
async fn a_key_is_shown_once_used_and_revoked() {
    let service = Service::new().await;
    let (browser, _) = service.member().await;
    browser.get("/dashboard/keys").await.says("No keys yet");
    browser.post("/dashboard/keys", &[("name", "")]).await.is(422).says("id=\"name-error\"");
    let made = browser.post("/dashboard/keys", &[("name", "laptop")]).await.is(200);
    assert_eq!(made.header("cache-control"), "no-store");
    let key = made.value_of("secret");
    assert!(key.starts_with("fsk_") && key.len() == 47, "{key}");
    assert!(made.cookies().is_empty());
    let list = browser.get("/dashboard/keys").await.is(200);
    list.does_not_say(&key).says(&key[..10]).says("active");
    let me = async || {
        let request = browser.request(http::Method::GET, "/api/v1/me");
        let request = request.header("authorization", format!("Bearer {key}"));
        browser.send(request, "").await
    };
    me().await.is(200).says(EMAIL);
    let revoke = list.body.split("href=\"").find(|rest| rest.contains("/revoke\"")).unwrap();
    let revoke = revoke.split('"').next().unwrap();
    browser.get(revoke).await.is(200).says("cannot be brought back");
    me().await.is(200);
    assert_eq!(browser.post(revoke, &[]).await.leads(), "/dashboard/keys?said=revoked");
    me().await.is(401).says("key_revoked");
    browser.get("/dashboard/keys?said=revoked").await.says("revoked</span>").says("is revoked.");
}

#[tokio::test]
async fn what_an_address_says_is_shown_only_when_it_is_ours() {
    let service = Service::new().await;
    let (browser, _) = service.member().await;
    browser.get("/dashboard?said=saved").await.says("Saved.").says("role=\"status\"");
    for other in ["Your%20account%20is%20locked", "%3Cb%3E", ""] {
        let page = browser.get(&format!("/dashboard?said={other}")).await.is(200);
        page.does_not_say("locked").does_not_say("id=\"said\"");
    }
}

#[tokio::test]
async fn third_heavy_request_of_a_user_waits() {
    let service = Service::new().await;
    let (browser, user) = service.member().await;
    let (other, other_user) = service.member_named("bob@example.org").await;
    let form = service.form(&user, "contact", None).await;
    let other_form = service.form(&other_user, "other", None).await;
    service.watched.hold_pages();
    let (path, other_path) =
        (format!("/dashboard/forms/{}", form.id), format!("/dashboard/forms/{}", other_form.id));
    let checks = async {
        service.watched.held_pages(2).await;
        let (answer, ()) = tokio::join!(other.get(&other_path), async {
            let threads = service.watched.held_pages(3).await;
            assert_eq!(threads.len(), 3, "the third request of the first user reached the store");
            assert!(!threads.contains(&std::thread::current().id()), "{threads:?}");
            service.watched.release_pages();
        });
        answer.is(200);
    };
    let requests = futures_util::future::join_all((0..3).map(|_| browser.get(&path)));
    let (answers, ()) = tokio::join!(requests, checks);
    for answer in answers {
        answer.is(200);
    }
}

#[tokio::test]
async fn abandoned_heavy_requests_return_their_turns() {
    let service = Service::new().await;
    let (browser, user) = service.member().await;
    let form = service.form(&user, "contact", None).await;
    let path = format!("/dashboard/forms/{}", form.id);
    service.watched.hold_pages();
    for count in 1..=3 {
        tokio::select! {
            answer = browser.get(&path) => panic!("no page was to be answered: {answer:?}"),
            _ = service.watched.held_pages(count) => {}
        }
    }
    service.watched.release_pages();
    browser.get(&path).await.is(200);
}
