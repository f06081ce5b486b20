//! Deliveries: which are made, and how they are shown.

use std::collections::BTreeMap;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use formsvc_protocol::limits::ANSWERS_MAX;
use formsvc_protocol::{DeliveryId, EndpointId, FormId, FormStatus, SubmissionId};

use super::worker::{Queue, attempt, new_endpoint, of_form};
use super::world::{Factory, World, answers, new_form, submission};
use crate::admin::new_id;
use crate::store::{
    Attempt, Backlog, Claimed, DeliveriesRequest, DeliveryKey, DeliveryState, EndpointNo,
    FormChange, Idempotency, Lane, NewSpam, NewSubmission, Settlement, StagedSubmission,
    StoreError, Verdict,
};

pub(super) async fn each_enabled_endpoint_gets_each_submission_once(factory: Factory) {
    let world = World::new(factory).await;
    let (form, other) = (world.form.id.clone(), world.add_form().await.id);
    let mut endpoints = Vec::new();
    for _ in 0..4 {
        endpoints.push(world.add_endpoint(&form).await);
    }
    let theirs = world.add_endpoint(&other).await;
    world.store.set_endpoint_enabled(&endpoints[1].id, false).await.expect("disabled");
    world.store.remove_endpoint(&endpoints[2].id).await.expect("removed");

    let mut accepted = Vec::new();
    for _ in 0..3 {
        accepted.push(world.submit("{}").await);
        world.submit_to(&other, "{}").await.expect("accepted");
    }
    let deliveries = world.deliveries_of(&form).await;
    assert_eq!(deliveries.len(), 6);
    for accepted in &accepted {
        let of_it = deliveries.iter().filter(|delivery| delivery.submission == accepted.id);
        let mut to: Vec<_> = of_it.map(|delivery| (&delivery.endpoint, &delivery.url)).collect();
        to.sort();
        let mut enabled =
            [&endpoints[0], &endpoints[3]].map(|endpoint| (&endpoint.id, &endpoint.url));
        enabled.sort();
        assert_eq!(to, enabled);
    }
    for delivery in &deliveries {
        assert_eq!((delivery.state, delivery.attempts), (DeliveryState::Pending, 0));
        assert_eq!(delivery.next_attempt_at.as_ref(), Some(&delivery.created_at), "due at once");
        assert_eq!(delivery.finished_at, None);
    }
    let deliveries = world.deliveries_of(&other).await;
    assert!(deliveries.iter().all(|delivery| delivery.endpoint == theirs.id));
    assert_eq!(deliveries.len(), 3);
    assert_eq!(world.store.backlog().await.expect("a count"), Backlog { unfinished: 9 });
}

pub(super) async fn what_is_not_accepted_makes_no_delivery(factory: Factory) {
    let world = World::new(factory).await;
    let form = world.form.id.clone();
    world.add_endpoint(&form).await;
    let key = |key| Idempotency { key: [key; 32], fingerprint: [0; 32] };
    let first = NewSubmission { idempotency: Some(key(1)), ..submission(&form, "{}") };
    world.store.submit(first.clone()).await.expect("accepted");
    assert_eq!(world.deliveries_of(&form).await.len(), 1);

    let again = NewSubmission { idempotency: Some(key(1)), ..submission(&form, "{}") };
    assert!(world.store.submit(again.clone()).await.expect("repeated").repeated);
    let other = Idempotency { fingerprint: [9; 32], ..key(1) };
    let refused = world.store.submit(NewSubmission { idempotency: Some(other), ..again }).await;
    assert!(matches!(refused, Err(StoreError::KeyReused)), "{refused:?}");
    let refused = world.store.submit(NewSubmission { idempotency: None, ..first }).await;
    assert!(matches!(refused, Err(StoreError::Exists { .. })), "{refused:?}");
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(ANSWERS_MAX));
    let refused = world.store.submit(submission(&form, &long)).await;
    assert!(matches!(refused, Err(StoreError::Invalid { .. })), "{refused:?}");
    for status in [FormStatus::Closed, FormStatus::Draft] {
        world.store.set_form_status(&form, status).await.expect("set");
        let refused = world.store.submit(submission(&form, "{}")).await;
        assert!(matches!(refused, Err(StoreError::Closed { .. })), "{refused:?}");
    }
    let id = SubmissionId::from_bits(new_id());
    let spam = NewSpam { id, form: form.clone(), answers: answers("{}") };
    world.store.keep_spam(spam).await.expect("kept");

    assert_eq!(world.deliveries_of(&form).await.len(), 1);
    assert_eq!(world.store.backlog().await.expect("a count"), Backlog { unfinished: 1 });
}

