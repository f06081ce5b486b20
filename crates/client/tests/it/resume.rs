//! Lists that are stopped and resumed.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use formsvc_client::{Completeness, Cursor, ErrorKind, ResumeToken, SubmissionQuery};
use sha2::{Digest as _, Sha256};

use crate::support::bodies::{last, page, page_of, row};
use crate::support::builder;
use crate::support::fake::{Fake, ok, status};

fn list(fake: &std::sync::Arc<Fake>) -> SubmissionQuery {
    let client = builder().transport(fake.wire()).build().unwrap();
    client.form("frm_1").submissions()
}

fn ids(items: &[formsvc_client::Submission]) -> Vec<&str> {
    items.iter().map(|item| &item.id.as_str()["sub_".len()..]).collect()
}

/// Returns the hashes of ids in the text of a token.
pub(crate) fn seen_ids(token: &ResumeToken) -> Vec<String> {
    let text = token.to_string();
    let (text, _) = text.strip_prefix("fsr2_").unwrap().split_once('.').unwrap();
    let json = URL_SAFE_NO_PAD.decode(text).unwrap();
    let content: serde_json::Value = serde_json::from_slice(&json).unwrap();
    // There is no state at the end of a list.
    let seen: Option<Vec<String>> =
        serde_json::from_value(content["state"]["seen"].clone()).unwrap();
    seen.unwrap_or_default()
}

/// Returns the token as another process would read it.
fn carried(token: &ResumeToken) -> ResumeToken {
    token.to_string().parse().unwrap()
}

#[tokio::test]
async fn token_advances_after_last_item_of_page() {
    let fake = Fake::script([ok(page([0, 1], "a")), ok(last([2]))]);
    let mut items = list(&fake).items();
    let cursor = |token: ResumeToken| token.cursor().map(|c| c.as_str().to_owned());
    assert_eq!(cursor(items.resume_token()), None);
    items.try_next().await.unwrap();
    let within = items.resume_token();
    assert_eq!(cursor(within.clone()), None);
    let hash = &Sha256::digest("sub_0")[..16];
    assert_eq!(seen_ids(&within), [URL_SAFE_NO_PAD.encode(hash)]);
    items.try_next().await.unwrap();
    assert_eq!(cursor(items.resume_token()), Some("a".into()));
    items.try_next().await.unwrap();
    assert!(items.resume_token().is_finished());
}

#[tokio::test]
async fn resumed_list_stays_unproven() {
    let fake = Fake::script([ok(page([0, 1], "a")), ok(last([2]))]);
    let mut pages = list(&fake).pages();
    pages.try_next().await.unwrap();
    let token = carried(&pages.resume_token());
    assert_eq!(
        (pages.completeness_so_far(), token.completeness()),
        (Completeness::Unproven, Completeness::Unproven)
    );
    let mut items = list(&fake).resume_from(token).items();
    assert_eq!(items.completeness_so_far(), Completeness::Unproven);
    assert_eq!(items.try_collect_max(9).await.unwrap().len(), 1);
    let token = carried(&items.resume_token());
    assert!(token.is_finished());
    let items = list(&fake).resume_from(token).items();
    assert_eq!(items.completeness_so_far(), Completeness::Unproven);
}

#[tokio::test]
async fn finished_token_sends_nothing() {
    let fake = Fake::script([ok(last([]))]);
    let mut items = list(&fake).items();
    assert!(items.try_next().await.unwrap().is_none());
    let token = items.resume_token();
    let mut items = list(&fake).resume_from(token.clone()).items();
    assert!(items.try_next().await.unwrap().is_none());
    assert!(items.resume_token().is_finished());
    let error = list(&fake).resume_from(token).page().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
}

#[tokio::test]
async fn token_of_another_list_is_refused() {
    let fake = Fake::script([]);
    let token_of = |url: &str, form: &str| {
        let client = builder().base_url(url).transport(fake.wire()).build().unwrap();
        client.form(form).submissions().items().resume_token()
    };
    for (token, named) in [
        (token_of("https://forms.example/base", "frm_2"), "for form `frm_2`, not `frm_1`"),
        (
            token_of("https://other.example", "frm_1"),
            "for `https://other.example`, not `https://forms.example/base`",
        ),
        (
            token_of("https://forms.example/other", "frm_1"),
            "for `https://forms.example/other`, not `https://forms.example/base`",
        ),
    ] {
        let error = list(&fake).resume_from(token).items().try_next().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.to_string().ends_with(named), "{error}");
    }
    let own = token_of("HTTPS://forms.example:443/base/", "frm_1");
    let both = list(&fake).resume_from(own).start_at(Cursor::new("c"));
    assert_eq!(both.items().try_next().await.unwrap_err().kind(), ErrorKind::Config);
}

#[tokio::test(start_paused = true)]
async fn token_after_error_repeats_the_failed_page() {
    let fake = Fake::script([ok(page([0, 1], "a")), status(404), ok(last([2]))]);
    let mut items = list(&fake).items();
    while items.try_next().await.is_ok() {}
    let rest = list(&fake).resume_from(items.resume_token()).items().try_collect_max(9).await;
    assert_eq!(ids(&rest.unwrap()), ["2"]);
}

#[tokio::test]
async fn token_of_stuck_page_repeats_no_row() {
    let stuck = page_of(&[row(2), row(3)], None, true);
    let fake =
        Fake::script([ok(page([0, 1], "a")), ok(stuck), ok(page([2, 3], "b")), ok(last([4]))]);
    let mut items = list(&fake).items();
    let error = items.try_collect_max(9).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Pagination);
    let rest = list(&fake).resume_from(carried(&items.resume_token())).items();
    assert_eq!(ids(&{ rest }.try_collect_max(9).await.unwrap()), ["4"]);
    assert!(fake.sent()[2].ends_with("cursor=a"));
}

#[tokio::test]
async fn token_of_page_out_of_order_rereads_it() {
    let answers = [page([0], "a"), page([6, 3, 7], "b"), page([3, 6, 7], "b"), last([8])];
    let fake = Fake::script(answers.map(ok));
    let mut items = list(&fake).items();
    assert_eq!(items.try_collect_max(9).await.unwrap_err().kind(), ErrorKind::Pagination);
    // 0 and 6 were yielded; 3 was not, and is newer than 6.
    let mut rest = list(&fake).resume_from(carried(&items.resume_token())).items();
    assert_eq!(ids(&rest.try_collect_max(9).await.unwrap()), ["3", "7", "8"]);
}

#[tokio::test]
async fn refused_cursor_leads_back_to_its_page() {
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
    let token = list(&fake).start_at(Cursor::new("b")).items().resume_token();
    let page = list(&fake).resume_from(token).page().await.unwrap();
    assert_eq!(page.len(), 1);
}
