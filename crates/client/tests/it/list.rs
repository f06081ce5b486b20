//! Lists of submissions.

use formsvc_client::{Cursor, ErrorKind, Row};
use futures_util::StreamExt;
use futures_util::stream::FusedStream;
use proptest::prelude::*;

use crate::support::bodies::{last, page, page_of, row, row_at, time};
use crate::support::builder;
use crate::support::fake::{Answer, Fake, ok, status};

fn list(fake: &std::sync::Arc<Fake>) -> formsvc_client::ListSubmissions {
    let client = builder().transport(fake.wire()).build().unwrap();
    client.form("frm_1".parse().unwrap()).submissions()
}

/// Numbers of the rows, and the kind of the error that ended the list.
async fn read(list: formsvc_client::ListSubmissions) -> (Vec<String>, Option<ErrorKind>) {
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
async fn items_come_from_every_page_in_order() {
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
async fn a_submission_keeps_its_exact_text() {
    let json = r#"{ "Amount" : 1.50, "\u00e9":12345678901234567890.10, "Amount":null }"#;
    let created = "2026-01-31T09:30:00.120Z";
    let escaped = format!(r#"{{"created_at":"{created}","data":{json},"id":"sub\u005f1","x":1}}"#);
    let fake = Fake::script([ok(page_of(&[escaped], None, false))]);
    let page = list(&fake).page().await.unwrap();
    let rows: Vec<_> = page.rows().map(|row| (row.id(), row.data(), row.created_at())).collect();
    assert_eq!(rows, [("sub_1", json, created)]);
    assert_eq!(page.row(0).unwrap().unix_micros(), 1_769_851_800_120_000);
    let owned = page.submissions();
    assert_eq!(owned[0].data.as_json(), json);
    assert_eq!(owned[0].id.as_str(), "sub_1");
    assert_eq!(owned[0].created_at.as_str(), created);
    assert_eq!(page.row(0).unwrap().text(), None);
    // As services spell it, the whole of it is there as well, a row that is left out or not.
    let plain =
        |id| format!(r#"{{"x":[{{}}], "id":"{id}","data":{json},"created_at":"{created}"}}"#);
    let (first, second) = (plain("sub_1"), plain("sub_2"));
    let repeated = [first.clone(), first.clone(), second.clone()];
    let fake = Fake::script([ok(page_of(&repeated, None, false))]);
    let page = list(&fake).page().await.unwrap();
    assert_eq!(page.rows().map(Row::text).collect::<Vec<_>>(), [Some(&*first), Some(&*second)]);
}

#[tokio::test]
async fn pages_give_rows_text_and_what_came_with_them() {
    let bodies = [page([0, 1], "c"), last([1, 2])];
    let fake = Fake::script(bodies.clone().map(ok));
    let mut pages = list(&fake).page_size(2).pages();
    let first = pages.try_next().await.unwrap().unwrap();
    assert_eq!((first.len(), first.text(), first.has_more()), (2, bodies[0].as_str(), true));
    assert_eq!(first.next_cursor().map(Cursor::as_str), Some("c"));
    assert_eq!(first.meta().request_id(), Some("req_1"));
    let second = pages.next().await.unwrap().unwrap();
    assert_eq!(second.rows().map(Row::id).collect::<Vec<_>>(), ["sub_2"]);
    assert_eq!(second.text(), bodies[1]);
    assert!(pages.next().await.is_none() && pages.is_terminated());
    assert!(fake.sent()[0].contains("limit=2"));
}

#[tokio::test]
async fn a_page_size_out_of_range_is_an_error_not_a_guess() {
    for size in [0, 101, u32::MAX] {
        let fake = Fake::script([]);
        let error = list(&fake).page_size(size).items().try_next().await.unwrap_err();
        assert_eq!((error.kind(), error.attempts()), (ErrorKind::Config, 0));
        assert_eq!(
            error.to_string(),
            format!("submissions.list: the page size `{size}` is not in 1..=100")
        );
        assert!(list(&fake).page_size(size).page().await.is_err());
    }
}

#[tokio::test]
async fn max_pages_ends_the_list_and_the_token_leads_on() {
    let fake = Fake::script([ok(page([0], "a")), ok(page([1], "b")), ok(last([2]))]);
    let mut items = list(&fake).max_pages(2).items();
    assert_eq!(items.try_collect_max(9).await.unwrap().len(), 2);
    let token = items.resume_token();
    assert_eq!(token.cursor().map(Cursor::as_str), Some("b"));
    assert_eq!(read(list(&fake).resume_from(token)).await, (vec!["2".into()], None));
    assert_eq!(read(list(&fake).max_pages(0)).await, (vec![], None));
}

#[tokio::test]
async fn the_next_page_is_asked_for_before_a_page_is_handed_on() {
    let fake = Fake::script([ok(page([0], "a")), ok(page([1], "b")), ok(last([2]))]);
    let mut pages = list(&fake).prefetch(true).pages();
    for asked in [2, 3, 3] {
        assert!(pages.try_next().await.unwrap().is_some());
        assert_eq!(fake.sent().len(), asked);
    }
    assert!(pages.try_next().await.unwrap().is_none());
}

#[tokio::test]
async fn prefetching_asks_for_no_page_beyond_max_pages() {
    let fake = Fake::script([ok(page([0], "a")), ok(page([1], "b"))]);
    let list = list(&fake).prefetch(true).max_pages(2);
    assert_eq!(read(list).await, (vec!["0".into(), "1".into()], None));
    assert_eq!(fake.sent().len(), 2);
}

#[tokio::test]
async fn the_error_of_a_prefetched_page_comes_after_the_page_before_it() {
    let fake = Fake::script([ok(page([0], "a")), status(403), ok(last([1]))]);
    let mut pages = list(&fake).prefetch(true).pages();
    assert_eq!(pages.try_next().await.unwrap().unwrap().len(), 1);
    let token = pages.resume_token();
    assert!(pages.try_next().await.is_err());
    assert_eq!(read(list(&fake).resume_from(token)).await.0, ["1"]);
}

#[tokio::test]
async fn a_page_that_waits_for_its_successors_request_is_not_lost() {
    let fake = Fake::script([ok(page([0], "a")), ok(last([1]))]);
    let mut pages = list(&fake).prefetch(true).pages();
    // Polled once, the page has arrived, but others have their turn first.
    assert!(futures_util::poll!(pages.next()).is_pending());
    let token = pages.resume_token();
    assert_eq!(token.cursor(), None);
    let first = pages.try_next().await.unwrap().unwrap();
    assert_eq!(first.rows().map(Row::id).collect::<Vec<_>>(), ["sub_0"]);
}

#[tokio::test]
async fn the_token_of_an_empty_page_that_waits_still_knows_the_page_before() {
    let fake = Fake::script([
        ok(page([0, 1], "a")),
        ok(page([], "b")),
        ok(page([1, 2], "c")),
        ok(last([1, 2])),
    ]);
    let mut pages = list(&fake).prefetch(true).pages();
    pages.try_next().await.unwrap().unwrap();
    // The empty page has arrived and waits.
    assert!(futures_util::poll!(pages.next()).is_pending());
    let token = pages.resume_token();
    drop(pages);
    assert_eq!(read(list(&fake).resume_from(token)).await, (vec!["2".into()], None));
}

#[tokio::test]
async fn before_begins_at_a_cursor() {
    let fake = Fake::script([ok(last([5]))]);
    assert_eq!(read(list(&fake).before(Cursor::new("c"))).await.0, ["5"]);
    assert!(fake.sent()[0].ends_with("&cursor=c"));
}

#[tokio::test]
async fn a_list_that_leads_nowhere_gives_its_rows_and_then_an_error() {
    for bodies in [
        vec![page([0], "a"), page([1], "a")],
        vec![page([0, 1], "")],
        vec![page_of(&[row(0), row(1)], None, true)],
        vec![page([0, 1], "a"), page([], "b"), page([1], "a")],
    ] {
        let fake = Fake::script(bodies.into_iter().map(ok));
        let (ids, ended) = read(list(&fake)).await;
        assert_eq!((ids.join(" "), ended), ("0 1".into(), Some(ErrorKind::PaginationStuck)));
    }
    let mut n = 0;
    let fake = Fake::rule(move |_| {
        n += 1;
        ok(page([], &n.to_string()))
    });
    assert_eq!(read(list(&fake)).await, (vec![], Some(ErrorKind::PaginationStuck)));
    assert_eq!(fake.sent().len(), 100);
}

#[tokio::test]
async fn a_list_out_of_order_gives_the_good_rows_and_names_the_bad_one() {
    let fake = Fake::script([ok(page([4, 5], "a")), ok(page([6, 3, 7], "b"))]);
    let mut pages = list(&fake).pages();
    assert_eq!(pages.try_next().await.unwrap().unwrap().len(), 2);
    assert_eq!(pages.try_next().await.unwrap().unwrap().len(), 1);
    let error = pages.try_next().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfOrder);
    assert_eq!(error.json_path(), Some("data[1].created_at"));
    assert_eq!(error.request_id(), Some("req_1"));
    assert!(pages.try_next().await.unwrap().is_none());
}

#[tokio::test]
async fn rows_that_share_a_time_are_all_there_once() {
    let tied = |n: u32| row_at(n, &time(7));
    let fake = Fake::script([
        ok(page_of(&[row(0), tied(1), tied(2)], Some("a"), true)),
        ok(page_of(&[tied(2), tied(3)], Some("b"), true)),
        ok(page_of(&[tied(4), tied(1), tied(5)], None, false)),
    ]);
    assert_eq!(read(list(&fake)).await.0.join(""), "012345");
}

#[tokio::test(start_paused = true)]
async fn a_failing_page_ends_the_list_with_its_error() {
    let fake = Fake::script([ok(page([0], "a")), status(404)]);
    assert_eq!(read(list(&fake)).await, (vec!["0".into()], Some(ErrorKind::Api)));
}

#[tokio::test]
async fn collecting_refuses_to_grow_beyond_its_bound() {
    let fake = Fake::script([ok(page([0, 1], "a")), ok(last([2]))]);
    let mut items = list(&fake).items();
    let error = items.try_collect_max(2).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert_eq!(items.try_next().await.unwrap().unwrap().id.as_str(), "sub_2");
    let fake = Fake::script([ok(page([0, 1], "a")), ok(last([2]))]);
    assert_eq!(list(&fake).items().try_collect_max(3).await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_list_can_be_read_on_another_task() {
    let fake = Fake::script([ok(page([0], "a")), ok(last([1]))]);
    let items = list(&fake).items();
    let count =
        tokio::spawn(async move { items.filter(|i| std::future::ready(i.is_ok())).count().await });
    assert_eq!(count.await.unwrap(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_loses_no_page() {
    let fake = Fake::script([ok(page([0], "a")), Answer::Silence, ok(last([1]))]);
    let mut items = list(&fake).items();
    items.try_next().await.unwrap();
    for _ in 0..5 {
        let second = std::time::Duration::from_secs(1);
        assert!(tokio::time::timeout(second, items.try_next()).await.is_err());
    }
    assert_eq!(items.try_next().await.unwrap().unwrap().id.as_str(), "sub_1");
    assert_eq!(fake.sent().len(), 3, "the request under way was kept, then retried once");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_sequence_of_pages_gives_every_id_once_or_a_typed_error(
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