/// Futures dropped before, at and after their first poll.
pub(super) async fn a_submission_and_its_deliveries_are_kept_together(factory: Factory) {
    let world = World::new(factory).await;
    for _ in 0..3 {
        world.add_endpoint(&world.form.id).await;
    }
    for n in 0..150 {
        let mut future = world.store.submit(submission(&world.form.id, "{}"));
        match n % 3 {
            0 => {}
            1 => {
                let first = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                assert!(matches!(first, Poll::Pending | Poll::Ready(Ok(_))));
            }
            _ => drop(future.await.expect("accepted")),
        }
    }
    world.submit("{}").await;
    let mut made: BTreeMap<SubmissionId, Vec<EndpointNo>> = BTreeMap::new();
    for delivery in world.deliveries_of(&world.form.id).await {
        made.entry(delivery.submission).or_default().push(delivery.key.endpoint);
    }
    let rows = world.walk(None, 100).await;
    assert_eq!(made.len(), rows.len());
    for row in rows {
        let mut endpoints = made.remove(&row.id).expect("deliveries of a submission that is kept");
        endpoints.sort();
        endpoints.dedup();
        assert_eq!(endpoints.len(), 3);
    }
}

pub(super) async fn an_import_makes_no_deliveries(factory: Factory) {
    let world = World::new(factory).await;
    let staged = world.store.stage_form(new_form(&world.user.id)).await.expect("staged");
    let refused = world.store.add_endpoint(new_endpoint(&staged.id)).await;
    assert!(matches!(refused, Err(StoreError::NotFound { .. })), "{refused:?}");
    let row = StagedSubmission {
        id: SubmissionId::from_bits(new_id()),
        at: None,
        answers: answers("{}"),
    };
    world.store.stage_submissions(&staged, vec![row]).await.expect("staged");
    let form = world.store.publish_staged(&staged).await.expect("published");
    world.add_endpoint(&form.id).await;
    assert!(world.deliveries_of(&form.id).await.is_empty());
    world.submit_to(&form.id, "{}").await.expect("accepted");
    assert_eq!(world.deliveries_of(&form.id).await.len(), 1);
}

pub(super) async fn deliveries_are_listed_newest_first_in_pages(factory: Factory) {
    let world = World::new(factory).await;
    let form = world.form.id.clone();
    for _ in 0..3 {
        world.add_endpoint(&form).await;
    }
    let other = world.add_form().await.id;
    world.add_endpoint(&other).await;
    let mut accepted = Vec::new();
    for _ in 0..5 {
        accepted.push(world.submit("{}").await.id);
        world.submit_to(&other, "{}").await.expect("accepted");
    }
    let all = world.deliveries_of(&form).await;
    let order: Vec<_> = all.iter().map(|delivery| &delivery.submission).collect();
    let newest_first = accepted.iter().rev().flat_map(|id| [id; 3]).collect::<Vec<_>>();
    assert_eq!(order, newest_first);

    for limit in [1, 2, 3, 4, 14, 15, 16] {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let request = DeliveriesRequest { after, limit, ..of_form(&form) };
            let page = world.store.deliveries(request).await.expect("a page");
            assert!(page.len() <= limit as usize);
            let Some(last) = page.last() else { break };
            after = Some(last.key);
            found.extend(page);
        }
        assert_eq!(found, all, "in pages of {limit}");
    }
    let nothing = DeliveriesRequest { limit: 0, ..of_form(&form) };
    assert!(world.store.deliveries(nothing).await.expect("a page").is_empty());
}

