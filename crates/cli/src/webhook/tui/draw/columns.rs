//! The columns of the list: which there are room for, and what stands in them.

use crate::output::{Look, shortened, shortened_id};
use crate::webhook::tui::doc::Part;
use crate::webhook::tui::list::List;
use crate::webhook::tui::model::Model;
use crate::webhook::tui::row::Row;
use unicode_width::UnicodeWidthStr;

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Number,
    Time,
    Method,
    Event,
    Submission,
    Verdict,
    Age,
    Attempt,
    Status,
    Took,
}

/// A column as it stands in the table.
struct Told {
    column: Column,
    heading: &'static str,
    /// Its width, and the width it would like.
    width: (usize, usize),
    /// In which order columns get room.
    rank: usize,
    /// Whether it stands at the right of its width.
    right: bool,
}

const fn told(
    column: Column,
    heading: &'static str,
    width: (usize, usize),
    rank: usize,
    right: bool,
) -> Told {
    Told { column, heading, width, rank, right }
}

/// Every column, in the order they stand in.
const COLUMNS: [Told; 10] = [
    told(Column::Number, "#", (3, 3), 0, true),
    told(Column::Time, "time", (8, 8), 3, false),
    told(Column::Method, "method", (6, 7), 8, false),
    told(Column::Event, "event", (18, 24), 9, false),
    // Whole, or not there: half an id is none.
    told(Column::Submission, "submission", (36, 40), 4, false),
    told(Column::Verdict, "verdict", (11, 11), 1, false),
    told(Column::Age, "age", (5, 5), 7, true),
    told(Column::Attempt, "try", (4, 4), 5, true),
    told(Column::Status, "status", (7, 7), 2, false),
    told(Column::Took, "took", (6, 6), 6, true),
];

/// Room between columns.
const GAP: usize = 1;
/// Room before the first, for what is chosen.
const MARK: usize = 2;

/// Columns that there is room for, and how wide each is.
pub(super) struct Fit(Vec<(&'static Told, usize)>);

/// Which columns fit into a width, and how wide each is.
pub(super) fn fit(width: usize, list: &List) -> Fit {
    let digits = list.rows().front().map_or(0, |row| row.number_cell().width());
    let least = |told: &Told| {
        if told.column == Column::Number { told.width.0.max(digits) } else { told.width.0 }
    };
    let mut ranked: Vec<&Told> = COLUMNS.iter().collect();
    ranked.sort_by_key(|told| told.rank);
    let mut room = width.saturating_sub(MARK);
    let mut taken = Vec::new();
    for told in ranked {
        let wanted = least(told) + if taken.is_empty() { 0 } else { GAP };
        if wanted > room {
            if told.column == Column::Submission {
                continue;
            }
            break;
        }
        room -= wanted;
        taken.push(told.column);
    }
    let mut columns: Vec<_> = COLUMNS
        .iter()
        .filter(|told| taken.contains(&told.column))
        .map(|told| (told, least(told)))
        .collect();
    for wide in [Column::Submission, Column::Event, Column::Method] {
        if let Some((told, width)) = columns.iter_mut().find(|(told, _)| told.column == wide) {
            let more = told.width.1.saturating_sub(*width).min(room);
            *width += more;
            room -= more;
        }
    }
    Fit(columns)
}

/// The names of the columns.
pub(super) fn heading(fit: &Fit) -> Vec<Part> {
    let mut line = " ".repeat(MARK);
    for (at, (told, width)) in fit.0.iter().enumerate() {
        if at > 0 {
            line.push_str(&" ".repeat(GAP));
        }
        line.push_str(&padded(told.heading, *width, told.right));
    }
    vec![(Look::Past, line)]
}

/// What stands in the columns of a row.
pub(super) fn cells(fit: &Fit, row: &Row, is_chosen: bool, model: &Model) -> Vec<Part> {
    let mark = if is_chosen { "› " } else { "  " };
    let mut parts = vec![(Look::Plain, mark.to_owned())];
    for (at, (told, width)) in fit.0.iter().enumerate() {
        if at > 0 {
            parts.push((Look::Plain, " ".repeat(GAP)));
        }
        let (look, text) = match told.column {
            Column::Number => (Look::Plain, row.number_cell()),
            Column::Time => (Look::Past, row.time_cell(model.now, &model.facts.zone)),
            Column::Method => (Look::Plain, row.method.clone()),
            Column::Event => (Look::Plain, row.event.clone()),
            Column::Submission => (Look::Plain, shortened_id(&row.submission, *width)),
            Column::Verdict => row.verdict_cell(),
            Column::Age => (Look::Past, row.age_cell()),
            Column::Attempt => row.attempt_cell(),
            Column::Status => row.status_cell(),
            Column::Took => (Look::Past, row.took_cell()),
        };
        parts.push((look, padded(&text, *width, told.right)));
    }
    parts
}

/// A text in a width: cut, or with space beside it.
fn padded(text: &str, width: usize, right: bool) -> String {
    let text = if text.width() > width { shortened(text, width) } else { text.to_owned() };
    let space = " ".repeat(width.saturating_sub(text.width()));
    if right { space + &text } else { text + &space }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fit_at_every_width_and_the_most_telling_stay_longest() {
        let list = List::new();
        let names = |width| -> Vec<_> {
            fit(width, &list).0.iter().map(|(told, _)| told.heading).collect()
        };
        for width in 40..=300 {
            let used: usize = fit(width, &list).0.iter().map(|(_, width)| width + GAP).sum();
            assert!(used - GAP + MARK <= width, "{width}");
        }
        assert_eq!(names(40), ["#", "time", "verdict", "try", "status"]);
        assert_eq!(names(70), ["#", "time", "method", "verdict", "age", "try", "status", "took"]);
        assert_eq!(names(80), ["#", "time", "submission", "verdict", "try", "status"]);
        assert_eq!(names(120).len(), COLUMNS.len());
    }

    #[test]
    fn an_id_of_the_service_is_whole_or_not_there() {
        let list = List::new();
        for width in 40..=300 {
            let fit = fit(width, &list);
            let id = fit.0.iter().find(|(told, _)| told.column == Column::Submission);
            assert!(id.is_none_or(|(_, width)| *width >= 36), "{width}");
            assert_eq!(id.is_some(), width >= 71, "{width}");
        }
    }
}
