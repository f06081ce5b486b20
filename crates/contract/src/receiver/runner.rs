//! Sends what checks ask for, one check after the other, and has the answers judged.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use formsvc_protocol::retry_after;
use formsvc_protocol::signature::SigningSecret;
use futures_util::future::join_all;
use http::header::RETRY_AFTER;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::check::{Check, Plan, Step};
use super::clock;
use super::leak::leak;
use super::make::{ID_PREFIX, MadeUp, make};
use super::mark::Keys;
use super::seen::{Exchange, Outcome, Reply, Seen};
use super::table::CHECKS;
use crate::send::{SendError, SendErrorKind, Sender};

/// How often a receiver may ask for a repeat, as often as the service makes one (SPEC §6).
const REPEATS: usize = 3;
/// After so many checks in a row without any answer the rest is not tried: the run has an end.
const SILENT_CHECKS_MAX: usize = 3;
/// The longest pause before the first repeat; each other is three times as long. Shorter than what a
/// receiver may ask for, since here somebody waits, and it can say so once more.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// What a run is given.
pub struct Given<'a> {
    /// Sends, with [`limit`](Self::limit) as its time.
    pub sender: &'a Sender,
    /// The receiver.
    pub url: &'a Url,
    /// The secret it verifies with; not empty.
    pub secret: &'a SecretString,
    /// How long an answer may take.
    pub limit: Duration,
    /// Tells the time.
    pub clock: &'a (dyn Fn() -> SystemTime + Sync),
    /// Random digits, which keep the ids of this run apart from those of others.
    pub run: &'a str,
}

/// What a check found.
#[derive(Clone, Debug)]
pub struct Report {
    /// The check.
    pub check: &'static Check,
    /// Whether the receiver does what it asks.
    pub outcome: Outcome,
    /// What was found; may hold what the receiver wrote.
    pub found: String,
    /// Requests made.
    pub requests: usize,
    /// Time it took.
    pub took: Duration,
}

/// Runs checks against a receiver.
pub struct Runner<'a> {
    given: Given<'a>,
    right: SigningSecret,
    /// What was given away, and by the answer to what.
    leaks: Vec<(&'static str, &'static str)>,
    silent: usize,
    /// Whether the receiver was reached, or anything of it.
    met: bool,
    /// Why nothing more is tried.
    over: Option<String>,
}

impl<'a> Runner<'a> {
    /// None where the secret is empty.
    pub fn new(given: Given<'a>) -> Option<Self> {
        let right = SigningSecret::new(given.secret.expose_secret())?;
        Some(Self { given, right, leaks: Vec::new(), silent: 0, met: false, over: None })
    }

    /// Runs those of the checks that are wanted, in the table's order, and says when each begins.
    ///
    /// Checks on which the others rest are made in any case, and reported where they are wanted or
    /// fail. Nothing is judged of a receiver that cannot be reached: that is the error.
    pub async fn run(
        mut self,
        is_wanted: impl Fn(&Check) -> bool,
        mut begins: impl FnMut(&Check),
    ) -> Result<Vec<Report>, SendError> {
        let mut reports = Vec::new();
        for check in CHECKS {
            let wanted = is_wanted(check);
            if !wanted && !check.is_gate {
                continue;
            }
            let done = if let Some(why) = &self.over {
                skipped(check, why)
            } else {
                begins(check);
                self.check(check).await?
            };
            if wanted || done.outcome == Outcome::Fail {
                reports.push(done);
            }
        }
        Ok(reports)
    }

    async fn check(&mut self, check: &'static Check) -> Result<Report, SendError> {
        let began = Instant::now();
        let exchanges = self.exchanges(check).await?;
        self.met = true;
        for exchange in &exchanges {
            self.leaks.extend(exchange.leak.map(|what| (check.id, what)));
        }
        let seen = Seen { exchanges: &exchanges, leaks: &self.leaks, limit: self.given.limit };
        let found = (check.judge)(&seen);
        self.note(check, found.outcome, &exchanges);
        Ok(Report {
            check,
            outcome: found.outcome,
            found: found.what,
            requests: exchanges.len(),
            took: began.elapsed(),
        })
    }

    /// Decides whether anything after this check can be judged.
    fn note(&mut self, check: &Check, outcome: Outcome, exchanges: &[Exchange]) {
        let went = |kind| {
            let is =
                |exchange: &&Exchange| matches!(exchange.reply, Reply::Nothing(k, _) if k == kind);
            exchanges.iter().any(|exchange| is(&exchange))
        };
        let answered = exchanges.iter().any(|exchange| exchange.status().is_some());
        self.silent = if answered { 0 } else { self.silent + 1 };
        let id = check.id;
        self.over = if check.is_gate && outcome == Outcome::Fail {
            Some(format!("not tried, since `{id}` failed"))
        } else if went(SendErrorKind::Refused) {
            Some(format!("not tried, since nothing listens any more after `{id}`"))
        } else if self.silent >= SILENT_CHECKS_MAX {
            Some(format!("not tried, since {SILENT_CHECKS_MAX} checks in a row had no answer"))
        } else {
            None
        };
    }