pub(super) async fn deliveries_are_filtered_by_endpoint_and_state(factory: Factory) {
    let queue = Queue::new(factory, 6).await;
    let world = &queue.world;
    let other = world.add_endpoint(&world.form.id).await;
    world.submit("{}").await;
    let retry = Verdict::Retry { after: Duration::from_secs(1), retries: 1 };
    for verdict in [Verdict::Delivered, Verdict::Failed, Verdict::Failed, retry] {
        queue.settled(verdict).await;
    }
    let all = world.deliveries_of(&world.form.id).await;
    assert_eq!(all.len(), 8);
    let counts = [
        (DeliveryState::Pending, 4),
        (DeliveryState::Retrying, 1),
        (DeliveryState::Delivered, 1),
        (DeliveryState::Failed, 2),
        (DeliveryState::Canceled, 0),
    ];
    for (state, count) in counts {
        for endpoint in [None, Some(&queue.endpoint), Some(&other)] {
            let wanted: Vec<_> = all
                .iter()
                .filter(|delivery| delivery.state == state)
                .filter(|delivery| endpoint.is_none_or(|e| e.id == delivery.endpoint))
                .cloned()
                .collect();
            if endpoint.is_none() {
                assert_eq!(wanted.len(), count, "{state:?}");
            }
            let request = DeliveriesRequest {
                state: Some(state),
                endpoint: endpoint.map(|endpoint| endpoint.id.clone()),
                ..of_form(&world.form.id)
            };
            let found = world.store.deliveries(request.clone()).await.expect("a list");
            assert_eq!(found, wanted, "{state:?} {endpoint:?}");
            if let [first, rest @ ..] = &wanted[..] {
                let request = DeliveriesRequest { after: Some(first.key), ..request };
                assert_eq!(world.store.deliveries(request).await.expect("a list"), rest);
            }
        }
    }
    let elsewhere = world.add_form().await;
    for accepted in &queue.accepted {
        let submission = Some(accepted.id.clone());
        let request = |form| DeliveriesRequest { submission: submission.clone(), ..of_form(form) };
        let wanted: Vec<_> =
            all.iter().filter(|delivery| delivery.submission == accepted.id).cloned().collect();
        assert_eq!(world.store.deliveries(request(&world.form.id)).await.expect("a list"), wanted);
        assert!(world.store.deliveries(request(&elsewhere.id)).await.expect("a list").is_empty());
        if let [first, rest @ ..] = &wanted[..] {
            let after = DeliveriesRequest { after: Some(first.key), ..request(&world.form.id) };
            assert_eq!(world.store.deliveries(after).await.expect("a list"), rest);
        }
    }
    let request =
        DeliveriesRequest { endpoint: Some(queue.endpoint.id.clone()), ..of_form(&elsewhere.id) };
    assert!(world.store.deliveries(request).await.expect("a list").is_empty());
}

pub(super) async fn a_delivery_shows_its_attempts_in_order(factory: Factory) {
    let queue = Queue::new(factory, 1).await;
    let world = &queue.world;
    let key = world.deliveries_of(&world.form.id).await[0].key;
    assert!(world.detail(key).await.history.is_empty());
    let mut made = Vec::new();
    for (n, status) in [500, 302, 404].into_iter().enumerate() {
        let lane = if n == 0 { Lane::Fresh } else { Lane::Late };
        let claimed = queue.first(lane).await;
        assert_eq!(claimed.attempts as usize, n);
        let mut attempt = attempt(status);
        if n == 1 {
            // As it is when there was no answer.
            (attempt.status, attempt.address) = (None, None);
            attempt.snippet.clear();
        } else if n == 2 {
            (attempt.error, attempt.detail) = (None, None);
        }
        made.push(attempt.clone());
        let retries = u32::try_from(n + 1).expect("few");
        let verdict = Verdict::Retry { after: Duration::ZERO, retries };
        let (key, lease, attempt) = (claimed.key, claimed.lease, Some(attempt));
        world
            .store
            .settle(vec![Settlement { key, lease, verdict, attempt, own_fault: false }])
            .await
            .expect("settled");
    }
    let detail = world.detail(key).await;
    assert_eq!(detail.history, made);
    assert_eq!(detail.record.attempts, 3);
    assert_eq!(detail.record, world.deliveries_of(&world.form.id).await[0]);
}

pub(super) async fn a_listed_delivery_shows_how_its_last_attempt_ended(factory: Factory) {
    let queue = Queue::new(factory, 2).await;
    let world = &queue.world;
    let last = async || {
        let listed = world.deliveries_of(&world.form.id).await;
        // The one of the older submission; nothing becomes of the other.
        let [other, record] = &listed[..] else { panic!("{listed:?}") };
        assert_eq!((other.last_status, &other.last_error, other.attempts), (None, &None, 0));
        assert_eq!(world.detail(record.key).await.record, *record, "looked at alone or listed");
        (record.attempts, record.last_status, record.last_error.clone())
    };
    assert_eq!(last().await, (0, None, None));
    let retry = |retries| Verdict::Retry { after: Duration::ZERO, retries };
    let unanswered = Attempt { status: None, error: Some("timeout".into()), ..attempt(599) };
    let succeeded = Attempt { error: None, ..attempt(204) };
    let steps = [
        (retry(1), Some(attempt(500)), (1, Some(500), Some("status-500"))),
        (retry(2), Some(unanswered), (2, None, Some("timeout"))),
        // Put off without an attempt: the last one is still the last.
        (retry(2), None, (2, None, Some("timeout"))),
        (Verdict::Delivered, Some(succeeded), (3, Some(204), None)),
    ];
    for (n, (verdict, attempt, expected)) in steps.into_iter().enumerate() {
        let lane = if n == 0 { Lane::Fresh } else { Lane::Late };
        let Claimed { key, lease, .. } = queue.first(lane).await;
        let settlement = Settlement { key, lease, verdict, attempt, own_fault: false };
        world.store.settle(vec![settlement]).await.expect("settled");
        let (attempts, status, error) = expected;
        assert_eq!(last().await, (attempts, status, error.map(str::to_owned)), "step {n}");
    }
}

