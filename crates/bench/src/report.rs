//! What is printed.

use std::fmt::Write;
use std::num::NonZeroU32;

use serde::Serialize;

use crate::accounting::QUIET;

/// Everything that was measured.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    machine: String,
    rounds: NonZeroU32,
    measurements: Vec<Measurement>,
    comparisons: Vec<Comparison>,
    notes: Vec<String>,
}

/// One thing, measured by itself.
#[derive(Debug, Serialize)]
pub(crate) struct Measurement {
    pub(crate) benchmark: &'static str,
    pub(crate) what: String,
    /// Numbers with their units, medians over the rounds.
    pub(crate) values: Vec<(&'static str, f64)>,
    /// Cores that other programs kept busy: the worst round.
    pub(crate) foreign: f64,
}

/// Two things side by side.
#[derive(Debug, Serialize)]
pub(crate) struct Comparison {
    pub(crate) benchmark: &'static str,
    pub(crate) what: String,
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
    pub(crate) goal: Option<Goal>,
}

/// What a value should be.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

impl Goal {
    fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtLeast(least) => value >= least,
            Self::AtMost(most) => value <= most,
        }
    }

    fn text(self) -> String {
        match self {
            Self::AtLeast(least) => format!(">= {}", number(least)),
            Self::AtMost(most) => format!("<= {}", number(most)),
        }
    }
}

impl Report {
    pub(crate) fn new(machine: String, rounds: NonZeroU32) -> Self {
        Self {
            machine,
            rounds,
            measurements: Vec::new(),
            comparisons: Vec::new(),
            notes: Vec::new(),
        }
    }

    pub(crate) fn measured(&mut self, measurement: Measurement) {
        self.measurements.push(measurement);
    }

    pub(crate) fn compared(
        &mut self,
        benchmark: &'static str,
        what: impl Into<String>,
        (value, unit): (f64, &'static str),
        goal: Option<Goal>,
    ) {
        self.comparisons.push(Comparison { benchmark, what: what.into(), value, unit, goal });
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    pub(crate) fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("the report has text keys");
        text.push('\n');
        text
    }

    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text).expect("a string takes whatever is written to it");
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        writeln!(text, "{}; medians of {} rounds\n", self.machine, self.rounds)?;
        for Measurement { benchmark, what, values, foreign } in &self.measurements {
            write!(text, "{benchmark:<10} {what:<40}")?;
            for (unit, value) in values {
                write!(text, " {:>10} {unit}", number(*value))?;
            }
            let noisy = if *foreign > QUIET { " (not quiet)" } else { "" };
            writeln!(text, "  others {foreign:.2}{noisy}")?;
        }
        writeln!(text)?;
        for Comparison { benchmark, what, value, unit, goal } in &self.comparisons {
            write!(text, "{benchmark:<10} {what:<64} {:>8}{unit}", number(*value))?;
            match goal {
                Some(goal) => {
                    let met = if goal.is_met(*value) { "met" } else { "MISSED" };
                    writeln!(text, "  goal {:<8} {met}", goal.text())?;
                }
                None => writeln!(text)?,
            }
        }
        for note in &self.notes {
            writeln!(text, "\nnote: {note}")?;
        }
        Ok(())
    }
}

/// Three digits that matter, or all before the point.
fn number(value: f64) -> String {
    let decimals = if value.abs() >= 100.0 {
        0
    } else if value.abs() >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_shown_beside_its_value_and_judged() {
        let mut report = Report::new("here".into(), NonZeroU32::MIN);
        report.compared("a", "low enough", (1.999, "x"), Some(Goal::AtMost(2.0)));
        report.compared("a", "too low", (1.999, "x"), Some(Goal::AtLeast(2.0)));
        let text = report.to_text();
        let lines: Vec<_> = text.lines().filter(|line| line.starts_with('a')).collect();
        assert!(lines[0].ends_with("met") && lines[0].contains("<= 2.00"), "{text}");
        assert!(lines[1].ends_with("MISSED") && lines[1].contains(">= 2.00"), "{text}");
        assert!(report.to_json().contains("\"at_most\": 2.0"));
    }
}
