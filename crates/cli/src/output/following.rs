//! One line per item of a stream: time, id, and answers.

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
use super::paint::TextStyle;
use super::table::View;
use super::time::local;
use crate::base::sanitize::one_line;
use crate::base::text::{truncate, with_ellipsis};

/// Largest width of an answer if the output has no width.
const ANSWER_MAX: usize = 1_000;
/// The id is dropped if answers would have less room.
const ANSWERS_MIN: usize = 40;
/// A label takes at most this part of a line.
const LABEL_PART: usize = 4;

/// The local clock, and the date of the last line.
pub(super) struct Clock {
    zone: TimeZone,
    day: Date,
}

impl Clock {
    /// Starts with today.
    pub(super) fn new(zone: TimeZone) -> Self {
        let day = Timestamp::now().to_zoned(zone.clone()).date();
        Self { zone, day }
    }

    /// Formats the time of an instant. Returns the date as well if it differs from that of the last line.
    fn advance(&mut self, instant: &str) -> Option<(Option<Date>, String)> {
        let at = local(instant, &self.zone)?;
        let before = std::mem::replace(&mut self.day, at.date());
        let day = (before != at.date()).then(|| at.date());
        Some((day, at.strftime("%H:%M:%S").to_string()))
    }
}

/// A styled part of a line.
type Part = (TextStyle, String);

/// Writes each item on a line, and a date before the first item of another day.
pub(super) fn write(
    out: &mut dyn Write,
    grid: &Grid<'_>,
    view: View<'_>,
    mut clock: Option<&mut Clock>,
) -> io::Result<()> {
    let mut columns: Vec<(usize, &Column)> = grid.columns.iter().enumerate().collect();
    columns.sort_by_key(|(_, column)| {
        (column.kind == Kind::Object, column.kind == Kind::Id, column.last_in_tables)
    });
    for row in grid.rows() {
        let (mut parts, mut answers): (Vec<(Kind, Part)>, Vec<Part>) = (Vec::new(), Vec::new());
        for (at, column) in &columns {
            let text = one_line(&row[*at].text);
            let style = match column.kind {
                Kind::Object => {
                    answers.extend(members(&row[*at].text, view.width.unwrap_or(ANSWER_MAX)));
                    continue;
                }
                Kind::Time | Kind::Recent | Kind::Id | Kind::Mark => TextStyle::Dim,
                Kind::Status => TextStyle::for_word(&text),
                Kind::Any | Kind::Address => TextStyle::Plain,
            };
            let clock = clock.as_mut().filter(|_| matches!(column.kind, Kind::Time | Kind::Recent));
            let text = match clock.and_then(|clock| clock.advance(&text)) {
                Some((day, time)) => {
                    if let Some(day) = day {
                        writeln!(out, "{}", view.paint.put(TextStyle::Heading, &day.to_string()))?;
                    }
                    time
                }
                None => text.into_owned(),
            };
            parts.push((column.kind, (style, text)));
        }
        let line = line(parts, answers, view.width);
        let text: String = line.iter().map(|(style, text)| view.paint.put(*style, text)).collect();
        writeln!(out, "{}", text.trim_end())?;
    }
    Ok(())
}

/// Returns the labels and values of an object that are not empty.
fn members(object: &str, width: usize) -> Vec<Part> {
    let mut parts = Vec::new();
    for (label, value) in pairs(object) {
        let text = cell(value.get()).text;
        let text = one_line(&text);
        if text.trim().is_empty() {
            continue;
        }
        if !parts.is_empty() {
            parts.push((TextStyle::Dim, " · ".to_owned()));
        }
        let label = decode_string(label.get());
        let label = truncate(one_line(&label).trim(), width / LABEL_PART);
        parts.push((TextStyle::Dim, format!("{label}: ")));
        parts.push((TextStyle::Plain, truncate(text.trim(), width)));
    }
    parts
}

/// Joins the parts of a line, and truncates it to the width. Drops the id if it leaves too little room for
/// answers.
fn line(mut parts: Vec<(Kind, Part)>, answers: Vec<Part>, width: Option<usize>) -> Vec<Part> {
    let width = width.unwrap_or(usize::MAX);
    let used: usize = parts.iter().map(|(_, (_, text))| text.width() + GAP).sum();
    let wanted: usize = answers.iter().map(|(_, text)| text.width()).sum();
    if used + wanted.min(ANSWERS_MIN) > width {
        parts.retain(|(kind, _)| *kind != Kind::Id);
    }
    let mut line: Vec<Part> = Vec::new();
    for (_, part) in parts {
        line.extend([part, (TextStyle::Plain, " ".repeat(GAP))]);
    }
    line.extend(answers);
    let total: usize = line.iter().map(|(_, text)| text.width()).sum();
    if total <= width {
        return line;
    }
    let mut left = width;
    for at in 0..line.len() {
        let text = &mut line[at].1;
        match left.checked_sub(text.width()) {
            Some(rest) if rest > 0 => left = rest,
            _ => {
                let cut = with_ellipsis(text, left);
                *text = cut.strip_suffix('…').map_or("", str::trim_end).to_owned() + "…";
                line.truncate(at + 1);
                break;
            }
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use formsvc_table::Cell;
    use proptest::prelude::*;

    use super::*;
    use crate::output::paint::Paint;

    fn column(name: &str, kind: Kind) -> Column {
        Column { name: name.to_owned(), field: name.to_owned(), kind, last_in_tables: false }
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
    fn line_has_time_id_and_answers() {
        let mut clock = berlin("2026-07-01");
        let rows = [("sub_1", "2026-07-01T07:30:01.250Z", DATA)];
        assert_eq!(
            shown(&grid(&rows), Some(80), Some(&mut clock)),
            ["09:30:01  sub_1  Name: Zoë · Message: two lines · Age: 36"]
        );
        assert_eq!(
            shown(&grid(&rows), None, None),
            ["2026-07-01T07:30:01.250Z  sub_1  Name: Zoë · Message: two lines · Age: 36"]
        );
        assert_eq!(shown(&grid(&[("sub_1", "", "{}")]), Some(80), None), ["  sub_1"]);
    }

    #[test]
    fn new_day_has_a_line_with_the_date() {
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
    fn id_is_dropped_before_answers_are_truncated() {
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
    fn long_label_leaves_room_for_the_answer() {
        let data = r#"{"What would you like to tell us about the garden?":"It is green"}"#;
        let rows = [("sub_0123456789abcdef0123456789abcdef", "2026-07-01T07:30:01Z", data)];
        let mut clock = berlin("2026-07-01");
        assert_eq!(
            shown(&grid(&rows), Some(80), Some(&mut clock)),
            ["09:30:01  What would you like…: It is green"]
        );
    }

    #[test]
    fn labels_are_dim_and_data_is_sanitized() {
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
