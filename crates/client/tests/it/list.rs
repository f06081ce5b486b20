//! Lists of submissions.

use std::collections::HashMap;

use formsvc_client::{Cursor, ErrorKind, FormId};
use futures_util::StreamExt;
use futures_util::stream::FusedStream;
use proptest::prelude::*;

use crate::support::bodies::{FORMS, last, page, page_of, row};
use crate::support::builder;
use crate::support::fake::{Answer, Fake, ok, status};

fn list(fake: &std::sync::Arc<Fake>) -> formsvc_client::SubmissionQuery {
    let client = builder().transport(fake.wire()).build().unwrap();
    client.form("frm_1").submissions()
}

/// Returns the numbers of the rows, and the kind of the error that ended the list.
async fn read(list: formsvc_client::SubmissionQuery) -> (Vec<String>, Option<ErrorKind>) {
    let (mut items, mut ids) = (list.items(), Vec::new());
    let ended = loop {
        match items.try_next().await {
            Ok(Some(item)) => ids.push(item.id.as_str()["sub_".len()..].to_owned()),
            Ok(None) => break None,
            Err(error) => break Some(error.kind()),
        }
    };
    assert!(items.is_terminated());
    assert!(items.try_next().await.unwrap().is_none(), "an ended stream stays ended");
    (ids, ended)
}

#[tokio::test]
async fn items_are_read_from_all_pages_in_order() {
    let fake = Fake::script([
        ok(page([0, 1], "a+b c&d")),
        ok(page([], "e")),
        ok(page([2], "f")),
        ok(last([])),
    ]);
    let (ids, ended) = read(list(&fake)).await;
    assert_eq!((ids.join(" "), ended), ("0 1 2".to_owned(), None));
    let base = "/base/api/v1/forms/frm_1/submissions?limit=100";
    let cursors = ["", "&cursor=a%2Bb+c%26d", "&cursor=e", "&cursor=f"];
    assert_eq!(fake.sent(), cursors.map(|cursor| format!("{base}{cursor}")));
}

#[tokio::test]
async fn submission_keeps_its_exact_text() {
    let json = r#"{ "Amount" : 1.50, "\u00e9":12345678901234567890.10, "Amount":null }"#;
    let created = "2026-01-31T09:30:00.120Z";
    let escaped =
        format!(r#"{{"created_at":"{created}","data":{json},"id":"sub\u005f1","x":1.0}}"#);
    let fake = Fake::script([ok(page_of(&[escaped], None, false))]);
    let page = list(&fake).page().await.unwrap();
    let submission = &page.submissions()[0];
    assert_eq!(submission.data.as_json(), json);
    assert!(submission.id == "sub_1");
    assert_eq!(submission.created_at.as_str(), created);
    assert_eq!(submission.created_at.unix_micros(), 1_769_851_800_120_000);
    assert_eq!(submission.extra.get("x"), Some("1.0"));
    assert_eq!(page.clone().into_submissions(), page.submissions());
}

#[tokio::test]
async fn page_iterates_over_new_rows_and_keeps_its_meta() {
    let fake = Fake::script([ok(page([0, 1], "c")), ok(last([1, 2]))]);
    let mut pages = list(&fake).page_size(2).pages();
    let first = pages.try_next().await.unwrap().unwrap();
    assert_eq!((first.len(), first.is_empty(), first.has_more()), (2, false, true));
    assert_eq!(first.next_cursor().map(Cursor::as_str), Some("c"));
    assert_eq!(first.meta().request_id(), Some("req_1"));
    let second = pages.next().await.unwrap().unwrap();
    assert_eq!((&second).into_iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["sub_2"]);
    assert_eq!(second.into_iter().map(|row| row.id.to_string()).collect::<Vec<_>>(), ["sub_2"]);
    assert!(pages.next().await.is_none() && pages.is_terminated());
    assert!(fake.sent()[0].contains("limit=2"));
}

#[tokio::test]
async fn typed_answers_error_names_the_path() {
    let fake = Fake::script([ok(last([0]))]);
    let submission = list(&fake).items().try_next().await.unwrap().unwrap();
    let typed: HashMap<String, f64> = submission.data.to().unwrap();
    assert_eq!(typed["Number"].to_bits(), 0.5_f64.to_bits());
    let error = submission.data.to::<HashMap<String, bool>>().unwrap_err();
    assert_eq!(error.path(), "Number");
}

#[tokio::test]
async fn page_size_out_of_range_is_config_error() {
    for size in [0, 101, u32::MAX] {
        let fake = Fake::script([]);
        let error = list(&fake).page_size(size).items().try_next().await.unwrap_err();
        assert_eq!((error.kind(), error.attempts()), (ErrorKind::Config, 0));
        assert_eq!(
            error.to_string(),
            format!("submissions.list: page size `{size}` is not in 1..=100")
        );
        assert!(list(&fake).page_size(size).page().await.is_err());
    }
}

#[tokio::test]
async fn max_pages_ends_list_and_token_continues() {
    let fake = Fake::script([ok(page([0], "a")), ok(page([1], "b")), ok(last([2]))]);
    let mut items = list(&fake).max_pages(2).items();
    assert_eq!(items.try_collect_max(9).await.unwrap().len(), 2);
    let token = items.resume_token();
    assert_eq!(token.cursor().map(Cursor::as_str), Some("b"));
    assert_eq!(read(list(&fake).resume_from(token)).await, (vec!["2".into()], None));
    assert_eq!(read(list(&fake).max_pages(0)).await, (vec![], None));
}

#[tokio::test]
async fn page_refuses_settings_of_whole_lists() {
    let fake = Fake::script([]);
    for (query, name) in [
        (list(&fake).max_pages(2), "max_pages"),
        (list(&fake).allow_incomplete(true), "allow_incomplete"),
    ] {
        let error = query.page().await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("submissions.list: `page` and `{name}` exclude each other")
        );
    }
}

