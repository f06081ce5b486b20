//! Prints items one by one, for commands that print more later.

use std::cell::Cell as Slot;

use formsvc_protocol::decode_string;
use formsvc_table::cell;
use serde::Serialize;

use super::field::Kind;
use super::grid::Grid;
use super::listing::pairs;
use super::table::View;
use super::template::Shape;
use super::time::Times;
use super::{Field, Output, OutputFormat, Program, formats, written};
use crate::base::sanitize::one_line;
use crate::base::text::truncate;
use crate::error::CliError;

/// Least width of a terminal at which lines contain ids.
const WIDTH_WITH_IDS: usize = 120;
/// Largest width of a line if the output has no width.
const LINE_MAX: usize = 1_000;
/// Divisor of the line width: a label takes at most a quarter of a line.
const LABEL_PART: usize = 4;

/// Prints each item on its own line, without a delay. JSON is always NDJSON, because an array would never end. The
/// members of an object have no columns, because the labels of later items are unknown. A terminal shows the
/// members one after the other; CSV and TSV have one cell with the object as JSON.
pub(crate) struct Stream<'a> {
    output: &'a Output,
    fields: &'static [Field],
    program: Option<Program>,
    has_header: Slot<bool>,
}

impl Output {
    /// Returns the stream of items with these fields. Call it before the first request, like [`Self::listing`].
    pub(crate) fn stream(&self, fields: &'static [Field]) -> Result<Stream<'_>, CliError> {
        self.listing(fields)?;
        let program = self.program(None)?;
        Ok(Stream { output: self, fields, program, has_header: Slot::new(false) })
    }
}

impl Stream<'_> {
    pub(crate) fn show(&self, item: &impl Serialize) -> Result<(), CliError> {
        let mut listing = self.output.listing(self.fields)?;
        listing.push(item);
        listing.objects_have_columns();
        if let Some(program) = &self.program {
            let item = listing.json().next().unwrap_or_default();
            return self.output.run(program, &item, Shape::Item);
        }
        let (screen, format) = (&self.output.screen, self.output.format);
        let header = !self.has_header.replace(true);
        if format == OutputFormat::Table {
            // A relative time would become wrong while the line is on the screen.
            let times = self.output.zone.as_ref().map(Times::Absolute);
            let text = lines(&listing.grid(), View { times, ..self.output.view() });
            return screen.unpaged(text.as_bytes());
        }
        screen.data(true, |out| {
            written(match format {
                OutputFormat::Csv => formats::csv(out, &listing.grid(), header),
                OutputFormat::Tsv => formats::tsv(out, &listing.grid()),
                _ => formats::ndjson(out, &listing),
            })
        })
    }
}

/// Formats each item on a line: its values, and the labels and values of its object.
fn lines(grid: &Grid<'_>, view: View<'_>) -> String {
    let width = view.width.unwrap_or(LINE_MAX);
    let mut text = String::new();
    for row in grid.rows() {
        let mut parts = Vec::new();
        for (column, cell) in grid.columns.iter().zip(&row) {
            match column.kind {
                Kind::Object => parts.push(members(&cell.text, width)),
                Kind::Id if width < WIDTH_WITH_IDS => {}
                kind => parts.push(view.text(kind, cell)),
            }
        }
        text.push_str(truncate(&parts.join("  "), width).trim_end());
        text.push('\n');
    }
    text
}

/// Formats the members of an object, without empty ones.
fn members(object: &str, width: usize) -> String {
    let parts = pairs(object).into_iter().filter_map(|(label, value)| {
        let value = cell(value.get()).text;
        let value = truncate(one_line(&value).trim(), width);
        let label = truncate(one_line(&decode_string(label.get())).trim(), width / LABEL_PART);
        (!value.is_empty()).then(|| format!("{label}: {value}"))
    });
    parts.collect::<Vec<_>>().join(" · ")
}

#[cfg(test)]
mod tests {
    use formsvc_table::Cell;
    use jiff::tz::TimeZone;
    use proptest::prelude::*;
    use unicode_width::UnicodeWidthStr;

    use super::*;
    use crate::output::grid::Column;
    use crate::output::paint::Paint;

    const DATA: &str = r#"{"Name":"Zoë","Message":"two\nlines","Gone":null,"Empty":" ","Age":36}"#;
    const ID: &str = "sub_0123456789abcdef0123456789abcdef";

    fn line(width: Option<usize>, id: &str, data: &str) -> String {
        let columns = [("id", Kind::Id), ("created_at", Kind::Time), ("data", Kind::Object)];
        let columns = columns.map(|(name, kind)| Column {
            name: name.to_owned(),
            field: name.to_owned(),
            kind,
            last_in_tables: false,
        });
        let row = [id, "2026-07-01T07:30:01.250Z", data];
        let row = row.map(|text| Cell { text: text.to_owned().into(), free: true });
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let view = View { width, paint: Paint(false), times: Some(Times::Absolute(&zone)) };
        lines(&Grid::of(columns.to_vec(), vec![row.to_vec()]), view)
    }

    #[test]
    fn line_has_id_local_time_and_answers() {
        let rest = "2026-07-01 09:30:01  Name: Zoë · Message: two lines · Age: 36";
        assert_eq!(line(None, ID, DATA), format!("{ID}  {rest}\n"));
        assert_eq!(line(Some(120), ID, DATA), format!("{ID}  {rest}\n"));
        assert_eq!(line(Some(80), ID, DATA), format!("{rest}\n"));
        assert_eq!(line(Some(34), ID, DATA), "2026-07-01 09:30:01  Name: Zoë · …\n");
        assert_eq!(line(Some(80), ID, "{}"), "2026-07-01 09:30:01\n");
    }

    #[test]
    fn long_label_leaves_room_for_the_answer() {
        let data = r#"{"What would you like to tell us about the garden?":"It is green"}"#;
        let shown = "2026-07-01 09:30:01  What would you like…: It is green\n";
        assert_eq!(line(Some(80), ID, data), shown);
    }

    proptest! {
        #[test]
        fn line_is_sanitized_and_not_wider_than_the_terminal(
            width in 20_usize..220,
            answers in prop::collection::btree_map(".{0,30}", ".{0,90}", 0..6),
            id in "[a-z_0-9]{1,50}",
        ) {
            let data = serde_json::to_string(&answers).unwrap();
            let shown = line(Some(width), &id, &data);
            let shown = shown.strip_suffix('\n').unwrap();
            prop_assert!(shown.width() <= width, "{:?}", shown);
            prop_assert_eq!(&*one_line(shown), shown);
        }
    }
}
