//! Random sequences of calls against a model so plain that it is surely right.

use std::sync::Arc;

use formsvc_protocol::{
    Answers, FormId, FormInstant, FormStatus, PublicId, Submission, SubmissionId, UserId,
};
use formsvc_server::store::contract::{Factory, Fresh, ManualClock};
use formsvc_server::store::{
    NewForm, NewSubmission, PageRequest, StagedForm, StagedSubmission, Store, StoreError,
    UserRecord,
};
use proptest::prelude::*;

/// Forms that a sequence plays with; some are never added.
const FORMS: u8 = 4;
/// Submission ids that a sequence plays with, so that some come twice.
const IDS: u16 = 60;

#[derive(Clone, Debug)]
enum Call {
    AddForm { form: u8, staged: bool },
    SetStatus { form: u8, status: u8 },
    Submit { form: u8, id: u16, clock: i64 },
    Stage { form: u8, ids: Vec<u16> },
    Publish { form: u8 },
    Discard { form: u8 },
    Page { form: u8, before: Option<(u8, i64)>, limit: u32 },
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let form = 0..FORMS;
    let clock = prop_oneof![Just(0), -3_000_i64..5_000, -5_000_000_i64..5_000_000];
    let call = prop_oneof![
        2 => (form.clone(), any::<bool>()).prop_map(|(form, staged)| Call::AddForm { form, staged }),
        1 => (form.clone(), 0..3_u8).prop_map(|(form, status)| Call::SetStatus { form, status }),
        8 => (form.clone(), 0..IDS, clock).prop_map(|(form, id, clock)| Call::Submit { form, id, clock }),
        2 => (form.clone(), prop::collection::vec(0..IDS, 0..5)).prop_map(|(form, ids)| Call::Stage { form, ids }),
        1 => form.clone().prop_map(|form| Call::Publish { form }),
        1 => form.clone().prop_map(|form| Call::Discard { form }),
        6 => (form, prop::option::of((any::<u8>(), -1_i64..=1)), 1_u32..6)
            .prop_map(|(form, before, limit)| Call::Page { form, before, limit }),
    ];
    prop::collection::vec(call, 1..120)
}

#[derive(Default)]
struct ModelForm {
    status: usize,
    staged: bool,
    /// Oldest first.
    rows: Vec<(FormInstant, u16)>,
}

/// What the store should hold.
#[derive(Default)]
struct Model {
    forms: [Option<ModelForm>; FORMS as usize],
}

impl Model {
    fn visible(&mut self, form: u8) -> Option<&mut ModelForm> {
        self.forms[usize::from(form)].as_mut().filter(|form| !form.staged)
    }

    fn staged(&mut self, form: u8) -> Option<&mut ModelForm> {
        self.forms[usize::from(form)].as_mut().filter(|form| form.staged)
    }

    fn uses(&self, id: u16) -> bool {
        self.forms.iter().flatten().flat_map(|form| &form.rows).any(|row| row.1 == id)
    }
}

const STATUSES: [FormStatus; 3] = [FormStatus::Published, FormStatus::Draft, FormStatus::Closed];

fn form_id(form: u8) -> FormId {
    FormId::new(&format!("frm_{form}")).unwrap()
}

/// Half of the ids are of the service's own shape and half are not.
fn submission_id(id: u16) -> SubmissionId {
    if id.is_multiple_of(2) {
        SubmissionId::from_bits([u8::try_from(id).unwrap(); 16])
    } else {
        SubmissionId::new(&format!("id-{id}")).unwrap()
    }
}

fn answers(id: u16) -> Answers {
    Answers::parse(format!("{{\"id\": {id}.0}}")).unwrap()
}

struct Run {
    store: Arc<dyn Store>,
    clock: ManualClock,
    now: i64,
    user: UserId,
    model: Model,
}

impl Run {
    async fn new(factory: Factory) -> (Self, Box<dyn Send>) {
        let now = 1_767_225_600_000_000;
        let clock = ManualClock::at(now);
        let Fresh { store, keep } = factory(clock.clock()).await;
        let user = UserId::new("usr_1").unwrap();
        let record = UserRecord { id: user.clone(), email: "a@b".into(), name: "A".into() };
        store.add_user(record).await.unwrap();
        (Self { store, clock, now, user, model: Model::default() }, keep)
    }

    async fn call(&mut self, call: Call) {
        match call {
            Call::AddForm { form, staged } => self.add_form(form, staged).await,
            Call::SetStatus { form, status } => {
                let status = usize::from(status);
                let outcome =
                    self.store.set_form_status(&form_id(form), STATUSES[status].clone()).await;
                match self.model.visible(form) {
                    Some(form) => {
                        form.status = status;
                        assert_eq!(outcome.unwrap().status, STATUSES[status]);
                    }
                    None => assert!(matches!(outcome, Err(StoreError::NotFound { .. }))),
                }
            }
            Call::Submit { form, id, clock } => self.submit(form, id, clock).await,
            Call::Stage { form, ids } => self.stage(form, &ids).await,
            Call::Publish { form } => {
                let outcome = self.store.publish_staged(&StagedForm { id: form_id(form) }).await;
                match self.model.staged(form) {
                    Some(form) => {
                        form.staged = false;
                        outcome.unwrap();
                    }
                    None => assert!(matches!(outcome, Err(StoreError::NotFound { .. }))),
                }
            }
            Call::Discard { form } => {
                self.store.discard_staged(&StagedForm { id: form_id(form) }).await.unwrap();
                if self.model.staged(form).is_some() {
                    self.model.forms[usize::from(form)] = None;
                }
            }
            Call::Page { form, before, limit } => self.page(form, before, limit).await,
        }
    }

