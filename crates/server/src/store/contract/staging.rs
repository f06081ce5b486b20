//! Forms under import.

use formsvc_protocol::{FormId, FormInstant, PublicId, SubmissionId};

use super::world::{Factory, NOW, World, answers, ids, new_form, parse, submission};
use crate::admin::new_id;
use crate::store::{NewForm, StagedForm, StagedSubmission, StoreError};

fn row(at: Option<i64>) -> StagedSubmission {
    StagedSubmission {
        id: SubmissionId::from_bits(new_id()),
        at: at.map(FormInstant::from_micros),
        answers: answers("{}"),
    }
}

async fn stage(world: &World) -> StagedForm {
    world.store.stage_form(new_form(&world.user.id)).await.expect("staged")
}

pub(super) async fn a_staged_form_is_seen_by_nobody_until_it_is_published(factory: Factory) {
    let world = World::new(factory).await;
    let new = new_form(&world.user.id);
    let staged = world.store.stage_form(new.clone()).await.expect("staged");
    let rows: Vec<_> = (0..3).map(|_| row(None)).collect();
    world.store.stage_submissions(&staged, rows[..2].to_vec()).await.expect("staged");
    world.store.stage_submissions(&staged, rows[2..].to_vec()).await.expect("staged");

    assert_eq!(world.store.forms(&world.user.id).await.expect("a list").len(), 1);
    assert_eq!(world.store.form_by_public_id(&new.public_id).await.expect("a lookup"), None);
    assert!(world.page_of(&world.user.id, &new.id, None, 25).await.is_none());
    let refused = world.submit_to(&new.id, "{}").await;
    assert!(matches!(refused, Err(StoreError::NotFound { .. })), "{refused:?}");
    let refused = world.store.set_form_status(&new.id, new.status.clone()).await;
    assert!(matches!(refused, Err(StoreError::NotFound { .. })), "{refused:?}");

    world.clock.advance(1_000_000);
    let form = world.store.publish_staged(&staged).await.expect("published");
    assert_eq!((&form.id, &form.title, &form.status), (&new.id, &new.title, &new.status));
    let listed = world.store.forms(&world.user.id).await.expect("a list");
    assert_eq!(listed[0], form, "newest first: it exists since it was published");
    let page = world.page_of(&world.user.id, &form.id, None, 25).await.expect("a page");
    let expected: Vec<_> = rows.iter().rev().map(|row| &row.id).collect();
    assert_eq!(ids(&parse(&page)), expected);

    let refused = world.store.publish_staged(&staged).await;
    assert!(matches!(refused, Err(StoreError::NotFound { .. })), "{refused:?}");
    let refused = world.store.stage_submissions(&staged, vec![row(None)]).await;
    assert!(matches!(refused, Err(StoreError::NotFound { .. })), "{refused:?}");
    world.store.discard_staged(&staged).await.expect("a published form is not staged any more");
    assert!(world.page_of(&world.user.id, &form.id, None, 25).await.is_some());
}

pub(super) async fn a_discarded_form_leaves_nothing(factory: Factory) {
    let world = World::new(factory).await;
    let new = new_form(&world.user.id);
    let staged = world.store.stage_form(new.clone()).await.expect("staged");
    let rows = vec![row(None), row(None)];
    world.store.stage_submissions(&staged, rows.clone()).await.expect("staged");
    world.store.discard_staged(&staged).await.expect("discarded");
    world.store.discard_staged(&staged).await.expect("discarding twice does nothing");
    let refused = world.store.publish_staged(&staged).await;
    assert!(matches!(refused, Err(StoreError::NotFound { .. })), "{refused:?}");
    // Its ids are free again.
    let staged = world.store.stage_form(new).await.expect("staged");
    world.store.stage_submissions(&staged, rows).await.expect("staged");
    let form = world.store.publish_staged(&staged).await.expect("published");
    let page = world.page_of(&world.user.id, &form.id, None, 25).await.expect("a page");
    assert_eq!(page.len, 2);
}

