//! Lists of any path, page by page, as JSON texts.

use formsvc_client::event::ClientEvent;
use formsvc_client::list::RawPages;
use formsvc_client::{Completeness, ErrorKind, RateLimit};

use crate::support::bodies::{FORMS, last, page, page_of, row};
use crate::support::builder;
use crate::support::fake::{Answer, Fake, ok, status};
use crate::support::form::{Form, SECOND};

async fn all(pages: &mut RawPages) -> Result<Vec<String>, formsvc_client::Error> {
    let mut all = Vec::new();
    while let Some(items) = pages.try_next().await? {
        all.extend(items);
    }
    Ok(all)
}

fn pages(fake: &std::sync::Arc<Fake>, query: &[(&str, &str)]) -> RawPages {
    let client = builder().rate_limit(RateLimit::off()).transport(fake.wire()).build().unwrap();
    client.raw_pages("/api/v1/forms/frm_1/submissions", query)
}

#[tokio::test]
async fn raw_pages_lose_no_row_that_shares_a_time() {
    for unit in [1, 1_000, SECOND] {
        let form = Form::new(unit);
        for row in 0..40 {
            let mut form = form.lock().unwrap();
            form.now += if row % 3 == 0 { SECOND } else { 0 };
            form.commit(0);
        }
        let fake = Form::serve(&form);
        let mut pages = pages(&fake, &[("limit", "5"), ("view", "x")]);
        let mut rows = all(&mut pages).await.unwrap();
        assert_eq!(rows.len(), form.lock().unwrap().rows.len());
        rows.sort_unstable();
        rows.dedup();
        assert_eq!(rows.len(), form.lock().unwrap().rows.len());
        assert!(fake.sent().iter().all(|path| path.contains("view=x")), "{:?}", fake.sent());
    }
}

#[tokio::test]
async fn raw_pages_keep_the_text_of_items() {
    let odd = [row(1), r#"{"id":"x" , "data": null}"#.to_owned(), "7".to_owned()];
    let fake = Fake::script([ok(page_of(&odd, Some("a"), true)), ok(last([2]))]);
    let mut pages = pages(&fake, &[("cursor", "start")]);
    assert_eq!(pages.next_cursor(), Some("start"));
    assert_eq!(pages.try_next().await.unwrap().unwrap(), odd);
    assert_eq!(pages.next_cursor(), Some("a"));
    assert_eq!(all(&mut pages).await.unwrap(), [row(2)]);
    assert!(pages.try_next().await.unwrap().is_none());
    let paths: Vec<_> =
        fake.sent().iter().map(|path| path.split_once('?').unwrap().1.to_owned()).collect();
    assert_eq!(paths, ["cursor=start", "cursor=a"]);
}

#[tokio::test]
async fn list_of_other_items_follows_its_cursors() {
    let one = |next: &str| ok(page_of(&["{\"n\":1}".to_owned()], Some(next), true));
    let fake = Fake::script([one("a"), one("b"), ok(page_of(&[], None, false))]);
    assert_eq!(all(&mut pages(&fake, &[])).await.unwrap().len(), 2);
    // A list without pages.
    let fake = Fake::script([ok(FORMS)]);
    assert_eq!(all(&mut pages(&fake, &[])).await.unwrap().len(), 1);
    for (answer, text) in [
        (one("a"), "goes in circles"),
        (ok(page_of(&["1".to_owned()], None, true)), "no `next_cursor`"),
    ] {
        let fake = Fake::script([one("a"), answer]);
        let mut pages = pages(&fake, &[]);
        assert_eq!(pages.try_next().await.unwrap().unwrap().len(), 1);
        assert_eq!(pages.try_next().await.unwrap().unwrap().len(), 1);
        let error = pages.try_next().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Pagination);
        assert!(error.to_string().contains(text), "{error}");
        assert_eq!(pages.next_cursor(), Some("a"));
        assert!(pages.try_next().await.unwrap().is_none());
    }
}

#[tokio::test]
async fn raw_pages_fail_for_what_is_no_list() {
    for body in ["{}", "[[],{}]", "<html>"] {
        let error = pages(&Fake::script([ok(body)]), &[]).try_next().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Decode, "{body}");
    }
    let mut pages = pages(&Fake::script([status(403)]), &[]);
    assert_eq!(pages.try_next().await.unwrap_err().kind(), ErrorKind::Api);
}

#[tokio::test]
async fn refused_cursor_falls_back_and_is_reported() {
    let fell_back = std::sync::Arc::new(std::sync::Mutex::new(0));
    let count = fell_back.clone();
    let next = "2026-01-31T23:59:58.000Z";
    let fake = Fake::script([
        ok(page([0, 1], next)),
        Answer::Status(400, Vec::new(), String::new()),
        ok(last([2])),
    ]);
    let client = builder().transport(fake.wire()).on_event(move |event| {
        *count.lock().unwrap() += i32::from(matches!(event, ClientEvent::Fallback { .. }));
    });
    let client = client.build().unwrap();
    let mut pages = client.raw_pages("/api/v1/forms/frm_1/submissions", &[]);
    assert_eq!(all(&mut pages).await.unwrap().len(), 3);
    assert_eq!(*fell_back.lock().unwrap(), 1);
    assert!(pages.is_finished());
    assert_eq!(pages.completeness_so_far(), Completeness::Unproven);
}

#[tokio::test]
async fn panic_of_a_listener_keeps_the_cursor_before_the_page() {
    // The cursor is no time, so that the list falls back.
    let fake = Fake::script([ok(page([0, 1], "a"))]);
    let client = builder().transport(fake.wire()).on_event(|event| {
        assert!(!matches!(event, ClientEvent::Fallback { .. }), "the listener fails");
    });
    let pages =
        client.build().unwrap().raw_pages("/api/v1/forms/frm_1/submissions", &[("cursor", "x")]);
    let pages = std::sync::Arc::new(tokio::sync::Mutex::new(pages));
    let broken = pages.clone();
    let failed = tokio::spawn(async move { broken.lock().await.try_next().await }).await;
    assert!(failed.unwrap_err().is_panic());
    let mut pages = pages.lock().await;
    assert_eq!(pages.next_cursor(), Some("x"), "the page was not returned");
    assert!(pages.try_next().await.unwrap().is_none() && !pages.is_finished());
    assert_eq!(fake.sent().len(), 1);
}
