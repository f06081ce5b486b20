//! A line an item, as they come, for a person who watches: when, which one, and what was answered.

use std::io::{self, Write};

use formsvc_protocol::decode_string;
use formsvc_table::cell;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use unicode_width::UnicodeWidthStr;

use super::field::Kind;
use super::fit::GAP;
use super::grid::{Column, Grid};
use super::listing::pairs;
use super::paint::{Paint, TextStyle};
use super::table::View;
use super::time::local;
use crate::base::sanitize::one_line;
use crate::base::text::{truncate, with_ellipsis};

/// Between two answers.
const BETWEEN: &str = " · ";
/// Longest text of an answer where nothing bounds the line.
const ANSWER_MAX: usize = 1_000;
/// Least room for answers that are cut, while an id takes room beside them.
const ANSWERS_MIN: usize = 40;
/// What part of a line a label takes at most: labels are questions, and the answers are news.
const LABEL_PART: usize = 4;

/// The clock here, and the day that the reader was told.
pub(super) struct Clock {
    zone: TimeZone,
    day: Date,
}

impl Clock {
    /// For a reader who knows which day it is.
    pub(super) fn new(zone: TimeZone) -> Self {
        let day = Timestamp::now().to_zoned(zone.clone()).date();
        Self { zone, day }
    }

    /// What the clock shows at an instant, after the day if it is another than that of the line
    /// before; nothing for text that is no instant.
    fn told(&mut self, instant: &str) -> Option<(Option<Date>, String)> {
        let at = local(instant, &self.zone)?;
        let before = std::mem::replace(&mut self.day, at.date());
        let day = (before != at.date()).then(|| at.date());
        Some((day, at.strftime("%H:%M:%S").to_string()))
    }
}

/// Text that looks like one thing.
struct Part {
    text: String,
    look: TextStyle,
}

fn part(text: impl Into<String>, look: TextStyle) -> Part {
    Part { text: text.into(), look }
}

/// Writes each item on a line that fits, and a day on a line of its own where one begins.
pub(super) fn write(
    out: &mut dyn Write,
    grid: &Grid<'_>,
    view: View<'_>,
    mut clock: Option<&mut Clock>,
) -> io::Result<()> {
    let order = order(&grid.columns);
    for row in grid.rows() {
        let (mut parts, mut answers): (Vec<(Kind, Part)>, Vec<Part>) = (Vec::new(), Vec::new());
        for at in &order {
            let (column, text) = (&grid.columns[*at], one_line(&row[*at].text));
            let told = match (column.kind, &mut clock) {
                (Kind::Object, _) => {
                    answers.extend(members(&row[*at].text, view.width.unwrap_or(ANSWER_MAX)));
                    continue;
                }
                (Kind::Time | Kind::Recent, Some(clock)) => clock.told(&text),
                _ => None,
            };
            let look = match column.kind {
                Kind::Time | Kind::Recent | Kind::Id | Kind::Mark => TextStyle::Dim,
                Kind::Status => TextStyle::for_word(&text),
                _ => TextStyle::Plain,
            };
            let text = match told {
                Some((day, text)) => {
                    if let Some(day) = day {
                        writeln!(out, "{}", view.paint.put(TextStyle::Heading, &day.to_string()))?;
                    }
                    text
                }
                None => text.into_owned(),
            };
            parts.push((column.kind, part(text, look)));
        }
        let line = line(parts, answers, view.width);
        writeln!(out, "{}", painted(&line, view.paint))?;
    }
    Ok(())
}

/// When, which one, and last what it holds, which is as long as it likes.
fn order(columns: &[Column]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by_key(|at| {
        let column = &columns[*at];
        (column.kind == Kind::Object, column.last_in_tables)
    });
    order
}

