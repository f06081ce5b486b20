//! One submission for a person: a line an answer, long text below its label.

use std::borrow::Cow;
use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use super::paint::TextStyle;
use super::table::View;
use crate::base::sanitize::one_line;
use crate::base::text::wrap;

/// Before each line of text that stands below its label.
const INDENT: &str = "    ";
/// Widest a line gets: longer ones are hard to read, however wide the terminal is.
pub(super) const LINE_MAX: usize = 100;

/// What is shown of one submission.
#[derive(Debug)]
pub(crate) struct Detail<'a> {
    /// What the service says of it: names and values.
    pub(crate) own: Vec<(&'a str, &'a str)>,
    /// Labels and answers, exact text.
    pub(crate) answers: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

impl Detail<'_> {
    pub(super) fn write(&self, out: &mut dyn Write, view: View<'_>) -> io::Result<()> {
        for (name, value) in &self.own {
            let label = name.width() + 2;
            let name = view.paint.put(TextStyle::Dim, &format!("{name}:"));
            let told = view.times.and_then(|times| times.format_long(value));
            let told = told.map_or(String::new(), |told| format!(" ({told})"));
            let lines = view.wrap_beside(&format!("{}{told}", one_line(value)), label);
            writeln!(out, "{name} {}", lines.join(&format!("\n{}", " ".repeat(label))))?;
        }
        if !self.own.is_empty() {
            writeln!(out)?;
        }
        let width = view.width.map_or(LINE_MAX, |width| width.min(LINE_MAX));
        for (label, value) in &self.answers {
            let label = one_line(label);
            write!(out, "{}", view.paint.put(TextStyle::Heading, &format!("{label}:")))?;
            let line = one_line(value);
            let is_short = !value.trim_end().contains(['\n', '\r'])
                && label.width() + 2 + line.width() <= width;
            if is_short {
                writeln!(out, " {}", line.trim_end())?;
                continue;
            }
            writeln!(out)?;
            for paragraph in value.trim_end().lines() {
                for line in wrap(&one_line(paragraph), width.saturating_sub(INDENT.len())) {
                    writeln!(out, "{INDENT}{line}")?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::paint::Paint;

    #[test]
    fn long_text_keeps_its_line_breaks_and_acts_on_nothing() {
        let detail = Detail {
            own: vec![("id", "sub_1")],
            answers: vec![
                ("Name".into(), "Zoë\u{1b}[2J".into()),
                ("A\u{202e}b".into(), "first line\n\nsecond \u{9b}8m one\r\n".into()),
                ("Gone".into(), "".into()),
            ],
        };
        let mut out = Vec::new();
        let view = View { width: Some(20), paint: Paint(false), times: None };
        detail.write(&mut out, view).unwrap();
        let shown = String::from_utf8(out).unwrap();
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
}
