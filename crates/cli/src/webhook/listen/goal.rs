//! What a run is for, and whether it came: `--count`, `--expect`, `--expect-every`.

use std::time::Duration;

use super::expect::Expect;
use super::happened::Delivered;
use super::tally::plural;
use super::text::took;
use crate::error::CliError;
use crate::exit::Exit;

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// A signal.
    Stopped,
    /// All that was asked for came.
    Met,
    /// The time is over.
    TimedOut,
    /// Standard input ended.
    StdinEof,
    /// No delivery for as long as there may be none.
    Silence,
    /// What it polls cannot be polled any more.
    PollEnded,
    /// A delivery was not what every one is to be.
    Missed,
}

impl End {
    /// Every end there is, and their names in JSON, which never change.
    pub(crate) const ALL: [(Self, &str); 7] = [
        (Self::Stopped, "signal"),
        (Self::Met, "met"),
        (Self::TimedOut, "timeout"),
        (Self::StdinEof, "stdin_eof"),
        (Self::Silence, "silence"),
        (Self::PollEnded, "poll_ended"),
        (Self::Missed, "missed"),
    ];

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        let known = Self::ALL.iter().find(|(known, _)| *known == self);
        known.map(|(_, name)| *name).expect("every end has a name")
    }
}

/// What a run is for, and how much of it came.
#[derive(Debug, Default)]
pub(crate) struct Goal {
    count: Option<u64>,
    some: Vec<Wanted>,
    /// What every delivery is to be.
    every: Vec<Expect>,
    /// How long there may be none.
    within: Option<Duration>,
    came: u64,
    refused: u64,
    /// The delivery that was not what every one is to be, and why.
    missed: Option<String>,
}

/// What some delivery is to be.
#[derive(Debug)]
struct Wanted {
    expect: Expect,
    is_met: bool,
    /// How the last one that was looked at was not so.
    last: Option<String>,
}

/// Something that was asked for, and whether it came.
#[derive(Clone, Debug)]
pub(crate) struct Met {
    pub(crate) what: String,
    pub(crate) met: bool,
}

impl Goal {
    pub(crate) fn new(
        count: Option<u64>,
        some: Vec<Expect>,
        every: Vec<Expect>,
        within: Option<Duration>,
    ) -> Self {
        let some = some.into_iter().map(|expect| Wanted { expect, is_met: false, last: None });
        Self { count, some: some.collect(), every, within, ..Self::default() }
    }

    /// A delivery came. Says whether the run ends with it.
    pub(crate) fn came(&mut self, told: &Delivered) -> Option<End> {
        let refused = told.capture.outcome.as_ref().is_some_and(|outcome| outcome.is_refusal());
        self.came += u64::from(!refused);
        self.refused += u64::from(refused);
        for wanted in self.some.iter_mut().filter(|wanted| !wanted.is_met) {
            // Anybody can send what is refused: it is what was expected only where that was its verdict.
            if refused && !wanted.expect.names("verdict") {
                continue;
            }
            wanted.last = wanted.expect.differs(told);
            wanted.is_met = wanted.last.is_none();
        }
        let missed = self.every.iter().find_map(|expect| {
            let differs = expect.differs(told)?;
            Some(format!("`--expect-every '{}'`: {}: {differs}", expect.text(), named(told)))
        });
        // What comes after the first is told of as well, and mends nothing.
        self.missed = self.missed.take().or(missed);
        if self.missed.is_some() {
            return Some(End::Missed);
        }
        let enough = match self.count {
            Some(count) => self.came >= count,
            None => !self.some.is_empty() && self.some.iter().all(|wanted| wanted.is_met),
        };
        enough.then_some(End::Met)
    }

    /// What was asked for, and whether it came by the end.
    pub(crate) fn met(&self, end: End) -> Vec<Met> {
        let count =
            self.count.map(|count| Met { what: format!("count {count}"), met: self.came >= count });
        let some = self.some.iter().map(|wanted| {
            let what = wanted.expect.text().to_owned();
            Met { what, met: wanted.is_met }
        });
        let every = (!self.every.is_empty())
            .then(|| Met { what: "every".to_owned(), met: self.missed.is_none() });
        let silence = (end == End::Silence).then(|| Met { what: "within".to_owned(), met: false });
        count.into_iter().chain(some).chain(every).chain(silence).collect()
    }

    /// How the run ends: well, or with everything that did not come.
    pub(crate) fn outcome(&self, end: End) -> Result<(), CliError> {
        let mut missing: Vec<String> = self.missed.iter().cloned().collect();
        if let Some(within) = self.within.filter(|_| end == End::Silence) {
            missing.push(format!("`--expect-within`: no delivery came for {}", took(within)));
        }
        if let Some(count) = self.count.filter(|count| self.came < *count) {
            let came = plural(self.came, "delivery");
            missing.push(format!("`--count {count}`: {came} came{}", self.and_refused()));
        }
        missing.extend(self.some.iter().filter(|wanted| !wanted.is_met).map(|wanted| {
            let how = wanted.last.as_deref().map_or(String::new(), |last| format!(": {last}"));
            let of = match self.came {
                0 if wanted.last.is_some() => format!("the last that was refused is not so{how}"),
                0 => format!("no delivery came{}", self.and_refused()),
                1 => format!("the one that came is not so{how}"),
                came => format!("none of the {came} that came is so; the last{how}"),
            };
            format!("`--expect '{}'`: {of}", wanted.expect.text())
        }));
        if missing.is_empty() {
            return Ok(());
        }
        let error = CliError::new(Exit::Unmet, "not all that was expected came");
        Err(missing.into_iter().fold(error, CliError::cause))
    }