/// The members of an object that hold something: their names, and the text of each.
fn members(object: &str, most: usize) -> Vec<Part> {
    let mut parts = Vec::new();
    for (label, value) in pairs(object) {
        let text = cell(value.get()).text;
        let text = one_line(&text);
        if text.trim().is_empty() {
            continue;
        }
        if !parts.is_empty() {
            parts.push(part(BETWEEN, TextStyle::Dim));
        }
        let label = decode_string(label.get());
        let label = truncate(one_line(&label).trim(), most / LABEL_PART);
        parts.push(part(format!("{label}: "), TextStyle::Dim));
        parts.push(part(truncate(text.trim(), most), TextStyle::Plain));
    }
    parts
}

/// The parts of a line that is no wider than it may be. An id that leaves no room for the answers
/// gives way to them.
fn line(mut parts: Vec<(Kind, Part)>, answers: Vec<Part>, width: Option<usize>) -> Vec<Part> {
    if let Some(width) = width {
        let wide = |part: &Part| part.text.width();
        let used: usize = parts.iter().map(|(_, part)| wide(part) + GAP).sum();
        let answers: usize = answers.iter().map(wide).sum();
        if used + answers.min(ANSWERS_MIN) > width {
            parts.retain(|(kind, _)| *kind != Kind::Id);
        }
    }
    let mut line: Vec<Part> = Vec::new();
    for (_, next) in parts {
        if !line.is_empty() {
            line.push(part(" ".repeat(GAP), TextStyle::Plain));
        }
        line.push(next);
    }
    if !line.is_empty() && !answers.is_empty() {
        line.push(part(" ".repeat(GAP), TextStyle::Plain));
    }
    line.extend(answers);
    match width {
        Some(width) => fitted(line, width),
        None => line,
    }
}

/// As much of the parts as the width holds, with an ellipsis where something is left out.
fn fitted(parts: Vec<Part>, width: usize) -> Vec<Part> {
    if parts.iter().map(|part| part.text.width()).sum::<usize>() <= width {
        return parts;
    }
    let (mut shown, mut left) = (Vec::new(), width);
    for Part { text, look } in parts {
        let wide = text.width();
        if wide < left {
            left -= wide;
            shown.push(Part { text, look });
        } else {
            // No space hangs between the last word and what says that there was more.
            let text = with_ellipsis(&text, left);
            let text = text.strip_suffix('…').map_or("", str::trim_end).to_owned() + "…";
            shown.push(Part { text, look });
            break;
        }
    }
    shown
}

