//! Makes submissions to forms, at intervals or on request.

use std::collections::VecDeque;
use std::time::Duration;

use formsvc_client::{Form, FormId};
use formsvc_protocol::Answers;
use formsvc_server::admin::{Admin, AdminError};
use formsvc_server::fields::Fields;
use formsvc_server::seed::{self, SeedOptions};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

/// The interval of a visitor that makes submissions only on request.
const NEVER: Duration = Duration::from_secs(365 * 86_400);

/// The answers of the next submissions to a form.
type FormAnswers = Box<dyn Iterator<Item = Answers> + Send>;

/// Makes submissions to some forms, in turn.
pub(super) struct Visitor {
    admin: Admin,
    forms: VecDeque<(FormId, FormAnswers)>,
}

impl Visitor {
    pub(super) async fn new(admin: &Admin, forms: &[&Form]) -> Result<Self, AdminError> {
        let mut visited = VecDeque::with_capacity(forms.len());
        for form in forms {
            visited.push_back((form.id.clone(), generate_answers(admin, form).await?));
        }
        Ok(Self { admin: admin.clone(), forms: visited })
    }

    /// Makes a submission at each interval and for each request. A refused submission is logged.
    pub(super) async fn run(mut self, every: Option<Duration>, mut requests: mpsc::Receiver<()>) {
        let every = every.unwrap_or(NEVER);
        let mut interval = interval_at(Instant::now() + every, every);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while let Some((form, mut answers)) = self.forms.pop_front() {
            tokio::select! {
                _ = interval.tick() => {}
                Some(()) = requests.recv() => {}
            }
            let Some(submission) = answers.next() else { continue };
            if let Err(error) = self.admin.submit_answers(&form, submission).await {
                tracing::warn!(%error, "a submission of the sandbox was refused");
            }
            self.forms.push_back((form, answers));
        }
    }
}

/// Generates answers that fit the fields of the form, or any answers for a form without fields.
async fn generate_answers(admin: &Admin, form: &Form) -> Result<FormAnswers, AdminError> {
    let public = admin.store().public_form(&form.public_id).await?;
    let fields = public.and_then(|form| form.fields).and_then(|text| Fields::parse(&text).ok());
    if let Some(fields) = fields {
        let mut visitor = seed::Visitor::new(1);
        return Ok(Box::new(std::iter::from_fn(move || visitor.fill(&fields))));
    }
    let any = SeedOptions::new(form.public_id.clone(), u64::MAX).generator();
    Ok(Box::new(any.map(|submission| submission.answers)))
}