    async fn exchanges(&self, check: &'static Check) -> Result<Vec<Exchange>, SendError> {
        let mut exchanges = Vec::with_capacity(check.requests());
        match check.plan {
            Plan::Each(steps) | Plan::Again(steps) => {
                let one = matches!(check.plan, Plan::Again(_));
                let mut made_up = self.made_up(check, 0);
                for (at, step) in steps.iter().enumerate() {
                    if !one {
                        made_up = self.made_up(check, at);
                    }
                    exchanges.push(self.exchange(*step, &made_up).await?);
                }
            }
            Plan::AtOnce(step, times) => {
                let made_up = self.made_up(check, 0);
                let all = (0..times).map(|_| self.exchange(step, &made_up));
                for exchange in join_all(all).await {
                    exchanges.push(exchange?);
                }
                self.repeat(step, &made_up, &mut exchanges).await?;
            }
        }
        Ok(exchanges)
    }

    /// Sends again what a receiver was too busy for, so that nothing is left half-done there.
    async fn repeat(
        &self,
        step: Step,
        made_up: &MadeUp,
        exchanges: &mut Vec<Exchange>,
    ) -> Result<(), SendError> {
        let busy = |exchange: &&Exchange| exchange.status() == Some(503);
        let mut waiting: Vec<Exchange> = exchanges.iter().filter(busy).cloned().collect();
        let mut most = PAUSE_MAX;
        for _ in 0..REPEATS {
            let now = (self.given.clock)();
            let asked = waiting.iter().map(|exchange| pause(exchange, now)).max();
            let Some(asked) = asked else { return Ok(()) };
            tokio::time::sleep(asked.min(most)).await;
            most *= 3;
            let mut still = Vec::new();
            for _ in waiting {
                let step = Step { label: "sent again", ..step };
                let sent = self.exchange(step, made_up).await?;
                let exchange = Exchange { is_repeat: true, ..sent };
                still.extend(Some(&exchange).filter(|exchange| busy(exchange)).cloned());
                exchanges.push(exchange);
            }
            waiting = still;
        }
        Ok(())
    }

    /// One request. That nothing can be reached is an error of the run only before anything was.
    async fn exchange(&self, step: Step, made_up: &MadeUp) -> Result<Exchange, SendError> {
        let given = &self.given;
        let keys = Keys { secret: given.secret, right: &self.right };
        let made = make(step, given.url, made_up, keys, (given.clock)());
        let sent = (given.clock)();
        let outcome = given.sender.send(made.outgoing).await;
        let received = (given.clock)();
        let outcome = match outcome {
            Err(error) if !self.met && is_unreachable(error.kind) => return Err(error),
            outcome => outcome,
        };
        let took = outcome.as_ref().map_or_else(|error| error.took, |answer| answer.took);
        let secret = given.secret.expose_secret();
        let leak =
            outcome.as_ref().ok().and_then(|answer| leak(answer, made.hidden.as_deref(), secret));
        let ahead =
            outcome.as_ref().map_or(0, |answer| clock::ahead(&answer.headers, sent, received));
        let (label, reply) = (step.label, outcome.into());
        Ok(Exchange { label, is_repeat: false, reply, took, ahead, leak })
    }

    fn made_up(&self, check: &Check, at: usize) -> MadeUp {
        let id = format!("{ID_PREFIX}{}_{}_{}", self.given.run, check.id, at + 1);
        MadeUp { id, at: (self.given.clock)() }
    }
}

fn skipped(check: &'static Check, why: &str) -> Report {
    let found = why.to_owned();
    Report { check, outcome: Outcome::Skip, found, requests: 0, took: Duration::ZERO }
}

/// Whether there is nothing to judge.
fn is_unreachable(kind: SendErrorKind) -> bool {
    use SendErrorKind::{BadUrl, Connect, Dns, Proxy, Refused, Tls, Untrusted};
    matches!(kind, BadUrl | Dns | Refused | Connect | Proxy | Tls | Untrusted)
}

/// How long a receiver asks to wait; as long as can be where it does not say.
fn pause(exchange: &Exchange, now: SystemTime) -> Duration {
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let value = exchange.header(&RETRY_AFTER);
    let asked = exchange
        .status()
        .zip(value)
        .and_then(|(status, value)| retry_after(status, value.as_bytes(), now));
    asked.unwrap_or(Duration::MAX)
}
