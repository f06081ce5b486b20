//! Filters and functions of templates: `timeago`, `truncate`, `color`, `json`, `tablerow` and
//! `tablerender`.

use std::sync::{Arc, PoisonError};

use anstyle::{AnsiColor, Style};
use minijinja::value::Rest;
use minijinja::{Environment, Error, ErrorKind, Value};
use unicode_width::UnicodeWidthStr;

use super::{Rows, TemplateOutput};
use crate::base::text::truncate;
use crate::output::fit::GAP;
use crate::output::paint::TextStyle;
use crate::output::time;

/// The styles of the filter `color`, by name. The colours are readable in light and dark themes.
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

pub(super) fn add(to: &mut Environment<'static>, output: TemplateOutput, rows: &Rows) {
    to.add_filter("timeago", move |value: &str| {
        time::relative(value, output.now).unwrap_or_else(|| value.to_owned())
    });
    to.add_filter("truncate", |value: &Value, width: usize| truncate(&value.to_string(), width));
    to.add_filter("json", |value: &Value| {
        serde_json::to_string(value)
            .map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))
    });
    to.add_filter("color", move |value: &Value, name: &str| color(value, name, output));
    let shared = Arc::clone(rows);
    to.add_function("tablerow", move |cells: Rest<Value>| {
        let row = cells.iter().map(ToString::to_string).collect();
        shared.lock().unwrap_or_else(PoisonError::into_inner).push(row);
        String::new()
    });
    let shared = Arc::clone(rows);
    to.add_function("tablerender", move || table(&shared, output));
}

fn color(value: &Value, name: &str, output: TemplateOutput) -> Result<String, Error> {
    let text = value.to_string();
    let style = if name == "status" {
        TextStyle::for_word(&text).style()
    } else {
        let known = COLORS.iter().find(|(known, _)| *known == name);
        let (_, style) = known.ok_or_else(|| {
            let names: Vec<&str> = COLORS.iter().map(|(name, _)| *name).collect();
            let what = format!("no colour `{name}`; expected status, {}", names.join(", "));
            Error::new(ErrorKind::InvalidOperation, what)
        })?;
        *style
    };
    Ok(if output.paint.0 { format!("{style}{text}{style:#}") } else { text })
}

/// Removes the collected rows and formats them: aligned on a terminal, separated by tabs elsewhere.
pub(super) fn table(rows: &Rows, output: TemplateOutput) -> String {
    let rows = std::mem::take(&mut *rows.lock().unwrap_or_else(PoisonError::into_inner));
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let column = |at: usize| rows.iter().filter_map(move |row| row.get(at));
    let width = |at| column(at).map(|cell| visible(cell)).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut shown = String::new();
    for row in &rows {
        if output.terminal {
            let mut line = String::new();
            for (cell, width) in std::iter::zip(row, &widths) {
                let cell = cell.replace(['\n', '\t', '\r'], " ");
                line += &cell;
                line += &" ".repeat(width.saturating_sub(visible(&cell)) + GAP);
            }
            shown += line.trim_end_matches(' ');
        } else {
            shown += &row.join("\t");
        }
        shown.push('\n');
    }
    shown
}

fn visible(cell: &str) -> usize {
    anstream::adapter::strip_str(cell).to_string().width()
}
