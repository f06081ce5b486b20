//! Forms: lists, states, owners.

use formsvc_protocol::limits::FORMS_LISTED_MAX;
use formsvc_protocol::{FormId, FormStatus, KeyId, PublicId, SubmissionId, UserId};

use super::world::{Factory, World, add_user, answers, new_form, submission};
use crate::admin::new_id;
use crate::store::{
    FormChange, Idempotency, NewForm, NewSpam, NewSubmission, PublicForm, StagedSubmission,
    StoreError,
};

pub(super) async fn forms_are_listed_newest_first_and_at_most_200(factory: Factory) {
    let world = World::new(factory).await;
    let other = add_user(&*world.store, "other@example.org").await;
    assert!(world.store.forms(&other.id).await.expect("a list").is_empty());

    let mut made = vec![world.form.id.clone()];
    for n in 0..FORMS_LISTED_MAX + 4 {
        // Several at one instant: the order of their making decides.
        if n % 3 == 0 {
            world.clock.advance(1_000);
        }
        made.push(world.add_form().await.id);
    }
    made.reverse();
    let listed = world.store.forms(&world.user.id).await.expect("a list");
    let listed: Vec<_> = listed.into_iter().map(|form| form.id).collect();
    assert_eq!(listed, made[..FORMS_LISTED_MAX]);
}

pub(super) async fn a_public_id_is_unique(factory: Factory) {
    let world = World::new(factory).await;
    let other = add_user(&*world.store, "other@example.org").await;
    let taken = NewForm { public_id: world.form.public_id.clone(), ..new_form(&other.id) };
    let refused = world.store.add_form(taken.clone()).await;
    assert!(matches!(refused, Err(StoreError::Exists { what: "public id", .. })), "{refused:?}");
    let refused = world.store.stage_form(taken).await;
    assert!(matches!(refused, Err(StoreError::Exists { what: "public id", .. })), "{refused:?}");
    let found = world.store.form_by_public_id(&world.form.public_id).await.expect("a lookup");
    assert_eq!(found.as_ref(), Some(&world.form));
    assert_eq!(world.store.form(&world.form.id).await.expect("a lookup"), found);
    let missing = PublicId::new("missing").expect("a valid id");
    assert_eq!(world.store.form_by_public_id(&missing).await.expect("a lookup"), None);
}

pub(super) async fn only_published_forms_accept_submissions(factory: Factory) {
    let world = World::new(factory).await;
    world.submit("{}").await;
    for status in [FormStatus::Draft, FormStatus::Closed] {
        world.clock.advance(1_000_000);
        let form = world.store.set_form_status(&world.form.id, status.clone()).await.expect("set");
        assert_eq!(form.status, status);
        assert!(form.updated_at > form.created_at);
        assert_eq!(form.created_at, world.form.created_at);
        let refused = world.submit_to(&world.form.id, "{}").await;
        let Err(StoreError::Closed { form, status: said }) = refused else { panic!("{refused:?}") };
        assert_eq!((form, said), (world.form.id.clone(), status));
    }
    assert_eq!(world.walk(None, 100).await.len(), 1, "what it has stays readable");
    world.store.set_form_status(&world.form.id, FormStatus::Published).await.expect("set");
    world.submit("{}").await;
    assert_eq!(world.walk(None, 100).await.len(), 2);
}

pub(super) async fn a_foreign_or_unknown_form_has_no_page(factory: Factory) {
    let world = World::new(factory).await;
    world.submit("{}").await;
    let other = add_user(&*world.store, "other@example.org").await;
    let unknown_user = UserId::new("usr_unknown").expect("a valid id");
    let unknown_form = FormId::new("frm_unknown").expect("a valid id");
    assert!(world.page_of(&other.id, &world.form.id, None, 25).await.is_none());
    assert!(world.page_of(&unknown_user, &world.form.id, None, 25).await.is_none());
    assert!(world.page_of(&world.user.id, &unknown_form, None, 25).await.is_none());
    let public = FormId::new(world.form.public_id.as_str()).expect("a valid id");
    assert!(world.page_of(&world.user.id, &public, None, 25).await.is_none());
}

pub(super) async fn a_status_is_one_that_is_known(factory: Factory) {
    let world = World::new(factory).await;
    let odd = FormStatus::from("archived");
    let refused = world.store.set_form_status(&world.form.id, odd.clone()).await;
    assert!(matches!(refused, Err(StoreError::Invalid { .. })), "{refused:?}");
    let refused = world.store.add_form(NewForm { status: odd, ..new_form(&world.user.id) }).await;
    assert!(matches!(refused, Err(StoreError::Invalid { .. })), "{refused:?}");
    assert_eq!(world.store.forms(&world.user.id).await.expect("a list"), [world.form]);
}

