//! What is kept, and how much is given at once.

use formsvc_protocol::SubmissionId;
use formsvc_protocol::limits::{ANSWERS_MAX, PAGE_BYTES_MAX};

use super::world::{Factory, World, answers, ids, new_form, parse, submission};
use crate::admin::new_id;
use crate::store::{NewSubmission, StagedSubmission, StoreError, item};

pub(super) async fn data_is_kept_to_the_byte(factory: Factory) {
    let world = World::new(factory).await;
    let long = format!(r#"{{"long":"{}"}}"#, "é".repeat(1 << 19));
    let texts = [
        "{}",
        r#"{"z":1,"a":2,"z":3,"A":4}"#,
        r#"{ "spaced" :	[ 1 , 2 ] }"#,
        r#"{"n":[1.50,-0,1e400,12345678901234567890.0123456789,0.1000]}"#,
        r#"{"nul":"\u0000","slash":"\/","pair":"\ud83d\ude00","lone":"\ud800"}"#,
        r#"{"created_at":"\",\"created_at\":\"","":{"id":null}}"#,
        "{\"text\":\"\u{7f}\u{2028}\u{feff}'; DROP TABLE submissions; --\"}",
        &long,
    ];
    for text in texts {
        world.submit(text).await;
    }
    for limit in [1, 100] {
        let rows = world.walk(None, limit).await;
        assert_eq!(rows.len(), texts.len());
        for (row, text) in rows.iter().zip(texts.iter().rev()) {
            assert!(row.data.as_json() == *text, "changed: {}", &text[..text.len().min(80)]);
        }
    }
    let one = world.page(None, 1).await;
    assert_eq!(item::data_of(&one.items), Some(long.as_bytes()), "an item is of the known shape");
}

pub(super) async fn pages_are_whole_wherever_large_submissions_stand(factory: Factory) {
    let world = World::new(factory).await;
    let other = world.add_form().await;
    // Around 4 KiB, where a store may begin to read in another way.
    let text = |n: usize, bytes: usize| format!(r#"{{"n":{n},"text":"{}"}}"#, "x".repeat(bytes));
    let large = [true, false, false, true, true, false, true, false, false, false, true];
    let mut texts = Vec::new();
    for (n, large) in large.into_iter().enumerate() {
        let bytes = if large { 3_900 + n * 50 } else { 10 };
        texts.push(text(n, bytes));
        world.submit(&texts[n]).await;
        world.store.submit(submission(&other.id, &text(n, 9_000))).await.expect("accepted");
    }
    texts.reverse();
    for limit in 1..=12 {
        let rows = world.walk(None, limit).await;
        let found: Vec<&str> = rows.iter().map(|row| row.data.as_json()).collect();
        assert_eq!(found, texts, "{limit} a page");
    }
}

pub(super) async fn any_submission_id_is_kept(factory: Factory) {
    let world = World::new(factory).await;
    let longest = "x".repeat(128);
    let texts =
        ["42", "sub_0", "sub_000102030405060708090A0B0C0D0E0F", "\"quoted\"", "é", &longest];
    for text in texts {
        let id = SubmissionId::new(text).expect("a valid id");
        let new = || NewSubmission { id: id.clone(), ..submission(&world.form.id, "{}") };
        assert_eq!(world.store.submit(new()).await.expect("accepted").id, id);
        let again = world.store.submit(new()).await;
        assert!(matches!(again, Err(StoreError::Exists { .. })), "{text}: {again:?}");
    }
    let rows = world.walk(None, 100).await;
    let found: Vec<_> = rows.iter().rev().map(|row| row.id.as_str()).collect();
    assert_eq!(found, texts);
}

pub(super) async fn a_used_submission_id_is_refused_and_its_neighbours_are_not(factory: Factory) {
    let world = World::new(factory).await;
    let used = submission(&world.form.id, r#"{"first":1}"#);
    world.store.submit(used.clone()).await.expect("accepted");
    let other = world.add_form().await;

    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..100 {
        let store = std::sync::Arc::clone(&world.store);
        let mut new = submission(&world.form.id, r#"{"second":2}"#);
        let repeated = n % 3 == 0;
        if repeated {
            new.id = used.id.clone();
        }
        if n % 2 == 0 {
            new.form = other.id.clone();
        }
        tasks.spawn(async move { (repeated, store.submit(new).await) });
    }
    let (mut accepted, mut refused) = (0, 0);
    for (repeated, outcome) in tasks.join_all().await {
        match outcome {
            Ok(_) if !repeated => accepted += 1,
            Err(StoreError::Exists { what: "submission id", value }) if repeated => {
                assert_eq!(value, used.id.as_str());
                refused += 1;
            }
            other => panic!("repeated: {repeated}, outcome: {other:?}"),
        }
    }
    assert_eq!((accepted, refused), (66, 34));
    let there = world.page_of(&world.user.id, &other.id, None, 100).await.expect("a page").len;
    let rows = world.walk(None, 100).await;
    assert_eq!(rows.len() + there, 67);
    let first: Vec<_> = rows.iter().filter(|row| row.id == used.id).collect();
    assert_eq!(first.len(), 1);
    assert_eq!(first[0].data.as_json(), r#"{"first":1}"#, "the first one stays");
}

pub(super) async fn limits_are_kept(factory: Factory) {
    let world = World::new(factory).await;
    for _ in 0..101 {
        world.submit("{}").await;
    }
    for (limit, len, has_more) in
        [(1, 1, true), (99, 99, true), (100, 100, true), (1_000, 100, true), (0, 1, true)]
    {
        let page = world.page(None, limit).await;
        assert_eq!((page.len, page.has_more), (len, has_more), "limit {limit}");
    }
    let first = world.page(None, 100).await;
    let rest = world.page(first.last, 100).await;
    assert_eq!((rest.len, rest.has_more), (1, false));
    let (first, rest) = (parse(&first), parse(&rest));
    assert!(!ids(&first).contains(&&rest[0].id));
    let exact = world.page(world.page(None, 1).await.last, 100).await;
    assert_eq!((exact.len, exact.has_more), (100, false), "a full last page says it is the last");
}

/// Answers of so many bytes.
fn of_size(bytes: usize) -> String {
    let empty = r#"{"a":""}"#;
    format!(r#"{{"a":"{}"}}"#, "x".repeat(bytes - empty.len()))
}

fn assert_too_long<T: std::fmt::Debug>(refused: Result<T, StoreError>) {
    let Err(error @ StoreError::Invalid { what: "size of answers", .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(
        error.to_string(),
        "size of answers `4194305 bytes` is over the limit of 4194304 bytes (4 MiB)"
    );
}

pub(super) async fn answers_of_4_mib_are_kept_and_longer_ones_refused(factory: Factory) {
    let world = World::new(factory).await;
    let (longest, too_long) = (of_size(ANSWERS_MAX), of_size(ANSWERS_MAX + 1));
    world.submit(&longest).await;
    assert_too_long(world.submit_to(&world.form.id, &too_long).await);
    let rows = world.walk(None, 100).await;
    assert!(rows.len() == 1 && rows[0].data.as_json() == longest);

    let row = |data: &str| StagedSubmission {
        id: SubmissionId::from_bits(new_id()),
        at: None,
        answers: answers(data),
    };
    let staged = world.store.stage_form(new_form(&world.user.id)).await.expect("staged");
    world.store.stage_submissions(&staged, vec![row(&longest)]).await.expect("staged");
    let chunk = vec![row("{}"), row(&too_long)];
    assert_too_long(world.store.stage_submissions(&staged, chunk).await);
    let form = world.store.publish_staged(&staged).await.expect("published");
    let page = world.page_of(&world.user.id, &form.id, None, 25).await.expect("a page");
    assert_eq!((page.len, page.has_more), (1, false), "a refused chunk leaves nothing of itself");
}

pub(super) async fn a_page_ends_before_16_mib_and_the_walk_goes_on(factory: Factory) {
    let world = World::new(factory).await;
    for _ in 0..9 {
        world.submit(&of_size(ANSWERS_MAX)).await;
    }
    world.submit("{}").await;
    let (mut before, mut lens) = (None, Vec::new());
    loop {
        let page = world.page(before, 100).await;
        assert!(page.items.len() <= PAGE_BYTES_MAX, "{}", page.items.len());
        lens.push(parse(&page).len());
        before = page.last;
        if !page.has_more {
            break;
        }
    }
    assert_eq!(lens, [4, 3, 3]);
    let page = world.page(None, 4).await;
    assert_eq!((page.len, page.has_more), (4, true), "a full page below the limit of bytes");
}