    /// What came and does not count, in words.
    fn and_refused(&self) -> String {
        match self.refused {
            0 => String::new(),
            refused => format!(", and {refused} that the listener refused"),
        }
    }
}

/// A delivery by what people know it by.
fn named(told: &Delivered) -> String {
    match (told.capture.number, &told.capture.received.submission_id) {
        (_, Some(id)) => format!("the delivery of {id}"),
        (Some(number), None) => format!("the capture {number}"),
        (None, None) => "a delivery".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook::capture::AnsweredBy;
    use crate::webhook::listen::expect::expect;
    use crate::webhook::listen::samples::{BODY, Sample};

    fn goal(count: Option<u64>, some: &[&str], every: &[&str]) -> Goal {
        let read = |texts: &[&str]| texts.iter().map(|text| expect(text).unwrap()).collect();
        Goal::new(count, read(some), read(every), Some(Duration::from_secs(5)))
    }

    fn answered(status: u16) -> Delivered {
        Sample::of(BODY).answered(Some(status), AnsweredBy::Target).told()
    }

    #[test]
    fn a_run_ends_with_what_it_is_for() {
        let mut nothing = goal(None, &[], &[]);
        assert_eq!(nothing.came(&answered(500)), None);
        assert!(nothing.outcome(End::Stopped).is_ok() && nothing.outcome(End::TimedOut).is_ok());
        let mut two = goal(Some(2), &[], &[]);
        assert_eq!((two.came(&answered(500)), two.outcome(End::Stopped).is_ok()), (None, false));
        assert_eq!(two.came(&answered(500)), Some(End::Met));
        assert!(two.outcome(End::Met).is_ok());
        let mut each = goal(None, &[], &["status=200"]);
        assert_eq!(each.came(&answered(500)), Some(End::Missed));
        each.came(&answered(200));
        assert!(each.outcome(End::Missed).is_err(), "what comes after it mends nothing");
        let mut both = goal(None, &["status=503", "status=200"], &[]);
        assert_eq!(both.came(&answered(200)), None);
        assert_eq!(both.came(&answered(503)), Some(End::Met));
        let mut one_of = goal(Some(1), &["status=200"], &[]);
        assert_eq!(one_of.came(&answered(503)), Some(End::Met), "the count is over");
        let told = one_of.outcome(End::Met).unwrap_err().told();
        let why = "`--expect 'status=200'`: the one that came is not so: its `status` is 503";
        assert!(told.contains(why), "{told}");
    }

    #[test]
    fn one_that_every_one_should_not_be_ends_it() {
        let mut every = goal(Some(9), &[], &["status<300"]);
        assert_eq!(every.came(&answered(200)), None);
        let end = every.came(&answered(503)).unwrap();
        let told = every.outcome(end).unwrap_err().told();
        let why = "`--expect-every 'status<300'`: the delivery of sub_1: its `status` is 503";
        assert!(told.contains(why) && told.contains("`--count 9`: 2 deliveries came"), "{told}");
        let met: Vec<_> = every.met(end).into_iter().map(|met| (met.what, met.met)).collect();
        assert_eq!(met, [("count 9".to_owned(), false), ("every".to_owned(), false)]);
    }

    #[test]
    fn silence_is_a_failure() {
        let told = goal(None, &[], &[]).outcome(End::Silence).unwrap_err();
        assert_eq!(told.exit, Exit::Unmet);
        assert!(told.told().contains("`--expect-within`: no delivery came for 5.0s"));
    }

    #[test]
    fn what_did_not_come_is_told_by_what_came() {
        let unmet = |deliveries: &[(u16, AnsweredBy)], expect: &str| {
            let mut goal = goal(None, &[expect], &[]);
            for (status, by) in deliveries {
                goal.came(&Sample::of(BODY).answered(Some(*status), *by).told());
            }
            goal.outcome(End::Stopped).unwrap_err().told()
        };
        let (target, listener) = (AnsweredBy::Target, AnsweredBy::Listener);
        for (deliveries, expect, why) in [
            (&[][..], "event=form.x", "no delivery came"),
            (
                &[(401, listener)],
                "event=form.x",
                "no delivery came, and 1 that the listener refused",
            ),
            (
                &[(401, listener)],
                "verdict=valid && status=200",
                "the last that was refused is not so: its `status` is 401",
            ),
            (
                &[(500, target), (503, target)],
                "status<300",
                "none of the 2 that came is so; the last: its `status` is 503",
            ),
        ] {
            let told = unmet(deliveries, expect);
            assert!(told.contains(&format!("`--expect '{expect}'`: {why}")), "{told}");
        }
    }
}