pub(super) async fn what_is_not_there_is_not_found(factory: Factory) {
    let World { store, .. } = &World::new(factory).await;
    let form = FormId::new("frm_unknown").expect("a valid id");
    let user = UserId::new("usr_unknown").expect("a valid id");
    let key = KeyId::new("key_unknown").expect("a valid id");
    let outcomes = [
        store.submit(submission(&form, "{}")).await.err(),
        store.set_form_status(&form, FormStatus::Closed).await.err(),
        store.add_form(new_form(&user)).await.err(),
        store.stage_form(new_form(&user)).await.err(),
        store.revoke_key(&key).await.err(),
    ];
    for outcome in outcomes {
        assert!(matches!(outcome, Some(StoreError::NotFound { .. })), "{outcome:?}");
    }
    assert!(store.forms(&user).await.expect("a list").is_empty());
    assert!(store.keys(&user).await.expect("a list").is_empty());
    assert!(store.user_by_email("nobody@example.org").await.expect("a lookup").is_none());
}

pub(super) async fn a_visitor_meets_what_was_set_of_a_form(factory: Factory) {
    let world = World::new(factory).await;
    let visit = async || {
        let met = world.store.public_form(&world.form.public_id).await.expect("a lookup");
        met.expect("the form is there")
    };
    let change = async |change| {
        world.clock.advance(1_000_000);
        let changed = world.store.change_form(&world.form.id, change).await.expect("changed");
        let met = visit().await;
        assert_eq!(met.form, changed);
        met
    };
    let bare = visit().await;
    let PublicForm { form, revision, fields, origins } = bare.clone();
    assert_eq!((&form, &fields, &origins), (&world.form, &None, &None));

    let titled = change(FormChange { title: Some("Zoë's".into()), ..FormChange::default() }).await;
    assert_ne!(titled.revision, revision);
    assert_eq!((&titled.form.title[..], &titled.fields, &titled.origins), ("Zoë's", &None, &None));
    assert!(titled.form.updated_at > world.form.updated_at);
    assert_eq!(titled.form.created_at, world.form.created_at);
    let text = r#"[ {"label": "a\u0000b"} ]"#.to_owned();
    let fields = Some(Some(text.clone()));
    let fielded = change(FormChange { fields: fields.clone(), ..FormChange::default() }).await;
    assert_eq!((&fielded.fields, &fielded.origins), (&Some(text), &None));
    assert_eq!(fielded.form.title, "Zoë's");
    assert!(![revision, titled.revision].contains(&fielded.revision));
    let list = vec!["https://a.example".to_owned(), "https://b.example:8443".to_owned()];
    let origins = Some(Some(list.clone()));
    let open = change(FormChange { origins: origins.clone(), ..FormChange::default() }).await;
    assert_eq!((&open.fields, &open.origins), (&fielded.fields, &Some(list)));
    assert_ne!(open.revision, fielded.revision);

    // Setting what is set already, or nothing, changes nothing.
    let same = FormChange { title: Some("Zoë's".into()), fields, origins, revision: None };
    assert_eq!(change(same).await, open);
    assert_eq!(change(FormChange::default()).await, open);
    let none =
        FormChange { fields: Some(None), origins: Some(Some(Vec::new())), ..FormChange::default() };
    let closed = change(none).await;
    assert_eq!((closed.fields, closed.origins), (None, Some(Vec::new())));
    let all = change(FormChange { origins: Some(None), ..FormChange::default() }).await;
    assert_eq!(all.origins, None);
}

pub(super) async fn a_change_thought_of_another_revision_is_refused(factory: Factory) {
    let world = World::new(factory).await;
    let met = async || {
        let found = world.store.public_form(&world.form.public_id).await;
        found.expect("a lookup").expect("a form")
    };
    let titled = |title: &str, revision| FormChange {
        title: Some(title.into()),
        revision: Some(revision),
        ..FormChange::default()
    };
    let began = met().await;
    world.clock.advance(1_000);
    let first = world.store.change_form(&world.form.id, titled("First", began.revision)).await;
    assert_eq!(first.expect("changed").title, "First");
    let after = met().await;
    let late = world.store.change_form(&world.form.id, titled("Late", began.revision)).await;
    let Err(StoreError::Changed { form }) = late else { panic!("{late:?}") };
    assert_eq!(form, world.form.id);
    assert_eq!(met().await, after);
    // Also one that would change nothing.
    let same = world.store.change_form(&world.form.id, titled("First", began.revision)).await;
    assert!(matches!(same, Err(StoreError::Changed { .. })), "{same:?}");
    let again = world.store.change_form(&world.form.id, titled("Again", after.revision)).await;
    assert_eq!(again.expect("changed").title, "Again");
}

