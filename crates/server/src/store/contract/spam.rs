//! Spam: kept apart, and not for ever.

use std::sync::Arc;

use formsvc_protocol::{FormId, FormStatus, SubmissionId};
use tokio::task::JoinSet;

use super::world::{Factory, World, answers};
use crate::admin::new_id;
use crate::store::{
    Backlog, NewSpam, SPAM_BYTES_MAX, SPAM_MAX, SpamRecord, SpamRequest, StoreError,
};

fn spam(form: &FormId, data: &str) -> NewSpam {
    NewSpam { id: SubmissionId::from_bits(new_id()), form: form.clone(), answers: answers(data) }
}

async fn kept(world: &World, form: &FormId) -> Vec<SpamRecord> {
    world.store.spam(all_of(form)).await.expect("a list")
}

fn all_of(form: &FormId) -> SpamRequest {
    SpamRequest { form: form.clone(), after: None, limit: 10_000 }
}

pub(super) async fn spam_is_no_submission(factory: Factory) {
    let world = World::new(factory).await;
    let form = &world.form.id;
    world.add_endpoint(form).await;
    let other = world.add_form().await.id;
    let mut made = Vec::new();
    for text in [r#"{ "n": 1.50, "n": 2 }"#, "{}", r#"{"bot":"\u0000"}"#] {
        let new = spam(form, text);
        world.store.keep_spam(new.clone()).await.expect("kept");
        let received_at = (world.clock.clock())().to_timestamp();
        made.push(SpamRecord { id: new.id, answers: new.answers, received_at });
        world.clock.advance(1_000);
    }
    made.reverse();
    assert_eq!(kept(&world, form).await, made, "newest first, to the byte");
    assert!(kept(&world, &other).await.is_empty());
    let page = world.page(None, 100).await;
    assert_eq!((page.len, page.has_more), (0, false));
    assert!(world.deliveries_of(form).await.is_empty());
    assert!(world.store.work().take().is_empty());
    assert_eq!(world.store.backlog().await.expect("a count"), Backlog { unfinished: 0 });

    let unknown = FormId::new("frm_unknown").expect("a valid id");
    let refused = world.store.keep_spam(spam(&unknown, "{}")).await;
    assert!(matches!(refused, Err(StoreError::NotFound { .. })), "{refused:?}");
    let refused = world.store.spam(all_of(&unknown)).await;
    assert!(matches!(refused, Err(StoreError::NotFound { .. })), "{refused:?}");
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(formsvc_protocol::limits::ANSWERS_MAX));
    let refused = world.store.keep_spam(spam(form, &long)).await;
    assert!(matches!(refused, Err(StoreError::Invalid { .. })), "{refused:?}");
    world.store.set_form_status(form, FormStatus::Closed).await.expect("closed");
    assert_eq!(kept(&world, form).await, made, "what it has stays readable");
}

pub(super) async fn the_newest_1000_of_a_form_are_kept(factory: Factory) {
    let world = Arc::new(World::new(factory).await);
    let other = world.add_form().await.id;
    world.store.keep_spam(spam(&other, r#"{"first":1}"#)).await.expect("kept");
    for text in [r#"{"n":1}"#, r#"{"n":2}"#] {
        world.store.keep_spam(spam(&world.form.id, text)).await.expect("kept");
    }
    let mut tasks = JoinSet::new();
    for _ in 0..SPAM_MAX - 1 {
        let world = Arc::clone(&world);
        tasks.spawn(async move {
            world.store.keep_spam(spam(&world.form.id, "{}")).await.expect("kept");
        });
    }
    tasks.join_all().await;
    let records = kept(&world, &world.form.id).await;
    assert_eq!(records.len(), SPAM_MAX);
    assert_eq!(records[SPAM_MAX - 1].answers.as_json(), r#"{"n":2}"#, "the oldest went first");
    world.store.keep_spam(spam(&world.form.id, r#"{"n":3}"#)).await.expect("kept");
    let records = kept(&world, &world.form.id).await;
    assert_eq!((records.len(), records[0].answers.as_json()), (SPAM_MAX, r#"{"n":3}"#));
    assert!(records.iter().all(|record| record.answers.as_json() != r#"{"n":2}"#));
    assert_eq!(kept(&world, &other).await.len(), 1, "each form has its own");
}

pub(super) async fn so_many_bytes_of_a_form_are_kept(factory: Factory) {
    const LEN: usize = 1 << 20;
    let world = World::new(factory).await;
    let other = world.add_form().await.id;
    world.store.keep_spam(spam(&other, "{}")).await.expect("kept");
    // The shortest are not the first to go; the oldest are.
    world.store.keep_spam(spam(&world.form.id, "{}")).await.expect("kept");
    let numbered = |n: usize| {
        let head = format!("{{\"n\":\"{n:02}");
        format!("{head}{}\"}}", "é".repeat((LEN - head.len() - 2) / 2))
    };
    for n in 0..12 {
        world.store.keep_spam(spam(&world.form.id, &numbered(n))).await.expect("kept");
        let records = kept(&world, &world.form.id).await;
        let bytes: usize = records.iter().map(|record| record.answers.as_json().len()).sum();
        assert!(bytes <= SPAM_BYTES_MAX, "{bytes}");
        assert!(bytes + LEN > SPAM_BYTES_MAX.min((n + 1) * LEN), "no more goes than must");
        assert!(records[0].answers.as_json() == numbered(n), "the newest is there");
    }
    assert_eq!(kept(&world, &other).await.len(), 1, "each form has its own");
}

pub(super) async fn spam_is_listed_in_pages(factory: Factory) {
    let world = World::new(factory).await;
    let (form, other) = (&world.form.id, world.add_form().await.id);
    for n in 0..7 {
        world.store.keep_spam(spam(form, &format!("{{\"n\":{n}}}"))).await.expect("kept");
        world.store.keep_spam(spam(&other, "{}")).await.expect("kept");
    }
    let all = kept(&world, form).await;
    let (mut walked, mut lens, mut after) = (Vec::new(), Vec::new(), None);
    loop {
        let request = SpamRequest { form: form.clone(), after: after.take(), limit: 3 };
        let page = world.store.spam(request).await.expect("a page");
        lens.push(page.len());
        let Some(last) = page.last() else { break };
        after = Some(last.id.clone());
        walked.extend(page);
    }
    assert_eq!((walked.len(), lens), (7, vec![3, 3, 1, 0]));
    assert_eq!(walked, all);
    for unknown in [kept(&world, &other).await[0].id.clone(), SubmissionId::from_bits(new_id())] {
        let request = SpamRequest { form: form.clone(), after: Some(unknown), limit: 3 };
        let refused = world.store.spam(request).await;
        assert!(matches!(refused, Err(StoreError::NotFound { .. })), "{refused:?}");
    }
}
