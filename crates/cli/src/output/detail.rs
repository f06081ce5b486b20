//! Text blocks for people: one submission with complete answers, and the results of checks.

use std::borrow::Cow;
use std::fmt::Write;

use unicode_width::UnicodeWidthStr;

use super::paint::TextStyle;
use super::table::View;
use crate::base::sanitize::one_line;
use crate::base::text::wrap;

/// Indentation of text below its label.
const INDENT: &str = "    ";
/// Largest width of a line. Longer lines are hard to read.
const LINE_MAX: usize = 100;

/// The contents of a submission or a delivery.
#[derive(Debug)]
pub(crate) struct Detail<'a> {
    /// Properties that are not answers.
    pub(crate) own: Vec<(&'a str, &'a str)>,
    /// Labels and answers, not yet sanitized.
    pub(crate) answers: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

/// The result of a check.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finding<'a> {
    /// A word of a closed set, which has a colour.
    pub(crate) outcome: &'a str,
    pub(crate) name: &'a str,
    pub(crate) found: &'a str,
    pub(crate) hint: Option<&'a str>,
}

impl Detail<'_> {
    pub(super) fn text(&self, view: View<'_>) -> String {
        let mut lines = Vec::new();
        for (name, value) in &self.own {
            let time = view.times.and_then(|times| times.format(value));
            let time = time.map_or(String::new(), |time| format!(" ({time})"));
            let label = name.width() + 2;
            let value = view.wrap_beside(&format!("{}{time}", one_line(value)), label);
            let value = value.join(&format!("\n{:label$}", ""));
            lines.push(format!("{} {value}", view.paint.put(TextStyle::Dim, &format!("{name}:"))));
        }
        if !self.own.is_empty() {
            lines.push(String::new());
        }
        let width = line_width(view);
        for (label, value) in &self.answers {
            let label = format!("{}:", one_line(label));
            let painted = view.paint.put(TextStyle::Heading, &label);
            let (value, line) = (value.trim_end(), one_line(value));
            if !value.contains(['\n', '\r']) && label.width() + 1 + line.width() <= width {
                lines.push(format!("{painted} {}", line.trim_end()));
                continue;
            }
            lines.push(painted);
            let paragraphs = value.lines().map(one_line);
            let wrapped =
                paragraphs.flat_map(|text| wrap(&text, width.saturating_sub(INDENT.len())));
            lines.extend(wrapped.map(|line| format!("{INDENT}{line}")));
        }
        lines.join("\n") + "\n"
    }
}

fn line_width(view: View<'_>) -> usize {
    view.width.map_or(LINE_MAX, |width| width.min(LINE_MAX))
}

/// Formats each finding: the outcome, the text beside it, and the hint below the text. The last line contains the
/// count of each outcome, in the order of `outcomes`.
pub(super) fn findings(findings: &[Finding<'_>], outcomes: &[&str], view: View<'_>) -> String {
    let column = outcomes.iter().map(|word| word.width()).max().unwrap_or(0) + 2;
    let width = line_width(view).saturating_sub(column);
    let mut text = String::new();
    for finding in findings {
        let outcome = format!("{:column$}", finding.outcome);
        text += &view.paint.put(TextStyle::for_word(finding.outcome), &outcome);
        let found = format!("{}: {}", finding.name, one_line(finding.found));
        let hint = finding.hint.map(|hint| format!("hint: {}", one_line(hint)));
        let lines = [Some(found), hint].into_iter().flatten().flat_map(|text| wrap(&text, width));
        text += &lines.collect::<Vec<_>>().join(&format!("\n{:column$}", ""));
        text.push('\n');
    }
    let counts = outcomes.iter().map(|outcome| {
        let count = findings.iter().filter(|finding| finding.outcome == *outcome).count();
        let style = if count == 0 { TextStyle::Dim } else { TextStyle::for_word(outcome) };
        view.paint.put(style, &format!("{count} {outcome}"))
    });
    // A write to memory succeeds.
    let _ = writeln!(text, "\n{}", counts.collect::<Vec<_>>().join(", "));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::paint::Paint;

    fn view(width: usize, paint: bool) -> View<'static> {
        View { width: Some(width), paint: Paint(paint), times: None }
    }

    #[test]
    fn long_text_keeps_line_breaks_and_is_sanitized() {
        let detail = Detail {
            own: vec![("id", "sub_1")],
            answers: vec![
                ("Name".into(), "Zoë\u{1b}[2J".into()),
                ("A\u{202e}b".into(), "first line\n\nsecond \u{9b}8m one\r\n".into()),
                ("Gone".into(), "".into()),
            ],
        };
        let shown = detail.text(view(20, false));
        let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
        assert_eq!(
            lines,
            [
                "id: sub_1",
                "",
                "Name: Zoë[2J",
                "Ab:",
                "    first line",
                "",
                "    second 8m one",
                "Gone:"
            ]
        );
    }

    #[test]
    fn findings_are_wrapped_and_counted() {
        let long = Finding {
            outcome: "warn",
            name: "key file",
            found: "it does not exist, and\nit \u{1b}[2Jshould",
            hint: Some("create it, or use the keyring"),
        };
        let short = Finding { outcome: "ok", name: "clock", found: "agrees", hint: None };
        let expected = "\
warn  key file: it does not
      exist, and it
      [2Jshould
      hint: create it, or
      use the keyring
ok    clock: agrees

1 ok, 1 warn, 0 fail
";
        let all = [long, short];
        let outcomes = ["ok", "warn", "fail"];
        assert_eq!(findings(&all, &outcomes, view(28, false)), expected);
        let none = findings(&[short], &["ok", "warning"], view(28, false));
        assert!(none.ends_with("\n1 ok, 0 warning\n"), "{none:?}");
        let painted = findings(&all, &outcomes, view(28, true));
        assert!(painted.contains("\u{1b}[33mwarn  \u{1b}[0mkey"), "{painted:?}");
        assert_eq!(anstream::adapter::strip_str(&painted).to_string(), expected);
    }
}
