//! Stopping and going on.

use std::cell::Cell;

use formsvc_client::{ErrorKind, ListSubmissions, ResumeToken};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::support::bodies::{last, page, page_of, row};
use crate::support::builder;
use crate::support::fake::{Fake, ok, status};

fn list(fake: &std::sync::Arc<Fake>) -> ListSubmissions {
    let client = builder().transport(fake.wire()).build().unwrap();
    client.form("frm_1".parse().unwrap()).submissions()
}

fn ids(items: &[formsvc_client::Submission]) -> Vec<&str> {
    items.iter().map(|item| &item.id.as_str()["sub_".len()..]).collect()
}

/// The token as another process gets it.
fn carried(token: &ResumeToken) -> ResumeToken {
    token.to_string().parse().unwrap()
}

#[tokio::test]
async fn the_token_moves_on_only_after_the_last_item_of_a_page() {
    let fake = Fake::script([ok(page([0, 1], "a")), ok(last([2]))]);
    let mut items = list(&fake).items();
    let cursor = |token: ResumeToken| token.cursor().map(|c| c.as_str().to_owned());
    assert_eq!(items.resume_token().to_string(), "v1:frm_1:newest:::");
    items.try_next().await.unwrap();
    let within = items.resume_token();
    assert_eq!(cursor(within.clone()), None);
    assert!(within.to_string().ends_with(":sub_0"), "{within}");
    items.try_next().await.unwrap();
    assert_eq!(cursor(items.resume_token()), Some("a".into()));
    items.try_next().await.unwrap();
    assert!(items.resume_token().is_finished());
}

#[tokio::test]
async fn a_finished_token_sends_nothing() {
    let fake = Fake::script([]);
    let token: ResumeToken = "v1:frm_1:end:::".parse().unwrap();
    let mut items = list(&fake).resume_from(token.clone()).items();
    assert!(items.try_next().await.unwrap().is_none());
    assert!(items.resume_token().is_finished());
    let error = list(&fake).resume_from(token).page().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
}

#[tokio::test]
async fn a_token_of_another_form_or_beside_a_cursor_is_refused() {
    let fake = Fake::script([]);
    let other: ResumeToken = "v1:frm_2:newest:::".parse().unwrap();
    let error = list(&fake).resume_from(other).items().try_next().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().contains("`frm_2`, not `frm_1`"), "{error}");
    let own: ResumeToken = "v1:frm_1:newest:::".parse().unwrap();
    let both = list(&fake).resume_from(own).before(formsvc_client::Cursor::new("c"));
    assert_eq!(both.items().try_next().await.unwrap_err().kind(), ErrorKind::Config);
}

#[tokio::test(start_paused = true)]
async fn after_an_error_the_token_leads_back_to_where_it_happened() {
    let fake = Fake::script([ok(page([0, 1], "a")), status(404), ok(last([2]))]);
    let mut items = list(&fake).items();
    while items.try_next().await.is_ok() {}
    let rest = list(&fake).resume_from(items.resume_token()).items().try_collect_max(9).await;
    assert_eq!(ids(&rest.unwrap()), ["2"]);
}

#[tokio::test]
async fn after_a_page_that_leads_nowhere_its_rows_do_not_come_again() {
    let stuck = page_of(&[row(2), row(3)], None, true);
    let fake =
        Fake::script([ok(page([0, 1], "a")), ok(stuck), ok(page([2, 3], "b")), ok(last([4]))]);
    let mut items = list(&fake).items();
    let error = items.try_collect_max(9).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PaginationStuck);
    let rest = list(&fake).resume_from(carried(&items.resume_token())).items();
    assert_eq!(ids(&{ rest }.try_collect_max(9).await.unwrap()), ["4"]);
    assert!(fake.sent()[2].ends_with("cursor=a"));
}

#[tokio::test]
async fn a_page_that_was_out_of_order_is_read_again_from_its_beginning() {
    let answers = [page([0], "a"), page([6, 3, 7], "b"), page([3, 6, 7], "b"), last([8])];
    let fake = Fake::script(answers.map(ok));
    let mut items = list(&fake).items();
    assert_eq!(items.try_collect_max(9).await.unwrap_err().kind(), ErrorKind::OutOfOrder);
    // 0 and 6 were yielded; 3 was not, and is newer than 6.
    let mut rest = list(&fake).resume_from(carried(&items.resume_token())).items();
    assert_eq!(ids(&rest.try_collect_max(9).await.unwrap()), ["3", "7", "8"]);
}