pub(super) async fn a_form_that_is_not_there_is_met_by_nobody(factory: Factory) {
    let world = World::new(factory).await;
    let staged =
        NewForm { public_id: PublicId::new("soon").expect("valid"), ..new_form(&world.user.id) };
    let staged = world.store.stage_form(staged).await.expect("staged");
    for public_id in ["missing", "soon", world.form.id.as_str()] {
        let public_id = PublicId::new(public_id).expect("a valid id");
        assert_eq!(world.store.public_form(&public_id).await.expect("a lookup"), None);
    }
    for id in [&staged.id, &FormId::new("frm_unknown").expect("a valid id")] {
        assert_eq!(world.store.form(id).await.expect("a lookup"), None);
        let change = FormChange { title: Some("T".into()), ..FormChange::default() };
        let refused = world.store.change_form(id, change).await;
        assert!(matches!(refused, Err(StoreError::NotFound { .. })), "{refused:?}");
    }
    for status in [FormStatus::Draft, FormStatus::Closed] {
        let form = world.store.set_form_status(&world.form.id, status).await.expect("set");
        let met = world.store.public_form(&form.public_id).await.expect("a lookup");
        assert_eq!(met.map(|met| met.form), Some(form), "whoever serves it decides");
    }
}

pub(super) async fn the_total_of_a_form_is_what_it_has(factory: Factory) {
    let world = World::new(factory).await;
    let form = world.form.id.clone();
    let empty = world.add_form().await.id;
    let theirs = add_user(&*world.store, "other@example.org").await;
    let foreign = world.store.add_form(new_form(&theirs.id)).await.expect("added").id;
    world.submit_to(&foreign, "{}").await.expect("accepted");
    // Repeats, refusals and spam beside what is kept, many at once.
    let first = submission(&form, "{}");
    let idempotency = Some(Idempotency { key: [1; 32], fingerprint: [0; 32] });
    let first = NewSubmission { idempotency, ..first };
    world.store.submit(first.clone()).await.expect("accepted");
    let again = NewSubmission { idempotency, ..submission(&form, "{}") };
    let same_id = NewSubmission { idempotency: None, ..first };
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(formsvc_protocol::limits::ANSWERS_MAX));
    let (_, repeated, refused, too_long) = tokio::join!(
        world.submit_together(20),
        world.store.submit(again),
        world.store.submit(same_id),
        world.submit_to(&form, &long),
    );
    assert!(repeated.expect("answered").repeated);
    assert!(refused.is_err() && too_long.is_err());
    let id = SubmissionId::from_bits(new_id());
    let spam = NewSpam { id, form: form.clone(), answers: answers("{}") };
    world.store.keep_spam(spam).await.expect("kept");

    let staged = world.store.stage_form(new_form(&world.user.id)).await.expect("staged");
    let row = || StagedSubmission {
        id: SubmissionId::from_bits(new_id()),
        at: None,
        answers: answers("{}"),
    };
    world.store.stage_submissions(&staged, vec![row(), row()]).await.expect("staged");
    let twice = row();
    let refused = world.store.stage_submissions(&staged, vec![twice.clone(), twice]).await;
    assert!(refused.is_err());
    let totals = async || world.store.form_totals(&world.user.id).await.expect("totals");
    assert_eq!(totals().await, [(empty.clone(), 0), (form.clone(), 21)]);
    world.store.publish_staged(&staged).await.expect("published");
    assert_eq!(totals().await, [(staged.id, 2), (empty, 0), (form, 21)]);
    assert_eq!(world.walk(None, 100).await.len(), 21);
    let nobody = UserId::new("usr_unknown").expect("a valid id");
    assert!(world.store.form_totals(&nobody).await.expect("totals").is_empty());
}

pub(super) async fn a_form_has_an_owner_once_it_is_seen(factory: Factory) {
    let world = World::new(factory).await;
    let other = add_user(&*world.store, "other@example.org").await;
    let theirs = world.store.add_form(new_form(&other.id)).await.expect("added");
    let staged = world.store.stage_form(new_form(&other.id)).await.expect("staged");
    let owner = async |form: &FormId| world.store.form_owner(form).await.expect("a lookup");
    assert_eq!(owner(&world.form.id).await.as_ref(), Some(&world.user.id));
    assert_eq!(owner(&theirs.id).await.as_ref(), Some(&other.id));
    assert_eq!(owner(&staged.id).await, None);
    assert_eq!(owner(&FormId::new("frm_unknown").expect("a valid id")).await, None);
}
