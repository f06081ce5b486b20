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
        self.came += 1;
        for (expect, met) in &mut self.some {
            *met = *met || expect.is_met_by(told);
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