fn painted(line: &[Part], paint: Paint) -> String {
    let text: String = line.iter().map(|part| paint.put(part.look, &part.text)).collect();
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use formsvc_table::Cell;
    use proptest::prelude::*;

    use super::*;

    fn column(name: &str, kind: Kind) -> Column {
        Column { name: name.to_owned(), kind, last_in_tables: kind == Kind::Id }
    }

    fn grid(rows: &[(&str, &str, &str)]) -> Grid<'static> {
        let cell = |text: &str| Cell { text: text.to_owned().into(), free: true };
        Grid::of(
            vec![
                column("id", Kind::Id),
                column("created_at", Kind::Time),
                column("data", Kind::Object),
            ],
            rows.iter().map(|(id, at, data)| vec![cell(id), cell(at), cell(data)]).collect(),
        )
    }

    fn berlin(day: &str) -> Clock {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        Clock { zone, day: day.parse().unwrap() }
    }

    fn shown(grid: &Grid<'_>, width: Option<usize>, clock: Option<&mut Clock>) -> Vec<String> {
        let mut out = Vec::new();
        let view = View { width, paint: Paint(false), times: None };
        write(&mut out, grid, view, clock).unwrap();
        String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
    }

    const DATA: &str = r#"{"Name":"Zoë","Message":"two\nlines","Gone":null,"Empty":" ","Age":36}"#;

    #[test]
    fn a_line_is_the_clock_the_id_and_what_was_answered() {
        let mut clock = berlin("2026-07-01");
        let rows = [("sub_1", "2026-07-01T07:30:01.250Z", DATA)];
        assert_eq!(
            shown(&grid(&rows), Some(80), Some(&mut clock)),
            ["09:30:01  sub_1  Name: Zoë · Message: two lines · Age: 36"]
        );
        // Nobody looks: the instant itself.
        assert_eq!(
            shown(&grid(&rows), None, None),
            ["2026-07-01T07:30:01.250Z  sub_1  Name: Zoë · Message: two lines · Age: 36"]
        );
        assert_eq!(shown(&grid(&[("sub_1", "", "{}")]), Some(80), None), ["  sub_1"]);
    }

    #[test]
    fn the_day_is_told_when_it_is_another() {
        let mut clock = berlin("2026-07-02");
        let at = |time: &'static str| ("s", time, r#"{"A":1}"#);
        let rows = [
            at("2026-06-30T21:59:59.000Z"),
            at("2026-06-30T22:00:00.000Z"),
            at("2026-07-01T10:00:00.000Z"),
            at("2026-07-02T10:00:00.000Z"),
        ];
        assert_eq!(
            shown(&grid(&rows), Some(80), Some(&mut clock)),
            [
                "2026-06-30",
                "23:59:59  s  A: 1",
                "2026-07-01",
                "00:00:00  s  A: 1",
                "12:00:00  s  A: 1",
                "2026-07-02",
                "12:00:00  s  A: 1",
            ]
        );
    }

    #[test]
    fn an_id_gives_way_to_answers_and_is_never_cut_beside_them() {
        let id = "sub_0123456789abcdef0123456789abcdef";
        let rows = [(id, "2026-07-01T07:30:01Z", DATA)];
        let at = |width| {
            let mut clock = berlin("2026-07-01");
            shown(&grid(&rows), Some(width), Some(&mut clock)).remove(0)
        };
        assert_eq!(at(88), format!("09:30:01  {id}  Name: Zoë · Message: two lines · Age: 36"));
        assert_eq!(at(87), "09:30:01  Name: Zoë · Message: two lines · Age: 36");
        assert_eq!(at(60), "09:30:01  Name: Zoë · Message: two lines · Age: 36");
        assert_eq!(at(30), "09:30:01  Name: Zoë · Message…");
    }

    #[test]
    fn a_long_label_leaves_room_for_what_was_answered() {
        let data = r#"{"What would you like to tell us about the garden?":"It is green"}"#;
        let rows = [("sub_0123456789abcdef0123456789abcdef", "2026-07-01T07:30:01Z", data)];
        let mut clock = berlin("2026-07-01");
        assert_eq!(
            shown(&grid(&rows), Some(80), Some(&mut clock)),
            ["09:30:01  What would you like…: It is green"]
        );
    }

    #[test]
    fn labels_are_dim_and_nothing_of_the_data_acts() {
        let data = r#"{"\u001b[31mA":"\u001b[2J\u202eb"}"#;
        let mut out = Vec::new();
        let view = View { width: Some(80), paint: Paint(true), times: None };
        write(&mut out, &grid(&[("s", "t", data)]), view, None).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("\u{1b}[2m[31mA: \u{1b}[0m[2Jb"), "{text:?}");
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_terminal(
            width in 20_usize..220,
            answers in prop::collection::btree_map(".{0,30}", ".{0,90}", 0..6),
            id in "[a-z_0-9]{1,50}",
        ) {
            let data = serde_json::to_string(&answers).unwrap();
            let mut clock = berlin("2026-07-01");
            let rows = [(&*id, "2026-07-01T07:30:01Z", &*data)];
            let lines = shown(&grid(&rows), Some(width), Some(&mut clock));
            prop_assert_eq!(lines.len(), 1);
            prop_assert!(lines[0].width() <= width, "{:?}", lines);
            prop_assert_eq!(&*one_line(&lines[0]), &*lines[0]);
        }
    }
}
