//! The goal of a run: a number of deliveries, and conditions on them. The functions are pure: the caller passes the
//! time.
//!
//! A delivery is *rejected* if the listener itself answered it with an error.

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::delivery::{Delivery, Response};
use crate::filter::DeliveryFilter;

/// The reason why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// A signal stopped the run.
    Stopped,
    /// [`GoalOptions::count`] deliveries arrived; without a count, every condition of
    /// [`GoalOptions::expect`] is met.
    Met,
    /// The time limit of the run expired.
    TimedOut,
    /// No delivery arrived within the time of [`GoalOptions::expect_within`].
    Silence,
    /// Polling cannot continue.
    PollEnded,
    /// A delivery does not match [`GoalOptions::expect_every`].
    Mismatch,
}

/// A condition with the text that it was parsed from.
#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
    filter: DeliveryFilter,
}

/// The goal of a run. The default has no conditions: it never ends a run and is always met.
///
/// Anyone can send an unsigned request. A rejected delivery therefore neither counts nor restarts the time of
/// `expect_within`, and is checked only against conditions on the verdict.
#[derive(Clone, Debug, Default)]
pub struct GoalOptions {
    /// Ends the run after this many deliveries.
    pub count: Option<u64>,
    /// Conditions, each of which must match at least one delivery.
    pub expect: Vec<Expression>,
    /// Conditions, each of which must match every delivery. The first mismatch ends the run.
    pub expect_every: Vec<Expression>,
    /// Ends the run after this time without a delivery.
    pub expect_within: Option<Duration>,
}

/// A goal and the progress towards it.
#[derive(Debug)]
pub struct Goal {
    options: GoalOptions,
    /// One entry for each condition in [`GoalOptions::expect`].
    progress: Vec<Progress>,
    /// Deliveries that were not rejected.
    arrived: u64,
    rejected: u64,
    /// The first mismatch with [`GoalOptions::expect_every`].
    mismatch: Option<String>,
    /// Arrival of the last delivery that was not rejected, or the start of the run.
    last_arrival: Instant,
}

#[derive(Clone, Debug, Default)]
struct Progress {
    is_met: bool,
    /// Why the last checked delivery did not match; `None` if it matched.
    mismatch: Option<String>,
}

/// One part of a goal, and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Expectation {
    /// `count 3`, `expect status=200`, `expect-every valid=true` or `expect-within 5s`.
    pub text: String,
    pub met: bool,
    /// Why this part is not met; `None` if it is.
    pub reason: Option<String>,
}

impl Ended {
    /// All values with their names in JSON.
    pub const ALL: [(Self, &str); 6] = [
        (Self::Stopped, "signal"),
        (Self::Met, "met"),
        (Self::TimedOut, "timeout"),
        (Self::Silence, "silence"),
        (Self::PollEnded, "poll_ended"),
        (Self::Mismatch, "mismatch"),
    ];

    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(value, _)| *value == self).expect("every value has a name").1
    }
}

impl Expression {
    /// Parses a condition with [`DeliveryFilter::parse`].
    ///
    /// # Errors
    /// Returns the rule that the text violates.
    pub fn parse(text: &str) -> Result<Self, String> {
        Ok(Self { text: text.trim().to_owned(), filter: DeliveryFilter::parse(text)? })
    }

    /// Returns true if a delivery is checked against this condition: see [`GoalOptions`].
    fn considers(&self, is_rejected: bool) -> bool {
        !is_rejected || self.filter.is_about_verdict()
    }
}

impl Goal {
    pub fn new(options: GoalOptions, now: Instant) -> Self {
        let progress = vec![Progress::default(); options.expect.len()];
        Self { options, progress, arrived: 0, rejected: 0, mismatch: None, last_arrival: now }
    }