#[tokio::test]
async fn a_cursor_that_is_refused_leads_back_to_the_page_that_gave_it() {
    let fake = Fake::script([
        ok(page([0, 1], "a")),
        ok(page([2, 3], "bad")),
        status(400),
        ok(page([2, 3], "good")),
        ok(last([4])),
    ]);
    let mut items = list(&fake).items();
    assert_eq!(items.try_collect_max(9).await.unwrap_err().kind(), ErrorKind::Api);
    let token = carried(&items.resume_token());
    assert_eq!(token.cursor().unwrap().as_str(), "a", "{token}");
    let mut rest = list(&fake).resume_from(token).items();
    assert_eq!(ids(&rest.try_collect_max(9).await.unwrap()), ["4"]);
}

#[tokio::test]
async fn pages_and_items_resume_each_other() {
    let fake = Fake::script([ok(page([0, 1], "a")), ok(page([2, 3], "b")), ok(last([4]))]);
    let mut pages = list(&fake).pages();
    pages.try_next().await.unwrap();
    let mut items = list(&fake).resume_from(carried(&pages.resume_token())).items();
    assert_eq!(items.try_next().await.unwrap().unwrap().id.as_str(), "sub_2");
    drop((items, pages));
    let token: ResumeToken = "v1:frm_1:.b:::".parse().unwrap();
    let page = list(&fake).resume_from(token).page().await.unwrap();
    assert_eq!(page.len(), 1);
}

/// Pages by offset, so that rows which arrive between two runs push the others on.
#[test]
fn stopping_anywhere_loses_and_repeats_nothing_while_rows_arrive() {
    const CASES: u32 = 96;
    let stops = prop::collection::vec((0_usize..15, 0_usize..4), 1..8);
    let mut runner = TestRunner::new(ProptestConfig::with_cases(CASES));
    let ended = Cell::new(0);
    runner
        .run(&(0_u32..60, 1_usize..9, stops), |(old, size, stops)| {
            let whole = while_rows_arrive(old, size, stops)?;
            ended.set(ended.get() + u32::from(whole));
            Ok(())
        })
        .unwrap();
    // More may arrive than a page holds, which ends a list. Were that common, nothing was shown.
    assert!(ended.get() * 2 > CASES, "only {} of {CASES} lists came to their end", ended.get());
}

/// Whether the list came to its end.
fn while_rows_arrive(
    old: u32,
    size: usize,
    stops: Vec<(usize, usize)>,
) -> Result<bool, TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    // Newest first; numbers below 1,000 arrive later.
    let rows =
        std::sync::Arc::new(std::sync::Mutex::new((1_000..1_000 + old).collect::<Vec<u32>>()));
    let service = rows.clone();
    let fake = Fake::rule(move |request| {
        let query = request.uri().query().unwrap();
        let at = query.split_once("cursor=").map_or(0, |(_, at)| at.parse().unwrap());
        let rows = service.lock().unwrap();
        let rows: Vec<u32> = rows.iter().copied().skip(at).take(size + 1).collect();
        if rows.len() > size {
            ok(page(rows[..size].iter().copied(), &(at + size).to_string()))
        } else {
            ok(last(rows))
        }
    });
    let mut read: Vec<u32> = Vec::new();
    let mut token: Option<ResumeToken> = None;
    let mut next_new = 999;
    let (mut ended, mut arrived) = (false, 0);
    for (take, arrive) in stops.into_iter().chain([(1_000, 0)]) {
        let mut list = list(&fake);
        if let Some(token) = &token {
            list = list.resume_from(carried(token));
        }
        let mut items = list.items();
        for _ in 0..take {
            match runtime.block_on(items.try_next()) {
                Ok(Some(item)) => read.push(item.id.as_str()["sub_".len()..].parse().unwrap()),
                Ok(None) => {
                    ended = true;
                    break;
                }
                // More arrived than a page holds: it is noticed, never passed over.
                Err(error) => {
                    prop_assert_eq!(error.kind(), ErrorKind::OutOfOrder);
                    prop_assert!(arrived > size, "{} arrived, pages of {}", arrived, size);
                    break;
                }
            }
        }
        token = Some(items.resume_token());
        for _ in 0..arrive {
            rows.lock().unwrap().insert(0, next_new);
            next_new -= 1;
        }
        arrived += arrive;
    }
    let mut once = read.clone();
    once.sort_unstable();
    once.dedup();
    prop_assert_eq!(once.len(), read.len(), "{:?}", read);
    // However it ended, no row is missing among those that were there and were passed.
    once.retain(|row| *row >= 1_000);
    let passed = if ended { old } else { once.last().map_or(0, |row| row + 1 - 1_000) };
    prop_assert_eq!(once, (1_000..1_000 + passed).collect::<Vec<_>>(), "{:?}", read);
    Ok(ended)
}
