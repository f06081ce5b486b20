//! The sending of `trigger`.

use std::cell::RefCell;
use std::time::Duration;

use formsvc_contract::send::{Answer, HttpSender, Outgoing, SendError};
use formsvc_protocol::RetrySchedule;
use formsvc_protocol::signature::{SigningSecret, sign};
use futures_util::{StreamExt, stream};
use http::HeaderValue;
use serde::Serialize;
use tokio::time::{Instant, sleep_until};
use url::Url;

use super::source::{Bodies, Prepared};
use super::{FIELDS, unmet};
use crate::args::OutputFormat;
use crate::context::Context;
use crate::error::CliError;
use crate::output::{Look, Output, Stream};
use crate::settings::written;
use crate::webhook::columns::{Column, Columns};
use crate::webhook::expected::Answers;
use crate::webhook::fields::millis;
use crate::webhook::listen::text;
use crate::webhook::mask;
use crate::webhook::replay::now;
use crate::webhook::simulate::{Attempted, End, Simulation};
use crate::webhook::statuses::Statuses;

/// How deliveries are sent.
pub(super) struct Run<'a> {
    pub(super) cx: &'a Context,
    pub(super) sender: HttpSender,
    pub(super) secrets: Vec<SigningSecret>,
    pub(super) to: Url,
    pub(super) expect: Statuses,
    /// Whether what the receiver says is shown as it came.
    pub(super) reveal: bool,
    /// Play the sender, with pauses so many times shorter.
    pub(super) simulate: Option<f64>,
    pub(super) rate: Option<f64>,
    pub(super) concurrency: usize,
    pub(super) count: u64,
}

/// An attempt as it is shown.
#[derive(Serialize)]
struct Tried<'a> {
    index: u64,
    attempt: u32,
    submission_id: Option<&'a str>,
    status: Option<u16>,
    took_ms: f64,
    error: Option<String>,
    body: Option<String>,
    truncated: bool,
}

/// What was not as expected.
struct Wrong {
    answers: Answers,
    /// Deliveries that `--simulate-sender` gave up.
    failed: u64,
}