/// Whoever began it may be gone, and nobody can tell.
pub(super) async fn an_import_that_was_given_up_is_in_nobodys_way(factory: Factory) {
    let world = World::new(factory).await;
    let new = new_form(&world.user.id);
    let staged = |id: &str| NewForm { id: FormId::new(id).expect("a valid id"), ..new.clone() };
    let given_up = world.store.stage_form(staged("frm_first")).await.expect("staged");
    world.store.stage_submissions(&given_up, vec![row(None)]).await.expect("staged");
    let again = world.store.stage_form(staged("frm_second")).await.expect("staged");
    world.store.stage_submissions(&again, vec![row(None)]).await.expect("staged");
    let form = world.store.publish_staged(&again).await.expect("published");
    assert_eq!((form.id.as_str(), &form.public_id), ("frm_second", &new.public_id));
    // Its public id is somebody else's by now, whether it goes on or another begins.
    for late in [
        world.store.publish_staged(&given_up).await.map(drop),
        world.store.stage_form(staged("frm_third")).await.map(drop),
    ] {
        assert!(matches!(late, Err(StoreError::Exists { what: "public id", .. })), "{late:?}");
    }
    world.clock.advance(3_600_000_001);
    stage_other(&world).await;
    let gone = world.store.stage_submissions(&given_up, vec![row(None)]).await;
    assert!(matches!(gone, Err(StoreError::NotFound { .. })), "{gone:?}");
    assert!(world.page_of(&world.user.id, &form.id, None, 25).await.is_some());
}

async fn stage_other(world: &World) {
    let public_id = PublicId::new("another").expect("a valid id");
    let new = NewForm { public_id, ..new_form(&world.user.id) };
    world.store.stage_form(new).await.expect("staged");
}

pub(super) async fn staged_instants_are_kept_and_must_increase(factory: Factory) {
    let world = World::new(factory).await;
    let staged = stage(&world).await;
    let at = |micros: i64| row(Some(micros));
    world.store.stage_submissions(&staged, vec![at(-5), at(7), at(8)]).await.expect("staged");
    for chunk in [vec![at(8)], vec![at(9), at(9)], vec![at(10), at(3)]] {
        let refused = world.store.stage_submissions(&staged, chunk).await;
        assert!(matches!(refused, Err(StoreError::Invalid { what: "instant", .. })), "{refused:?}");
    }
    world.store.stage_submissions(&staged, vec![at(9)]).await.expect("staged");
    let form = world.store.publish_staged(&staged).await.expect("published");
    let mut seen = Vec::new();
    let mut before = None;
    loop {
        let page = world.page_of(&world.user.id, &form.id, before, 1).await.expect("a page");
        before = page.last;
        seen.extend(page.last.map(FormInstant::micros));
        if !page.has_more {
            break;
        }
    }
    assert_eq!(seen, [9, 8, 7, -5]);
}

pub(super) async fn a_refused_chunk_leaves_what_was_staged_before(factory: Factory) {
    let world = World::new(factory).await;
    let taken = submission(&world.form.id, "{}");
    world.store.submit(taken.clone()).await.expect("accepted");
    let staged = stage(&world).await;
    world.store.stage_submissions(&staged, vec![row(None)]).await.expect("staged");
    let repeated = StagedSubmission { id: taken.id, ..row(None) };
    let refused = world.store.stage_submissions(&staged, vec![row(None), repeated]).await;
    assert!(matches!(refused, Err(StoreError::Exists { .. })), "{refused:?}");
    let form = world.store.publish_staged(&staged).await.expect("published");
    let page = world.page_of(&world.user.id, &form.id, None, 25).await.expect("a page");
    assert_eq!(page.len, 1);
}

pub(super) async fn a_published_form_goes_on_after_its_last_instant(factory: Factory) {
    let world = World::new(factory).await;
    let staged = stage(&world).await;
    let ahead = NOW + 60_000_000;
    world
        .store
        .stage_submissions(&staged, vec![row(Some(NOW)), row(Some(ahead))])
        .await
        .expect("staged");
    let form = world.store.publish_staged(&staged).await.expect("published");
    let next = world.submit_to(&form.id, "{}").await.expect("accepted");
    assert_eq!(next.instant.micros(), ahead + 1);
}

pub(super) async fn a_large_staged_form_can_be_discarded(factory: Factory) {
    let world = World::new(factory).await;
    let staged = stage(&world).await;
    for _ in 0..4 {
        let chunk = (0..3_000).map(|_| row(None)).collect();
        world.store.stage_submissions(&staged, chunk).await.expect("staged");
    }
    world.store.discard_staged(&staged).await.expect("discarded");
    let refused = world.store.publish_staged(&staged).await;
    assert!(matches!(refused, Err(StoreError::NotFound { .. })), "{refused:?}");
    world.submit("{}").await;
}