    /// Updates the progress with an answered delivery. Returns the reason if this delivery ends the run.
    pub fn observe(&mut self, delivery: &Delivery, now: Instant) -> Option<Ended> {
        let response = delivery.summary.response.as_ref();
        let is_rejected = response.is_some_and(Response::is_rejection);
        if is_rejected {
            self.rejected += 1;
        } else {
            self.arrived += 1;
            self.last_arrival = now;
        }
        for (expression, progress) in self.options.expect.iter().zip(&mut self.progress) {
            if !progress.is_met && expression.considers(is_rejected) {
                progress.mismatch = expression.filter.mismatch(delivery);
                progress.is_met = progress.mismatch.is_none();
            }
        }
        if self.mismatch.is_none() {
            let mut expressions = self.options.expect_every.iter();
            self.mismatch = expressions.find_map(|expression| {
                if !expression.considers(is_rejected) {
                    return None;
                }
                let mismatch = expression.filter.mismatch(delivery)?;
                Some(format!("{} does not match: {mismatch}", described(delivery)))
            });
        }
        if self.mismatch.is_some() {
            return Some(Ended::Mismatch);
        }
        let is_met = match self.options.count {
            Some(count) => self.arrived >= count,
            None => !self.progress.is_empty() && self.progress.iter().all(|one| one.is_met),
        };
        is_met.then_some(Ended::Met)
    }

    /// Returns the time at which the run ends with [`Ended::Silence`] unless a delivery arrives before that.
    pub fn deadline(&self) -> Option<Instant> {
        self.last_arrival.checked_add(self.options.expect_within?)
    }

    /// Returns all parts of the goal at the end of the run.
    pub fn result(&self, ended: Ended) -> Vec<Expectation> {
        let GoalOptions { count, expect, expect_every, expect_within } = &self.options;
        let mut result = Vec::new();
        let mut add = |text, reason: Option<String>| {
            result.push(Expectation { text, met: reason.is_none(), reason });
        };
        // A mismatch is the reason why other parts are not met.
        if !expect_every.is_empty() {
            let texts: Vec<_> = expect_every.iter().map(|one| one.text.as_str()).collect();
            add(format!("expect-every {}", texts.join(" && ")), self.mismatch.clone());
        }
        if let Some(count) = count {
            let reason = (self.arrived < *count).then(|| self.arrivals());
            add(format!("count {count}"), reason);
        }
        for (expression, progress) in expect.iter().zip(&self.progress) {
            let reason = (!progress.is_met).then(|| match &progress.mismatch {
                Some(mismatch) => {
                    format!("{}; the last one does not match: {mismatch}", self.arrivals())
                }
                None => self.arrivals(),
            });
            add(format!("expect {}", expression.text), reason);
        }
        if let Some(within) = expect_within {
            let reason =
                (ended == Ended::Silence).then(|| format!("no delivery arrived for {within:?}"));
            add(format!("expect-within {within:?}"), reason);
        }
        result
    }

    fn arrivals(&self) -> String {
        let arrived = match (self.arrived, self.rejected) {
            (0, 0) => return "no delivery arrived".to_owned(),
            (0, _) => "no accepted delivery".to_owned(),
            (1, _) => "1 delivery arrived".to_owned(),
            (arrived, _) => format!("{arrived} deliveries arrived"),
        };
        match self.rejected {
            0 => arrived,
            rejected => format!("{arrived}; {rejected} rejected by the listener"),
        }
    }
}

