//! What a run is for, and whether it came: `--count`, `--expect`, `--expect-every`.

use super::expect::Expect;
use super::happened::Delivered;
use super::tally::plural;
use crate::error::CliError;
use crate::exit::Exit;

/// Why a run ended. The name never changes: NDJSON has it.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// A delivery was not what every one is to be; and which, and why.
    Missed(String),
}

impl End {
    /// Its name.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Stopped => "signal",
            Self::Met => "met",
            Self::TimedOut => "timeout",
            Self::StdinEof => "stdin_eof",
            Self::Silence => "silence",
            Self::Missed(_) => "missed",
        }
    }
}

/// What a run is for.
#[derive(Debug, Default)]
pub(crate) struct Goal {
    count: Option<u64>,
    /// What some delivery is to be, and whether one was.
    some: Vec<(Expect, bool)>,
    /// What every delivery is to be.
    every: Vec<Expect>,
    came: u64,
}

/// Something that was asked for, and whether it came.
#[derive(Clone, Debug)]
pub(crate) struct Met {
    pub(crate) what: String,
    pub(crate) met: bool,
}

impl Goal {
    pub(crate) fn new(count: Option<u64>, some: Vec<Expect>, every: Vec<Expect>) -> Self {
        let some = some.into_iter().map(|expect| (expect, false)).collect();
        Self { count, some, every, came: 0 }
    }

    /// A delivery came. Says whether the run ends with it.
    pub(crate) fn came(&mut self, told: &Delivered) -> Option<End> {
        let refused = told.capture.outcome.as_ref().is_some_and(|outcome| outcome.is_refusal());
        self.came += u64::from(!refused);
        for (expect, met) in &mut self.some {
            // Anybody can send what is refused: it is what was expected only where that was its verdict.
            let counts = !refused || expect.names("verdict");
            *met = *met || counts && expect.is_met_by(told);
        }
        let missed = self.every.iter().find_map(|expect| {
            let differs = expect.differs(told)?;
            Some(format!("`--expect-every '{}'`: {}: {differs}", expect.text(), named(told)))
        });
        if let Some(missed) = missed {
            return Some(End::Missed(missed));
        }
        let enough = match self.count {
            Some(count) => self.came >= count,
            None => !self.some.is_empty() && self.some.iter().all(|(_, met)| *met),
        };
        enough.then_some(End::Met)
    }

    /// What was asked for, and whether it came by the end.
    pub(crate) fn met(&self, end: &End) -> Vec<Met> {
        let count =
            self.count.map(|count| Met { what: format!("count {count}"), met: self.came >= count });
        let some =
            self.some.iter().map(|(expect, met)| Met { what: expect.text().to_owned(), met: *met });
        let missed = matches!(end, End::Missed(_));
        let every =
            (!self.every.is_empty()).then(|| Met { what: "every".to_owned(), met: !missed });
        let silence = (*end == End::Silence).then(|| Met { what: "within".to_owned(), met: false });
        count.into_iter().chain(some).chain(every).chain(silence).collect()
    }

    /// How the run ends: well, or with everything that did not come.
    pub(crate) fn outcome(&self, end: &End) -> Result<(), CliError> {
        let mut missing = Vec::new();
        if let End::Missed(what) = end {
            missing.push(what.clone());
        }
        if *end == End::Silence {
            missing.push("`--expect-within`: no delivery came for that long".to_owned());
        }
        if let Some(count) = self.count.filter(|count| self.came < *count) {
            let came = plural(self.came, "delivery");
            missing.push(format!("`--count {count}`: {came} came"));
        }
        missing.extend(self.some.iter().filter(|(_, met)| !met).map(|(expect, _)| {
            let of = match self.came {
                0 => "no delivery came".to_owned(),
                1 => "the one that came is not so".to_owned(),
                came => format!("none of the {came} that came is so"),
            };
            format!("`--expect '{}'`: {of}", expect.text())
        }));
        if missing.is_empty() {
            return Ok(());
        }
        let error = CliError::new(Exit::Unmet, "not all that was expected came");
        Err(missing.into_iter().fold(error, CliError::cause))
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
        Goal::new(count, read(some), read(every))
    }

    fn answered(status: u16) -> Delivered {
        Sample::of(BODY).answered(Some(status), AnsweredBy::Target).told()
    }

    #[test]
    fn a_run_ends_with_what_it_is_for() {
        let mut nothing = goal(None, &[], &[]);
        assert_eq!(nothing.came(&answered(500)), None);
        assert!(nothing.outcome(&End::Stopped).is_ok() && nothing.outcome(&End::TimedOut).is_ok());
        let mut two = goal(Some(2), &[], &[]);
        assert_eq!((two.came(&answered(500)), two.outcome(&End::Stopped).is_ok()), (None, false));
        assert_eq!(two.came(&answered(500)), Some(End::Met));
        assert!(two.outcome(&End::Met).is_ok());
        let mut both = goal(None, &["status=503", "status=200"], &[]);
        assert_eq!(both.came(&answered(200)), None);
        assert_eq!(both.came(&answered(503)), Some(End::Met));
        let mut one_of = goal(Some(1), &["status=200"], &[]);
        assert_eq!(one_of.came(&answered(503)), Some(End::Met), "the count is over");
        let told = one_of.outcome(&End::Met).unwrap_err().told();
        assert!(told.contains("`--expect 'status=200'`: the one that came is not so"), "{told}");
    }

    #[test]
    fn one_that_every_one_should_not_be_ends_it() {
        let mut every = goal(Some(9), &[], &["status<300"]);
        assert_eq!(every.came(&answered(200)), None);
        let end = every.came(&answered(503)).unwrap();
        let told = every.outcome(&end).unwrap_err().told();
        let why = "`--expect-every 'status<300'`: the delivery of sub_1: its `status` is 503";
        assert!(told.contains(why) && told.contains("`--count 9`: 2 deliveries came"), "{told}");
        let met: Vec<_> = every.met(&end).into_iter().map(|met| (met.what, met.met)).collect();
        assert_eq!(met, [("count 9".to_owned(), false), ("every".to_owned(), false)]);
    }

    #[test]
    fn silence_is_a_failure() {
        let told = goal(None, &[], &[]).outcome(&End::Silence).unwrap_err();
        assert_eq!(told.exit, Exit::Unmet);
    }
}