pub(super) async fn a_claim_has_what_was_submitted_then(factory: Factory) {
    let world = World::new(factory).await;
    let endpoint = world.add_endpoint(&world.form.id).await;
    let text = r#"{ "n": 1.50, "n": [1e400], "created_at": "\ud83d\ude00" }"#;
    let accepted = world.submit(text).await;
    for title in ["Second", "Third"] {
        let change = FormChange { title: Some(title.into()), ..FormChange::default() };
        world.store.change_form(&world.form.id, change).await.expect("changed");
    }
    let later = world.submit("{}").await;
    let queue =
        Queue { number: world.number_of(&endpoint).await, world, endpoint, accepted: Vec::new() };
    let claimed = queue.claim(Lane::Fresh, 2).await;
    assert_eq!([&claimed[0].submission, &claimed[1].submission], [&accepted.id, &later.id]);
    let titles: Vec<_> = claimed.iter().map(|claimed| claimed.form_title.as_str()).collect();
    assert_eq!(titles, ["Survey", "Third"]);
    let first = &claimed[0];
    assert_eq!(first.data, text.as_bytes());
    assert_eq!(first.created_at, accepted.instant.to_timestamp());
    assert_eq!(first.state, DeliveryState::Pending);
    assert_eq!((first.attempts, first.retries, first.resend, first.claims), (0, 0, false, 1));
    let to = &first.endpoint;
    assert_eq!((to.number, &to.id), (queue.number, &queue.endpoint.id));
    assert_eq!((&to.form, &to.url), (&queue.world.form.id, &queue.endpoint.url));
    assert_eq!((&to.secret.0[..], &to.previous_secret), (&b"first"[..], &None));

    // The same in the next attempt.
    let retry = Verdict::Retry { after: Duration::ZERO, retries: 1 };
    queue.world.settle(first, retry).await;
    let change = FormChange { title: Some("Fourth".into()), ..FormChange::default() };
    queue.world.store.change_form(&queue.world.form.id, change).await.expect("changed");
    let again = queue.first(Lane::Late).await;
    assert_eq!((&again.form_title, &again.data), (&first.form_title, &first.data));
    assert_eq!((again.state, again.attempts, again.retries), (DeliveryState::Retrying, 1, 1));
    assert_eq!(again.created_at, first.created_at);
}

pub(super) async fn what_is_not_there_is_not_delivered(factory: Factory) {
    let queue = Queue::new(factory, 1).await;
    let world = &queue.world;
    let key = world.deliveries_of(&world.form.id).await[0].key;
    let other = DeliveryKey { endpoint: EndpointNo(key.endpoint.0 + 1), ..key };
    let later = DeliveryKey { submission: key.submission + 1, ..key };
    let mut ids = vec![DeliveryId::new("dlv_1").expect("a valid id"), other.id(), later.id()];
    ids.push(DeliveryId::from_bits([0xff; 16]));
    for id in ids {
        assert!(world.store.delivery(&id).await.expect("a lookup").is_none(), "{id}");
        let refused = world.store.resend(&id).await;
        assert!(matches!(refused, Err(StoreError::NotFound { .. })), "{id}: {refused:?}");
    }
    let form = FormId::new("frm_unknown").expect("a valid id");
    let endpoint = EndpointId::new("whe_unknown").expect("a valid id");
    let request = DeliveriesRequest { endpoint: Some(endpoint), ..of_form(&world.form.id) };
    for refused in [
        world.store.deliveries(of_form(&form)).await.err(),
        world.store.deliveries(request).await.err(),
        world.store.endpoints(&form).await.err(),
        world.store.add_endpoint(new_endpoint(&form)).await.err(),
    ] {
        assert!(matches!(refused, Some(StoreError::NotFound { .. })), "{refused:?}");
    }
}