impl Run<'_> {
    pub(super) async fn send(&self, bodies: &mut Bodies) -> Result<(), CliError> {
        let output = self.cx.output.piped_as(OutputFormat::Ndjson);
        let mut answers = Answers::new(self.expect);
        let show = if self.count == 1 && self.simulate.is_none() {
            // It stands among what is shown, whole.
            answers = answers.said_elsewhere();
            Show::One(&output)
        } else if output.is_for_reading() {
            Show::Lines(Columns::new(output.live()?, self.columns()))
        } else {
            Show::Items(output.stream(FIELDS)?)
        };
        let wrong = RefCell::new(Wrong { answers, failed: 0 });
        let began = Instant::now();
        let (show, wrong_of) = (&show, &wrong);
        let deliveries = stream::iter(0..self.count)
            .then(|index| async move {
                if let Some(rate) = self.rate {
                    #[expect(clippy::cast_precision_loss, reason = "a place in time")]
                    let after = Duration::try_from_secs_f64(index as f64 / rate);
                    sleep_until(began + after.unwrap_or_default()).await;
                }
                index
            })
            .map(|index| {
                let prepared = bodies.next(index);
                async move { self.deliver(index, &prepared?, show, wrong_of).await }
            })
            .buffer_unordered(self.concurrency);
        let mut deliveries = std::pin::pin!(deliveries);
        while let Some(delivered) = deliveries.next().await {
            delivered?;
        }
        self.judged(&wrong.borrow())
    }

    async fn deliver(
        &self,
        index: u64,
        prepared: &Prepared,
        show: &Show<'_>,
        wrong: &RefCell<Wrong>,
    ) -> Result<(), CliError> {
        let Some(time_scale) = self.simulate else {
            let answer = self.attempt(prepared).await;
            self.shown(show, index, 1, prepared, &answer)?;
            wrong.borrow_mut().answers.note(&answer);
            return Ok(());
        };
        let schedule = RetrySchedule::default();
        let simulation = Simulation { schedule, time_scale, random: &fastrand::f64 };
        let attempt = async |number| {
            let answer = self.attempt(prepared).await;
            self.shown(show, index, number, prepared, &answer)?;
            let attempted = answer.map(|answer| Attempted::by(&answer, now()));
            Ok::<_, CliError>(attempted.unwrap_or_default())
        };
        let pause = |retry: u32, wait: Duration| {
            let wait =
                written(Duration::from_millis(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)));
            self.cx.progress.remark(&format!("retry {retry} of 3 after {wait}"));
        };
        let end = simulation.deliver(attempt, pause).await?;
        let name = prepared.submission_id.as_deref().unwrap_or("the delivery");
        match end {
            End::Delivered { attempts } => {
                let s = if attempts == 1 { "" } else { "s" };
                self.cx.progress.remark(&format!("{name}: delivered after {attempts} attempt{s}"));
            }
            End::Failed { attempts } => {
                self.cx
                    .progress
                    .remark(&format!("{name}: failed for good after {attempts} attempts"));
                wrong.borrow_mut().failed += 1;
            }
        }
        Ok(())
    }

    /// One attempt, signed now.
    async fn attempt(&self, prepared: &Prepared) -> Result<Answer, SendError> {
        let signature = sign(&self.secrets, now(), &prepared.body);
        let signature = HeaderValue::try_from(signature).expect("digits, hex digits and = , t v");
        let (to, event, body) = (self.to.clone(), prepared.event.clone(), prepared.body.clone());
        self.sender.send(Outgoing::delivery(to, event, signature, body)).await
    }

    /// What the receiver said: a page for debugging shows the request's headers.
    fn said(&self, answer: &Answer) -> String {
        String::from_utf8_lossy(&mask::answer(&answer.body, self.reveal)).into_owned()
    }

    fn shown(
        &self,
        show: &Show<'_>,
        index: u64,
        attempt: u32,
        prepared: &Prepared,
        answer: &Result<Answer, SendError>,
    ) -> Result<(), CliError> {
        let took = match answer {
            Ok(answer) => answer.took,
            Err(error) => error.took,
        };
        let answered = answer.as_ref().ok();
        let row = Tried {
            index: index + 1,
            attempt,
            submission_id: prepared.submission_id.as_deref(),
            status: answered.map(|answer| answer.status.as_u16()),
            took_ms: millis(took),
            error: answer.as_ref().err().map(ToString::to_string),
            body: answered.map(|answer| self.said(answer)),
            truncated: answered.is_some_and(|answer| answer.truncated),
        };
        match show {
            Show::Items(stream) => stream.show(&row),
            Show::Lines(columns) => self.line(columns, &row, &text::took(took)),
            Show::One(output) => {
                let mut listing = output.listing(FIELDS)?;
                listing.push(&row);
                output.item(&listing)
            }
        }
    }

    /// What people are told of each attempt.
    fn columns(&self) -> Vec<Column> {
        vec![
            Column::numbers("#", self.count),
            Column::numbers("ATTEMPT", 1),
            Column::ids("SUBMISSION"),
            Column::text("STATUS", 9, 9),
            Column::text("TOOK", 6, 6),
            Column::rest("SAID").or_below(),
        ]
    }

    fn line(&self, columns: &Columns<'_>, row: &Tried<'_>, took: &str) -> Result<(), CliError> {
        let (index, attempt) = (row.index.to_string(), row.attempt.to_string());
        let status = row.status.map_or("no answer".to_owned(), |status| status.to_string());
        let is_good = row.status.is_some() && self.expect.has(row.status);
        columns.tell(&[
            (Look::Heading, &index),
            (Look::Plain, &attempt),
            (Look::Plain, row.submission_id.unwrap_or("-")),
            (if is_good { Look::Good } else { Look::Bad }, &status),
            (Look::Past, took),
            (Look::Past, row.error.as_deref().or(row.body.as_deref()).unwrap_or_default()),
        ])
    }

    /// Whether everything was as expected.
    fn judged(&self, wrong: &Wrong) -> Result<(), CliError> {
        if wrong.failed > 0 {
            let what = if self.count == 1 {
                "the delivery failed for good: no attempt was answered with 2xx".to_owned()
            } else {
                format!("{} of {} deliveries failed for good", wrong.failed, self.count)
            };
            return Err(unmet(what).hint("the service, too, would not try again"));
        }
        wrong.answers.judged("deliveries", hint_of)
    }
}

/// How attempts are shown.
enum Show<'a> {
    /// The one there is, as an item.
    One(&'a Output),
    /// Each as it ends, for people.
    Lines(Columns<'a>),
    /// The same, for programs.
    Items(Stream<'a>),
}

/// What is most often behind a status that was not expected.
fn hint_of(status: u16) -> Option<&'static str> {
    Some(match status {
        300..=399 => "the service does not follow redirects: give the URL it leads to",
        401 | 403 => {
            "does the receiver have the same secret, and verify the raw body? \
             `formsvc webhook verify --explain` finds out"
        }
        404 | 405 => "is the path right, and does it take POST?",
        _ => return None,
    })
}
