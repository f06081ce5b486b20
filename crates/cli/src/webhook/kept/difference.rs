//! What is different between two captures or two answers, as rows and as lines.

use http::HeaderMap;
use serde::Serialize;

use crate::error::CliError;
use crate::output::{Field, Live, Look};
use crate::webhook::diff::{self, Difference, Line};
use crate::webhook::mask;

/// The fields of a row.
pub(crate) const FIELDS: &[Field] = &[
    Field::new("part"),
    Field::new("path"),
    Field::new("change"),
    Field::new("old"),
    Field::new("new"),
];

/// What is different at one place.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    part: &'static str,
    path: String,
    change: &'static str,
    old: Option<String>,
    new: Option<String>,
}

impl Row {
    /// A value that is not the same, if it is not.
    pub(crate) fn of(
        part: &'static str,
        path: impl Into<String>,
        old: Option<String>,
        new: Option<String>,
    ) -> Option<Self> {
        let change = match (&old, &new) {
            _ if old == new => return None,
            (None, _) => "added",
            (_, None) => "removed",
            _ => "changed",
        };
        Some(Self { part, path: path.into(), change, old, new })
    }
}

/// That requests went elsewhere, if they did. What lets somebody in there is not shown, and counts.
pub(crate) fn targets(old: &str, new: &str, reveal: bool) -> Option<Row> {
    let text = |target: &str| mask::target(target, reveal).into_owned();
    let row = Row::of("request", "request_target", Some(old.to_owned()), Some(new.to_owned()))?;
    Some(Row { old: row.old.as_deref().map(text), new: row.new.as_deref().map(text), ..row })
}

/// What is different between headers: all values of a name are one place.
pub(crate) fn headers(old: &HeaderMap, new: &HeaderMap, reveal: bool) -> Vec<Row> {
    let text = |headers: &HeaderMap, name: &http::HeaderName| {
        let values = headers.get_all(name).iter().map(|value| {
            let shown = if reveal { value.clone() } else { mask::value(name, value) };
            String::from_utf8_lossy(shown.as_bytes()).into_owned()
        });
        let values: Vec<_> = values.collect();
        (!values.is_empty()).then(|| values.join("\n"))
    };
    let added = new.keys().filter(|name| !old.contains_key(*name));
    let mut rows = Vec::new();
    for name in old.keys().chain(added) {
        let same = old.get_all(name).iter().eq(new.get_all(name).iter());
        let row = Row {
            part: "headers",
            path: name.to_string(),
            change: "changed",
            old: text(old, name),
            new: text(new, name),
        };
        let change = match (&row.old, &row.new) {
            (None, _) => "added",
            (_, None) => "removed",
            _ => "changed",
        };
        rows.extend((!same).then_some(Row { change, ..row }));
    }
    rows
}

/// What is different between bodies.
pub(crate) fn bodies(old: &[u8], new: &[u8]) -> Vec<Row> {
    let row = |path: String, change, old, new| Row { part: "body", path, change, old, new };
    match diff::bodies(old, new) {
        Difference::None => Vec::new(),
        Difference::Spelling => {
            let what = "the same JSON, in other bytes: space, escapes or order".to_owned();
            vec![row(String::new(), "spelling", None, Some(what))]
        }
        Difference::Json(changes) => changes
            .into_iter()
            .filter_map(|change| Row::of("body", change.path, change.old, change.new))
            .collect(),
        Difference::Text(lines) => of_lines(&lines),
        Difference::Bytes(at) => {
            let told = |body: &[u8]| Some(format!("{} bytes", body.len()));
            vec![row(format!("byte {at}"), "changed", told(old), told(new))]
        }
    }
}

fn of_lines(lines: &[Line]) -> Vec<Row> {
    let (mut rows, mut old, mut new) = (Vec::new(), 0_usize, 0_usize);
    for line in lines {
        let text = || Some(line.text().trim_end_matches(['\r', '\n']).to_owned());
        let row = |number: usize, change, old, new| Row {
            part: "body",
            path: format!("line {number}"),
            change,
            old,
            new,
        };
        match line {
            Line::Both(_) => (old, new) = (old + 1, new + 1),
            Line::Old(_) => {
                old += 1;
                rows.push(row(old, "removed", text(), None));
            }
            Line::New(_) => {
                new += 1;
                rows.push(row(new, "added", None, text()));
            }
        }
    }
    rows
}

/// Tells people, a line for each side of a change.
pub(crate) fn tell(live: &Live<'_>, rows: &[Row], indent: &str) -> Result<(), CliError> {
    let mut part = "";
    for row in rows {
        if row.part != part {
            part = row.part;
            live.line(&[(Look::Plain, indent), (Look::Heading, part)])?;
        }
        let name = if row.path.is_empty() { String::new() } else { format!("{}: ", row.path) };
        for (sign, look, value) in [("- ", Look::Bad, &row.old), ("+ ", Look::Good, &row.new)] {
            for line in value.iter().flat_map(|value| value.split('\n')) {
                live.line(&[
                    (Look::Plain, indent),
                    (Look::Plain, "  "),
                    (look, sign),
                    (Look::Plain, &name),
                    (look, line),
                ])?;
            }
        }
    }
    Ok(())
}