    async fn add_form(&mut self, form: u8, staged: bool) {
        let new = NewForm {
            id: form_id(form),
            user: self.user.clone(),
            public_id: PublicId::new(&format!("p{form}")).unwrap(),
            title: "T".into(),
            status: FormStatus::Published,
        };
        let outcome = if staged {
            self.store.stage_form(new).await.map(drop)
        } else {
            self.store.add_form(new).await.map(drop)
        };
        let place = &mut self.model.forms[usize::from(form)];
        if place.is_some() {
            assert!(matches!(outcome, Err(StoreError::Exists { .. })), "{outcome:?}");
        } else {
            outcome.unwrap();
            *place = Some(ModelForm { staged, ..ModelForm::default() });
        }
    }

    async fn submit(&mut self, form: u8, id: u16, clock: i64) {
        self.now += clock;
        self.clock.set(self.now);
        let new = NewSubmission {
            id: submission_id(id),
            form: form_id(form),
            answers: answers(id),
            revision: None,
            idempotency: None,
        };
        let outcome = self.store.submit(new).await;
        let (used, now) = (self.model.uses(id), FormInstant::from_micros(self.now));
        match self.model.visible(form) {
            None => assert!(matches!(outcome, Err(StoreError::NotFound { .. })), "{outcome:?}"),
            Some(form) if form.status != 0 => {
                assert!(matches!(outcome, Err(StoreError::Closed { .. })), "{outcome:?}");
            }
            Some(_) if used => {
                assert!(matches!(outcome, Err(StoreError::Exists { .. })), "{outcome:?}");
            }
            Some(form) => {
                let at = FormInstant::next(now, form.rows.last().map(|row| row.0));
                assert_eq!(outcome.unwrap().instant, at);
                form.rows.push((at, id));
            }
        }
    }

    async fn stage(&mut self, form: u8, ids: &[u16]) {
        let rows = ids.iter().map(|&id| StagedSubmission {
            id: submission_id(id),
            at: None,
            answers: answers(id),
        });
        let staged = StagedForm { id: form_id(form) };
        let outcome = self.store.stage_submissions(&staged, rows.collect()).await;
        let repeats = (0..ids.len()).any(|n| ids[..n].contains(&ids[n]) || self.model.uses(ids[n]));
        let now = FormInstant::from_micros(self.now);
        match self.model.staged(form) {
            None => assert!(matches!(outcome, Err(StoreError::NotFound { .. })), "{outcome:?}"),
            Some(_) if repeats => {
                assert!(matches!(outcome, Err(StoreError::Exists { .. })), "{outcome:?}");
            }
            Some(form) => {
                outcome.unwrap();
                for &id in ids {
                    let at = FormInstant::next(now, form.rows.last().map(|row| row.0));
                    form.rows.push((at, id));
                }
            }
        }
    }

    async fn page(&mut self, form: u8, before: Option<(u8, i64)>, limit: u32) {
        let id = form_id(form);
        let model = self.model.visible(form);
        // A cursor at some row, or just beside it.
        let before = before.map(|(row, beside)| {
            let rows = model.as_ref().map_or(&[][..], |form| &form.rows);
            let micros = rows
                .get(usize::from(row) % rows.len().max(1))
                .map_or(self.now, |row| row.0.micros());
            FormInstant::from_micros(micros + beside)
        });
        let request = PageRequest { user: self.user.clone(), form: id, before, limit };
        let page = self.store.page(request).await.unwrap();
        let Some(model) = model else {
            assert!(page.is_none());
            return;
        };
        let page = page.expect("the form can be seen");
        let older: Vec<_> = model
            .rows
            .iter()
            .rev()
            .filter(|row| before.is_none_or(|before| row.0 < before))
            .collect();
        let expected = &older[..older.len().min(limit as usize)];
        let items = format!("[{}]", str::from_utf8(&page.items).unwrap());
        let found: Vec<Submission> = serde_json::from_str(&items).unwrap();
        assert_eq!(found.len(), expected.len());
        for (found, (at, id)) in found.iter().zip(expected) {
            assert_eq!(found.id, submission_id(*id));
            assert_eq!(found.data, answers(*id));
            assert_eq!(found.created_at.as_str(), at.to_timestamp().as_str());
        }
        assert_eq!((page.len, page.last), (expected.len(), expected.last().map(|row| row.0)));
        assert_eq!(page.has_more, older.len() > expected.len());
    }
}

fn runs_like_the_model(factory: Factory, calls: Vec<Call>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (mut run, _keep) = Run::new(factory).await;
        for call in calls {
            run.call(call).await;
        }
        for form in 0..FORMS {
            run.page(form, None, 100).await;
        }
        run.store.close().await.unwrap();
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_store_in_memory_does_what_the_model_does(calls in calls()) {
        runs_like_the_model(super::in_memory, calls);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn a_store_on_a_file_does_what_the_model_does(calls in calls()) {
        runs_like_the_model(super::on_a_file, calls);
    }
}