#[tokio::test]
async fn page_has_the_token_after_it() {
    let fake = Fake::script([ok(page([0, 1], "a")), ok(last([2]))]);
    let mut pages = list(&fake).pages();
    let first = pages.try_next().await.unwrap().unwrap();
    assert_eq!((pages.is_finished(), pages.completeness()), (false, None));
    let second = pages.try_next().await.unwrap().unwrap();
    assert!(pages.is_finished() && second.resume_token().is_finished());
    assert_eq!(pages.completeness(), Some(pages.completeness_so_far()));
    let fake = Fake::script([ok(last([2]))]);
    let rest = list(&fake).resume_from(first.resume_token().clone());
    assert_eq!(read(rest).await, (vec!["2".into()], None));
}

#[tokio::test]
async fn failed_list_is_not_finished_and_not_proven() {
    let fake = Fake::script([status(403)]);
    let mut items = list(&fake).items();
    items.try_next().await.unwrap_err();
    assert!(items.try_next().await.unwrap().is_none());
    assert_eq!((items.is_finished(), items.completeness()), (false, None));
}

#[tokio::test]
async fn token_continues_at_the_new_base_url() {
    let fake = Fake::script([ok(page([0], "a"))]);
    let mut items = list(&fake).items();
    items.try_next().await.unwrap().unwrap();
    let token = items.resume_token();
    let fake = Fake::script([ok(last([1]))]);
    let moved = builder().base_url("https://moved.example").transport(fake.wire()).build().unwrap();
    let query = || moved.form("frm_1").submissions();
    assert!(query().resume_from(token.clone()).items().try_next().await.is_err());
    let rest = query().resume_from(token.rebind(&moved)).items().try_collect_max(9).await.unwrap();
    assert_eq!(rest.len(), 1);
}

#[tokio::test]
async fn start_at_sends_the_cursor() {
    let fake = Fake::script([ok(last([5]))]);
    assert_eq!(read(list(&fake).start_at(Cursor::new("c"))).await.0, ["5"]);
    assert!(fake.sent()[0].ends_with("&cursor=c"));
}

#[tokio::test]
async fn stuck_list_yields_its_rows_then_error() {
    for bodies in [
        vec![page([0], "a"), page([1], "a")],
        vec![page([0, 1], "")],
        vec![page_of(&[row(0), row(1)], None, true)],
        vec![page([0, 1], "a"), page([], "b"), page([1], "a")],
    ] {
        let fake = Fake::script(bodies.into_iter().map(ok));
        let (ids, ended) = read(list(&fake)).await;
        assert_eq!((ids.join(" "), ended), ("0 1".into(), Some(ErrorKind::Pagination)));
    }
    let mut n = 0;
    let fake = Fake::rule(move |_| {
        n += 1;
        ok(page([], &n.to_string()))
    });
    assert_eq!(read(list(&fake)).await, (vec![], Some(ErrorKind::Pagination)));
    assert_eq!(fake.sent().len(), 100);
}

