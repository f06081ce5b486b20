//! Table of one comparison: every value as minimum, median and maximum over the rounds.

use std::fmt::{self, Display};
use std::fs;

/// Values of one comparison, one per round.
pub(crate) struct Report {
    title: &'static str,
    measurements: Vec<Line>,
    ratios: Vec<Line>,
    notes: Vec<String>,
}

struct Line {
    subject: String,
    unit: &'static str,
    values: Vec<f64>,
    goal: Option<Goal>,
}

/// Value that a ratio should reach. It is printed, not enforced.
#[derive(Clone, Copy)]
pub(crate) enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

impl Report {
    pub(crate) fn new(title: &'static str) -> Self {
        Self { title, measurements: Vec::new(), ratios: Vec::new(), notes: Vec::new() }
    }

    /// Adds the value of one round.
    pub(crate) fn add(&mut self, subject: &str, unit: &'static str, value: f64) {
        let known = |line: &&mut Line| line.subject == subject && line.unit == unit;
        if let Some(line) = self.measurements.iter_mut().find(known) {
            line.values.push(value);
        } else {
            let (subject, values) = (subject.to_owned(), vec![value]);
            self.measurements.push(Line { subject, unit, values, goal: None });
        }
    }

    /// Adds the ratio of two subjects, taken round by round. Does nothing if one was not measured.
    pub(crate) fn compare(
        &mut self,
        subject: &str,
        other: &str,
        unit: &'static str,
        goal: Option<Goal>,
    ) {
        let find = |name: &str| {
            self.measurements.iter().find(|line| line.subject == name && line.unit == unit)
        };
        let Some((numerator, denominator)) = find(subject).zip(find(other)) else { return };
        let pairs = numerator.values.iter().zip(&denominator.values);
        let values = pairs.map(|(value, other)| value / other).collect();
        let subject = format!("{subject} / {other}");
        self.ratios.push(Line { subject, unit, values, goal });
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [min, median, max] = ["min", "median", "max"];
        writeln!(f, "{:<60} {:<14} {min:>9} {median:>9} {max:>9}", self.title, "")?;
        let mut previous = "";
        for line in self.measurements.iter().chain(&self.ratios) {
            // The name of a subject is written once, beside its first value.
            let subject = if line.subject == previous { "" } else { &line.subject };
            writeln!(f, "  {subject:<58} {line}")?;
            previous = &line.subject;
        }
        for note in &self.notes {
            writeln!(f, "  note: {note}")?;
        }
        Ok(())
    }
}

impl Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<14}", self.unit)?;
        for value in min_median_max(&self.values) {
            write!(f, " {:>9}", format_number(value))?;
        }
        match self.goal {
            Some(Goal::AtLeast(goal)) => write!(f, "  goal >= {goal}"),
            Some(Goal::AtMost(goal)) => write!(f, "  goal <= {goal}"),
            None => Ok(()),
        }
    }
}

fn min_median_max(values: &[f64]) -> [f64; 3] {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (Some(min), Some(max)) = (sorted.first(), sorted.last()) else { return [f64::NAN; 3] };
    let middle = sorted.len() / 2;
    let median = f64::midpoint(sorted[middle], sorted[(sorted.len() - 1) / 2]);
    [*min, median, *max]
}

/// Formats three significant digits, or all digits before the point.
fn format_number(value: f64) -> String {
    let decimals = match value.abs() {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

/// Describes the machine in one line: processor, cores, kernel, load and profile of this program.
pub(crate) fn describe_machine() -> String {
    let cpu_info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu_info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let model = model.map_or("unknown processor", |(_, name)| name.trim());
    let cores = cpu_info.lines().filter(|line| line.starts_with("processor")).count();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("unknown");
    let profile =
        if cfg!(debug_assertions) { ". DEBUG BUILD: the figures mean nothing" } else { "" };
    format!("{model}, {cores} cores, Linux {}, load average {load}{profile}\n", kernel.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(values: &[f64]) -> String {
        let mut report = Report::new("test");
        for value in values {
            report.add("a", "rows/s", *value);
        }
        let text = report.to_string();
        let line = text.lines().nth(1).unwrap();
        line.split_ascii_whitespace().skip(2).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn rounds_are_shown_as_min_median_max() {
        assert_eq!(numbers(&[3.0, 900.0, 1.0]), "1.00 3.00 900");
        assert_eq!(numbers(&[1.0, 3.0]), "1.00 2.00 3.00");
        assert_eq!(numbers(&[12.34]), "12.3 12.3 12.3");
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        let mut report = Report::new("test");
        for (subject, other) in [(2.0, 1.0), (8.0, 2.0), (30.0, 10.0)] {
            report.add("a", "rows/s", subject);
            report.add("b", "rows/s", other);
        }
        report.compare("a", "b", "rows/s", Some(Goal::AtLeast(2.5)));
        report.compare("a", "not measured", "rows/s", None);
        let text = report.to_string();
        assert!(text.contains("2.00      3.00      4.00  goal >= 2.5"), "{text}");
        assert_eq!(text.lines().count(), 4, "{text}");
    }
}
