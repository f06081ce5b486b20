//! What templates can do besides what the engine brings: `timeago`, `truncate`, `color`,
//! `hyperlink`, `json`, `tablerow` and `tablerender`.

use std::sync::{Arc, PoisonError};

use anstyle::{AnsiColor, Style};
use minijinja::value::Rest;
use minijinja::{Environment, Error, ErrorKind, Value};
use unicode_width::UnicodeWidthStr;

use super::{Rows, Surroundings};
use crate::base::sanitize::one_line;
use crate::base::text::truncate;
use crate::output::fit::{self, GAP, Wanted};
use crate::output::paint::TextStyle;
use crate::output::time;

/// The colours by name: of the sixteen, those that light and dark themes keep readable.
const COLORS: &[(&str, Style)] = &[
    ("bold", Style::new().bold()),
    ("dim", Style::new().dimmed()),
    ("red", AnsiColor::Red.on_default()),
    ("green", AnsiColor::Green.on_default()),
    ("yellow", AnsiColor::Yellow.on_default()),
    ("blue", AnsiColor::Blue.on_default()),
    ("magenta", AnsiColor::Magenta.on_default()),
    ("cyan", AnsiColor::Cyan.on_default()),
];

pub(super) fn add(to: &mut Environment<'static>, surroundings: Surroundings, rows: &Rows) {
    to.add_filter("timeago", move |value: &str| {
        time::relative(value, surroundings.now).unwrap_or_else(|| value.to_owned())
    });
    to.add_filter("truncate", |value: &Value, width: usize| truncate(&value.to_string(), width));
    to.add_filter("json", |value: &Value| {
        serde_json::to_string(value)
            .map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))
    });
    to.add_filter("color", move |value: &Value, name: &str| color(value, name, surroundings));
    to.add_filter("hyperlink", move |value: &Value, url: &str| {
        if surroundings.terminal && surroundings.paint.0 {
            // Between the introducer and the text stands only what cannot end it early.
            let url: String = url.chars().filter(|c| *c > ' ').collect();
            format!("\u{1b}]8;;{}\u{1b}\\{value}\u{1b}]8;;\u{1b}\\", one_line(&url))
        } else {
            value.to_string()
        }
    });
    let kept = Arc::clone(rows);
    to.add_function("tablerow", move |cells: Rest<Value>| {
        let row = cells.iter().map(ToString::to_string).collect();
        kept.lock().unwrap_or_else(PoisonError::into_inner).push(row);
        String::new()
    });
    let kept = Arc::clone(rows);
    to.add_function("tablerender", move || table(&kept, surroundings));
}

fn color(value: &Value, name: &str, surroundings: Surroundings) -> Result<String, Error> {
    let text = value.to_string();
    let style = if name == "status" {
        TextStyle::for_word(&text).style()
    } else {
        let known = COLORS.iter().find(|(known, _)| *known == name);
        let (_, style) = known.ok_or_else(|| {
            let names: Vec<&str> = COLORS.iter().map(|(name, _)| *name).collect();
            let what =
                format!("there is no colour `{name}`: there are status, {}", names.join(", "));
            Error::new(ErrorKind::InvalidOperation, what)
        })?;
        *style
    };
    Ok(if surroundings.paint.0 { format!("{style}{text}{style:#}") } else { text })
}

/// The rows that wait, shown: aligned on a terminal, separated by tabs elsewhere.
pub(super) fn table(rows: &Rows, surroundings: Surroundings) -> String {
    let rows = std::mem::take(&mut *rows.lock().unwrap_or_else(PoisonError::into_inner));
    let mut shown = String::new();
    if !surroundings.terminal {
        for row in &rows {
            shown.push_str(&row.join("\t"));
            shown.push('\n');
        }
        return shown;
    }
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(|cell| cell.replace(['\n', '\t', '\r'], " ")).collect())
        .collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let cells = |at: usize| rows.iter().filter_map(move |row| row.get(at));
    let wanted: Vec<Wanted> = (0..columns)
        .map(|at| Wanted {
            heading: 0,
            cells: cells(at).map(|cell| visible(cell)).max().unwrap_or(0),
            // What is painted cannot be cut without cutting its paint.
            whole: cells(at).any(|cell| cell.contains('\u{1b}')),
        })
        .collect();
    let room = surroundings.width.unwrap_or(usize::MAX >> 1);
    let widths = fit::widths(&wanted, room, fit::NARROWEST);
    for row in &rows {
        let mut line = String::new();
        for (cell, (width, wanted)) in row.iter().zip(widths.iter().zip(&wanted)) {
            let Some(width) = width else { continue };
            let cell = if wanted.whole { cell.clone() } else { truncate(cell, *width) };
            let space = width.saturating_sub(visible(&cell)) + GAP;
            line.push_str(&cell);
            line.push_str(&" ".repeat(space));
        }
        shown.push_str(line.trim_end_matches(' '));
        shown.push('\n');
    }
    shown
}

fn visible(cell: &str) -> usize {
    anstream::adapter::strip_str(cell).to_string().width()
}
