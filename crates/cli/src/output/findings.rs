//! Findings for a person: a block each, nothing cut.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use super::detail::LINE_MAX;
use super::paint::TextStyle;
use super::table::View;
use crate::base::sanitize::one_line;
use crate::base::text::wrap;

/// Something that was looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finding<'a> {
    /// What came of it: a word of a closed set, which has a colour.
    pub(crate) outcome: &'a str,
    /// What was looked at.
    pub(crate) name: &'a str,
    /// What was found.
    pub(crate) found: &'a str,
    /// What to do about it.
    pub(crate) hint: Option<&'a str>,
}

/// Writes each finding: the outcome, and beside it what was found, with the hint below; and last how
/// many there are of each outcome, in the order of `outcomes`.
pub(super) fn write(
    out: &mut dyn Write,
    findings: &[Finding<'_>],
    outcomes: &[&str],
    view: View<'_>,
) -> io::Result<()> {
    let column = outcomes.iter().map(|word| word.width()).max().unwrap_or(0) + 2;
    let width = view.width.map_or(LINE_MAX, |width| width.min(LINE_MAX)).saturating_sub(column);
    for finding in findings {
        let word = view.paint.put(TextStyle::for_word(finding.outcome), finding.outcome);
        let space = " ".repeat(column.saturating_sub(finding.outcome.width()));
        let name = format!("{}:", finding.name);
        let text = format!("{name} {}", one_line(finding.found));
        for (at, line) in wrap(&text, width).into_iter().enumerate() {
            match line.strip_prefix(&name) {
                Some(rest) if at == 0 => {
                    let name = view.paint.put(TextStyle::Heading, &name);
                    writeln!(out, "{word}{space}{name}{rest}")?;
                }
                _ if at == 0 => writeln!(out, "{word}{space}{line}")?,
                _ => writeln!(out, "{:column$}{line}", "")?,
            }
        }
        let hint = finding.hint.map(|hint| format!("hint: {}", one_line(hint)));
        for line in hint.iter().flat_map(|hint| wrap(hint, width)) {
            writeln!(out, "{:column$}{line}", "")?;
        }
    }
    writeln!(out)?;
    let counted = outcomes.iter().map(|word| {
        let count = findings.iter().filter(|finding| finding.outcome == *word).count();
        let look = if count == 0 { TextStyle::Dim } else { TextStyle::for_word(word) };
        view.paint.put(look, &format!("{count} {word}"))
    });
    writeln!(out, "{}", counted.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::paint::Paint;

    fn shown(width: usize, paint: bool) -> String {
        let long = Finding {
            outcome: "warn",
            name: "key file",
            found: "it is not there, and\nnobody \u{1b}[2Jknows",
            hint: Some("make one, or do without"),
        };
        let short = Finding { outcome: "ok", name: "clock", found: "agrees", hint: None };
        let view = View { width: Some(width), paint: Paint(paint), times: None };
        let mut out = Vec::new();
        write(&mut out, &[long, short], &["ok", "warn", "fail"], view).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_is_long_goes_on_below_and_nothing_is_cut() {
        let expected = "\
warn  key file: it is not
      there, and nobody
      [2Jknows
      hint: make one, or do
      without
ok    clock: agrees

1 ok, 1 warn, 0 fail
";
        assert_eq!(shown(28, false), expected);
        assert_eq!(shown(200, false).lines().count(), 5);
    }

    #[test]
    fn the_words_have_colours_and_can_be_read_without() {
        let painted = shown(80, true);
        assert!(painted.contains("\u{1b}[33mwarn\u{1b}[0m  "), "{painted:?}");
        assert_eq!(anstream::adapter::strip_str(&painted).to_string(), shown(80, false));
    }
}