fn described(delivery: &Delivery) -> String {
    let summary = &delivery.summary;
    match (summary.number, &summary.names.submission_id) {
        (_, Some(id)) => format!("the delivery of `{id}`"),
        (Some(number), None) => format!("capture {number}"),
        (None, None) => "a delivery".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;
    use crate::delivery::AnsweredBy;
    use crate::verdict::VerdictCode;

    const WITHIN: Duration = Duration::from_secs(5);

    fn goal(count: Option<u64>, expect: &[&str], expect_every: &[&str]) -> Goal {
        let parse =
            |texts: &[&str]| texts.iter().map(|text| Expression::parse(text).unwrap()).collect();
        let (expect, expect_every) = (parse(expect), parse(expect_every));
        let options = GoalOptions { count, expect, expect_every, expect_within: Some(WITHIN) };
        Goal::new(options, Instant::now())
    }

    fn answered(status: u16, answered_by: AnsweredBy) -> Delivery {
        let mut delivery = samples::delivery();
        let response = delivery.summary.response.as_mut().unwrap();
        (response.status, response.answered_by) = (Some(status), answered_by);
        delivery
    }

    fn observe(goal: &mut Goal, status: u16) -> Option<Ended> {
        goal.observe(&answered(status, AnsweredBy::Target), Instant::now())
    }

    /// Returns the reasons of the parts that are not met.
    fn reasons(goal: &Goal, ended: Ended) -> Vec<String> {
        goal.result(ended).into_iter().filter_map(|one| one.reason).collect()
    }

    #[test]
    fn count_ends_the_run() {
        let mut goal = goal(Some(2), &["status=500"], &[]);
        assert_eq!(observe(&mut goal, 503), None);
        goal.observe(&answered(401, AnsweredBy::Listener), Instant::now());
        let count = "1 delivery arrived; 1 rejected by the listener";
        let status = format!("{count}; the last one does not match: its `status` is 503");
        assert_eq!(reasons(&goal, Ended::Stopped), [count.to_owned(), status]);
        assert_eq!(observe(&mut goal, 503), Some(Ended::Met));
        let result = goal.result(Ended::Met);
        let result: Vec<_> = result.iter().map(|one| (one.text.as_str(), one.met)).collect();
        let expected =
            [("count 2", true), ("expect status=500", false), ("expect-within 5s", true)];
        assert_eq!(result, expected);
    }

    #[test]
    fn run_without_goal_never_ends_and_is_met() {
        let mut goal = Goal::new(GoalOptions::default(), Instant::now());
        assert_eq!((observe(&mut goal, 500), goal.deadline()), (None, None));
        assert_eq!(goal.result(Ended::TimedOut), []);
    }

    #[test]
    fn expectations_are_met_in_any_order() {
        let mut goal = goal(None, &["status=503", "status=200"], &[]);
        assert_eq!(observe(&mut goal, 200), None);
        assert_eq!(observe(&mut goal, 503), Some(Ended::Met));
        assert!(goal.result(Ended::Met).iter().all(|one| one.met));
    }

    #[test]
    fn first_mismatch_ends_the_run_and_is_kept() {
        let mut goal = goal(Some(9), &[], &["status<300"]);
        assert_eq!(observe(&mut goal, 200), None);
        assert_eq!(observe(&mut goal, 503), Some(Ended::Mismatch));
        assert_eq!(observe(&mut goal, 200), Some(Ended::Mismatch));
        let mismatch = "the delivery of `sub_1` does not match: its `status` is 503";
        assert_eq!(reasons(&goal, Ended::Mismatch), [mismatch, "3 deliveries arrived"]);
    }

    /// Returns a delivery with an invalid signature, which the listener answered with 401.
    fn rejected() -> Delivery {
        let mut delivery = answered(401, AnsweredBy::Listener);
        delivery.summary.verdict.code = VerdictCode::SignatureMismatch;
        delivery
    }

    #[test]
    fn rejected_delivery_meets_only_conditions_on_the_verdict() {
        for (text, met) in [("status=401", false), ("verdict!=valid", true), ("valid=false", true)]
        {
            let mut goal = goal(None, &[text], &[]);
            assert_eq!(goal.observe(&rejected(), Instant::now()).is_some(), met, "{text}");
        }
    }

    #[test]
    fn rejected_delivery_fails_only_conditions_on_the_verdict() {
        for (text, ended) in [("status<300", None), ("valid=true", Some(Ended::Mismatch))] {
            let mut goal = goal(None, &[], &[text]);
            assert_eq!(goal.observe(&rejected(), Instant::now()), ended, "{text}");
        }
    }

    #[test]
    fn rejected_delivery_does_not_move_the_deadline() {
        let mut goal = goal(None, &[], &[]);
        let deadline = goal.deadline();
        goal.observe(&rejected(), Instant::now() + WITHIN);
        assert_eq!(goal.deadline(), deadline);
    }

    #[test]
    fn each_delivery_moves_the_deadline() {
        let mut goal = goal(None, &[], &[]);
        let now = Instant::now() + WITHIN;
        goal.observe(&answered(200, AnsweredBy::Target), now);
        assert_eq!(goal.deadline(), Some(now + WITHIN));
        assert_eq!(reasons(&goal, Ended::Silence), ["no delivery arrived for 5s"]);
        assert!(reasons(&goal, Ended::Stopped).is_empty());
    }
}
