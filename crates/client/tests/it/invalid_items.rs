//! Lists with items that violate the API.

use std::collections::HashMap;
use std::error::Error as _;
use std::sync::Arc;

use formsvc_client::event::SkippedItem;
use formsvc_client::list::Forms;
use formsvc_client::{Completeness, ErrorKind, ResumeToken, Submission, SubmissionQuery};
use formsvc_protocol::FormInstant;

use crate::support::bodies::{FORMS, page_of, row, time};
use crate::support::builder;
use crate::support::fake::{Answer, Fake, ok};

fn list(fake: &Arc<Fake>) -> SubmissionQuery {
    let client = builder().transport(fake.wire()).build().unwrap();
    client.form("frm_1").submissions()
}

/// A form with other members than those of the bodies.
fn form(id: &str, title: &str) -> String {
    let form = &FORMS[FORMS.find('[').unwrap() + 1..FORMS.rfind(']').unwrap()];
    form.replace(r#""frm_1""#, id).replace(r#""T""#, title)
}

async fn forms(items: &[String]) -> Forms {
    let fake = Fake::script([ok(format!(r#"{{"data":[{}]}}"#, items.join(",")))]);
    let client = builder().transport(fake.wire()).build().unwrap();
    client.forms().await.unwrap().into_inner()
}

fn ids(rows: &[Submission]) -> Vec<&str> {
    rows.iter().map(|row| &row.id.as_str()["sub_".len()..]).collect()
}

/// A row of which `data` is replaced.
fn row_with(n: u32, data: &str) -> String {
    row(n).replace(&format!(r#"{{"Number": {n}.50}}"#), data)
}

#[tokio::test]
async fn form_without_title_leaves_the_others() {
    let list = [form(r#""frm_2""#, "null"), form(r#""frm_1""#, r#""T""#), "7".to_owned()];
    let forms = forms(&list).await;
    assert_eq!(forms.iter().map(|form| form.id.as_str()).collect::<Vec<_>>(), ["frm_1"]);
    let [untitled, number] = forms.skipped() else { panic!("{:?}", forms.skipped()) };
    assert_eq!(
        (untitled.id(), untitled.public_id(), untitled.title()),
        (Some("frm_2"), Some("p1"), None)
    );
    assert_eq!(untitled.created_at().unwrap().as_str(), "2026-01-31T09:30:00.120Z");
    assert_eq!(
        untitled.to_string(),
        "`frm_2` at `data[0].title`: invalid type: null, expected a string"
    );
    assert_eq!((number.id(), number.json_path()), (None, "data[2]"));
    assert_eq!(
        number.to_string(),
        "an item without an id at `data[2]`: invalid type: integer `7`, expected an object"
    );
    assert_eq!(forms.into_vec().len(), 1);
}

#[tokio::test]
async fn find_form_fails_only_if_an_invalid_form_leaves_doubt() {
    let untimed = form(r#""frm_3""#, r#""Old""#).replace("2026-01-31T09:30:00.120Z", "yesterday");
    let list = [form(r#""frm_1""#, r#""Contact""#), form(r#""frm_2""#, "null"), untimed];
    let answer = ok(format!(r#"{{"data":[{}]}}"#, list.join(",")));
    let fake = Fake::script(vec![answer; 3]);
    let client = builder().transport(fake.wire()).build().unwrap();
    assert_eq!(client.find_form("Contact").await.unwrap().unwrap().id.as_str(), "frm_1");
    for (title, item) in [("Old", "`frm_3` at `data[2]"), ("Unknown", "`frm_2` at `data[1].title`")]
    {
        let error = client.find_form(title).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidItem);
        assert!(error.source().unwrap().to_string().starts_with(item), "{error:?}");
    }
}

#[tokio::test]
async fn data_of_an_empty_array_is_no_answers() {
    let fake = Fake::script([ok(page_of(&[row_with(0, "[ ]")], None, false))]);
    let page = list(&fake).page().await.unwrap();
    assert_eq!(page.submissions()[0].data.as_json(), "{}");
}

#[tokio::test]
async fn invalid_item_is_an_error_after_the_rows_before_it() {
    let pages = [
        page_of(&[row(0), row(1)], Some("a b"), true),
        page_of(&[row(2), row_with(3, "null"), row(4)], None, false),
    ];
    let fake = Fake::script(pages.map(ok));
    let mut items = list(&fake).items();
    for n in 0..3 {
        assert_eq!(items.try_next().await.unwrap().unwrap().id.as_str(), format!("sub_{n}"));
    }
    let error = items.try_next().await.unwrap_err();
    assert_eq!((error.kind(), error.json_path()), (ErrorKind::InvalidItem, Some("data[1].data")));
    assert_eq!(
        error.to_string(),
        "submissions.list: the submission `sub_3` violates the API at `data[1].data` of page \
         2, requested with the cursor `a b` (request id req_1, 1 attempt)"
    );
    assert_eq!(error.source().unwrap().to_string(), "expected an object of answers");
    assert!(items.try_next().await.unwrap().is_none());
}

#[tokio::test]
async fn token_before_an_invalid_item_continues_after_it() {
    let page = page_of(&[row(0), row_with(1, "7"), row(2)], None, false);
    let fake = Fake::script(vec![ok(page); 3]);
    let mut items = list(&fake).items();
    assert_eq!(items.try_next().await.unwrap().unwrap().id.as_str(), "sub_0");
    items.try_next().await.unwrap_err();
    let token: ResumeToken = items.resume_token().to_string().parse().unwrap();
    let again = list(&fake).resume_from(token.clone()).items().try_collect_max(9).await;
    assert_eq!(again.unwrap_err().kind(), ErrorKind::InvalidItem);
    let mut rest = list(&fake).resume_from(token).allow_incomplete(true).items();
    assert_eq!(ids(&rest.try_collect_max(9).await.unwrap()), ["2"]);
    assert_eq!((rest.skipped_count(), rest.completeness_so_far()), (1, Completeness::Incomplete));
    assert_eq!(rest.resume_token().completeness(), Completeness::Incomplete);
}

#[tokio::test]
async fn allowed_invalid_items_are_described_and_counted() {
    let page = page_of(&[row(0), row_with(1, "null"), row(2)], Some("c"), true);
    let second = page_of(&[row(3).replace(r#""data""#, r#""fields""#)], None, false);
    let fake = Fake::script([ok(page), ok(second)]);
    let mut pages = list(&fake).allow_incomplete(true).pages();
    let page = pages.try_next().await.unwrap().unwrap();
    assert_eq!(ids(page.submissions()), ["0", "2"]);
    assert_eq!(page.skipped().iter().map(SkippedItem::id).collect::<Vec<_>>(), [Some("sub_1")]);
    assert!(pages.try_next().await.unwrap().unwrap().is_empty());
    assert!(pages.try_next().await.unwrap().is_none());
    let described: Vec<_> = pages.skipped().iter().map(ToString::to_string).collect();
    assert_eq!(
        described,
        [
            "`sub_1` at `data[1].data`: expected an object of answers",
            "`sub_3` at `data[0]`: missing field `data`"
        ]
    );
    assert_eq!((pages.skipped_count(), pages.completeness_so_far()), (2, Completeness::Incomplete));
}

#[tokio::test]
async fn descriptions_of_skipped_items_are_bounded() {
    let mut pages = 0;
    let fake = Fake::rule(move |_| {
        pages += 1;
        let rows: Vec<_> = (0..60).map(|n| row_with(60 * pages + n, "null")).collect();
        ok(page_of(&rows, Some(&pages.to_string()), pages < 3))
    });
    let mut items = list(&fake).allow_incomplete(true).items();
    assert!(items.try_next().await.unwrap().is_none());
    assert_eq!((items.skipped().len(), items.skipped_count()), (100, 180));
}

#[tokio::test]
async fn single_page_with_an_invalid_item_fails() {
    for rows in [[row(0), row_with(1, "null")], [row_with(0, "null"), row(1)]] {
        let fake = Fake::script([ok(page_of(&rows, None, false))]);
        let error = list(&fake).page().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidItem);
    }
}

#[tokio::test]
async fn invalid_item_outside_the_bounds_is_no_error() {
    let rows = [row_with(0, "null"), row(1), row(2), row_with(3, "null")];
    let fake = Fake::script(vec![ok(page_of(&rows, None, false)); 3]);
    let bounded = || list(&fake).until(time(0).parse().unwrap());
    let mut items = bounded().since(time(2).parse().unwrap()).allow_incomplete(true).items();
    assert_eq!(ids(&items.try_collect_max(9).await.unwrap()), ["1", "2"]);
    assert_eq!((items.skipped_count(), items.completeness_so_far()), (0, Completeness::Proven));
    let stopped = bounded().stop_when(|row| row.id.as_str() == "sub_2");
    assert_eq!(ids(&stopped.items().try_collect_max(9).await.unwrap()), ["1"]);
    let error = bounded().items().try_collect_max(9).await.unwrap_err();
    assert!(error.to_string().contains("`sub_3`"), "{error}");
}

#[tokio::test]
async fn invalid_item_shows_no_answers() {
    let bad = [row_with(0, r#"["ada@example.org"]"#), row_with(0, r#""ada@example.org""#)];
    for bad in bad {
        let fake = Fake::script(vec![ok(page_of(&[bad], None, false)); 2]);
        let error = list(&fake).page().await.unwrap_err();
        let mut items = list(&fake).allow_incomplete(true).items();
        items.try_next().await.unwrap();
        let shown = format!("{error} {error:?} {:?} {:?}", error.source(), items.skipped());
        assert!(!shown.contains("ada"), "{shown}");
    }
}

/// How an item breaks the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    NoData,
    NoTime,
    NoId,
    NotAnObject,
}

/// A service with cursors of milliseconds. Row `n` is made in the millisecond `times[n]`, counted back.
fn service(times: &[i64], bad: usize, fault: Fault) -> Arc<Fake> {
    let instants: Vec<i64> = times.iter().map(|time| (10_000 - time) * 1_000).collect();
    Fake::rule(move |request| -> Answer {
        let query = request.uri().query().unwrap().as_bytes();
        let query: HashMap<_, _> = url::form_urlencoded::parse(query).into_owned().collect();
        let limit: usize = query["limit"].parse().unwrap();
        let before = query.get("cursor").map(|c| FormInstant::parse_cursor(c).unwrap().micros());
        let before = before.map_or(i64::MAX, |before| before / 1_000 * 1_000);
        let from = instants.partition_point(|instant| *instant >= before);
        let to = instants.len().min(from + limit);
        let rows: Vec<_> = (from..to)
            .map(|n| {
                let time = FormInstant::from_micros(instants[n]).to_timestamp();
                let (id, data) = (format!(r#""sub_{n}""#), "{}");
                let (id, data, time) = match fault {
                    _ if n != bad => (id.as_str(), data, time.as_str()),
                    Fault::NoData => (id.as_str(), "null", time.as_str()),
                    Fault::NoTime => (id.as_str(), data, "soon"),
                    Fault::NoId => ("7", data, time.as_str()),
                    Fault::NotAnObject => return "null".to_owned(),
                };
                format!(r#"{{"id":{id},"data":{data},"created_at":"{time}"}}"#)
            })
            .collect();
        let next = instants[from..to].last().map(|n| FormInstant::from_micros(*n).to_cursor());
        let next = next.as_ref().map(formsvc_client::Cursor::as_str);
        ok(page_of(&rows, next, to < instants.len()))
    })
}

#[tokio::test]
async fn invalid_item_anywhere_loses_no_other() {
    use Fault::{NoData, NoId, NoTime, NotAnObject};
    let apart: Vec<i64> = (0..9).map(|n| n * 5).collect();
    // Two rows of each time.
    let tied: Vec<i64> = (0..9).map(|n| n / 2 * 5).collect();
    for (times, faults) in
        [(&apart, &[NoData, NoId, NoTime, NotAnObject][..]), (&tied, &[NoData, NoId])]
    {
        for (bad, size, fault) in (0..9)
            .flat_map(|bad| [3, 4, 5].map(|size| (bad, size)))
            .flat_map(|(bad, size)| faults.iter().map(move |fault| (bad, size, *fault)))
        {
            let fake = service(times, bad, fault);
            let mut items = list(&fake).page_size(size).allow_incomplete(true).items();
            let read = items.try_collect_max(99).await.unwrap();
            let others: Vec<_> = (0..9).filter(|n| *n != bad).map(|n| n.to_string()).collect();
            assert_eq!(ids(&read), others, "{bad} {size} {fault:?}");
            assert_eq!(items.skipped_count(), 1, "{bad} {size} {fault:?}");
            assert_eq!(items.completeness_so_far(), Completeness::Incomplete);
        }
    }
}