#[tokio::test]
async fn out_of_order_list_yields_good_rows_then_error() {
    let fake = Fake::script([ok(page([4, 5], "a")), ok(page([6, 3, 7], "b"))]);
    let mut pages = list(&fake).pages();
    assert_eq!(pages.try_next().await.unwrap().unwrap().len(), 2);
    assert_eq!(pages.try_next().await.unwrap().unwrap().len(), 1);
    let error = pages.try_next().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Pagination);
    assert_eq!(error.json_path(), Some("data[1].created_at"));
    assert_eq!(error.request_id(), Some("req_1"));
    assert!(pages.try_next().await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn failed_page_ends_list_with_its_error() {
    let fake = Fake::script([ok(page([0], "a")), status(404)]);
    assert_eq!(read(list(&fake)).await, (vec!["0".into()], Some(ErrorKind::Api)));
}

#[tokio::test]
async fn collect_over_max_is_too_large() {
    let fake = Fake::script([ok(page([0, 1], "a")), ok(last([2]))]);
    let mut items = list(&fake).items();
    let error = items.try_collect_max(2).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert_eq!(items.try_next().await.unwrap().unwrap().id.as_str(), "sub_2");
    let fake = Fake::script([ok(page([0, 1], "a")), ok(last([2]))]);
    assert_eq!(list(&fake).items().try_collect_max(3).await.unwrap().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn dropped_call_loses_no_page() {
    let fake = Fake::script([ok(page([0], "a")), Answer::Silence, ok(last([1]))]);
    let mut items = list(&fake).items();
    items.try_next().await.unwrap();
    for _ in 0..5 {
        let second = std::time::Duration::from_secs(1);
        assert!(tokio::time::timeout(second, items.try_next()).await.is_err());
    }
    assert_eq!(items.try_next().await.unwrap().unwrap().id.as_str(), "sub_1");
    assert_eq!(fake.sent().len(), 3, "the request in flight is kept, then retried once");
}

#[tokio::test]
async fn form_accepts_texts_and_ids() {
    let fake = Fake::script([]);
    let client = builder().transport(fake.wire()).build().unwrap();
    let (text, id) = ("frm_1".to_owned(), FormId::new("frm_1").unwrap());
    for form in [
        client.form("frm_1"),
        client.form(text.clone()),
        client.form(&text),
        client.form(&id),
        client.form(id.clone()),
    ] {
        assert_eq!(form.id().unwrap(), &id);
    }
}

#[tokio::test]
async fn invalid_form_id_is_config_error_of_first_call() {
    let fake = Fake::script([]);
    let client = builder().transport(fake.wire()).build().unwrap();
    let form = client.form("a\0b");
    assert!(form.id().is_none());
    let mut items = form.submissions().items();
    let error = items.try_next().await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Config, 0));
    assert!(error.to_string().contains("a form id cannot contain NUL"), "{error}");
    assert!(items.try_next().await.unwrap().is_none());
    assert_eq!(items.resume_token().form_id(), None);
    assert_eq!(form.submissions().page().await.unwrap_err().kind(), ErrorKind::Config);
}

#[tokio::test]
async fn find_form_returns_exact_title_or_names_both_ids() {
    let form = |id: &str, title: &str| {
        let list = FORMS.replace("frm_1", id).replace(r#""T""#, &format!(r#""{title}""#));
        list[list.find('[').unwrap() + 1..list.rfind(']').unwrap()].to_owned()
    };
    let two = |first: &str, second: &str| {
        ok(format!(r#"{{"data":[{},{}]}}"#, form("frm_1", first), form("frm_2", second)))
    };
    let fake =
        Fake::script([two("Contact", "contact"), two("A", "B"), two(r"A\u202e", r"A\u202e")]);
    let client = builder().transport(fake.wire()).build().unwrap();
    assert!(client.find_form("contact").await.unwrap().unwrap().id == "frm_2");
    assert!(client.find_form("C").await.unwrap().is_none());
    let error = client.find_form("A\u{202e}").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert_eq!(
        error.to_string(),
        r"forms.list: two forms have the title `A\u{202e}`: `frm_1` and `frm_2`; use the id"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_pages_yield_each_id_once_or_typed_error(
        pages in prop::collection::vec(
            (prop::collection::vec(0_u32..40, 0..6), any::<bool>(), 0_u8..30, 0_u8..12),
            1..12,
        ),
    ) {
        let bodies: Vec<_> = pages
            .iter()
            .map(|(rows, sorted, next, kind)| {
                let mut rows = rows.clone();
                if *sorted { rows.sort_unstable(); }
                let next = next.to_string();
                let next = Some(next.as_str()).filter(|_| *kind != 1);
                page_of(&rows.into_iter().map(row).collect::<Vec<_>>(), next, *kind > 0)
            })
            .collect();
        let served = std::sync::Arc::new(std::sync::Mutex::new(0));
        let count = served.clone();
        let fake = Fake::rule(move |_| {
            let mut at = count.lock().unwrap();
            *at += 1;
            bodies.get(*at - 1).map_or_else(|| status(404), ok)
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let (ids, ended) = runtime.block_on(read(list(&fake)));
        let mut once = ids.clone();
        once.sort();
        once.dedup();
        prop_assert_eq!(once.len(), ids.len(), "{:?}", ids);
        if ended.is_none() {
            let served = *served.lock().unwrap();
            let mut all: Vec<_> =
                pages[..served].iter().flat_map(|page| &page.0).map(u32::to_string).collect();
            all.sort();
            all.dedup();
            prop_assert_eq!(once, all);
        }
    }
}
