//! Computes the widths of the columns of a table. Widths are in cells of a terminal: an ideograph or an emoji
//! takes two.

use unicode_width::UnicodeWidthStr;

use super::paint::{Paint, TextStyle};

/// Space between columns.
pub(super) const GAP: usize = 2;
/// Least width of a text column. A table drops columns from the right before a text column gets narrower.
pub(super) const READABLE: usize = 24;
/// Least width to which a heading is truncated.
const HEADING_MIN: usize = 8;

/// The least and the largest useful width of a column.
#[derive(Clone, Copy, Debug)]
pub(super) struct ColumnWidth {
    pub(super) min: usize,
    pub(super) max: usize,
}

impl ColumnWidth {
    /// Returns the widths for cells and a heading of these widths. If `is_whole` is true, the cells are never
    /// truncated. Otherwise they can be truncated to `text_min`.
    pub(super) fn new(cells: usize, heading: usize, is_whole: bool, text_min: usize) -> Self {
        let contents = cells.max(heading.min(HEADING_MIN));
        let min = if is_whole { contents } else { contents.min(text_min) };
        Self { min, max: cells.max(heading) }
    }
}

/// Fits columns into `room` cells. Columns that do not fit are dropped from the right (`None`), but the first
/// column is never dropped. The remaining room goes to the narrowest columns first.
pub(super) fn fit(columns: &[ColumnWidth], room: usize) -> Vec<Option<usize>> {
    let (mut shown, mut used) = (0_usize, 0);
    for column in columns {
        let more = used + column.min + if shown > 0 { GAP } else { 0 };
        if shown > 0 && more > room {
            break;
        }
        (shown, used) = (shown + 1, more);
    }
    let room = room.saturating_sub(GAP * shown.saturating_sub(1));
    // Only the first column can be wider than the room.
    let bounds = columns[..shown].iter();
    let bounds = bounds.map(|column| (column.min.min(room), column.max.min(room)));
    let bounds: Vec<(usize, usize)> = bounds.collect();
    let mut widths: Vec<Option<usize>> = level(&bounds, room).into_iter().map(Some).collect();
    widths.resize(columns.len(), None);
    widths
}

/// A cell with a text that fits the width of its column.
pub(super) struct FittedCell {
    pub(super) width: usize,
    pub(super) is_right: bool,
    pub(super) style: TextStyle,
    pub(super) text: String,
}

/// Joins the cells of a row, without trailing space.
pub(super) fn row(cells: impl IntoIterator<Item = FittedCell>, paint: Paint) -> String {
    let (mut line, mut space) = (String::new(), 0);
    for cell in cells {
        let rest = cell.width.saturating_sub(cell.text.width());
        if cell.text.is_empty() {
            space += rest + GAP;
            continue;
        }
        let (before, after) = if cell.is_right { (rest, 0) } else { (0, rest) };
        line.push_str(&" ".repeat(space + before));
        paint.write(&mut line, cell.style, &cell.text);
        space = after + GAP;
    }
    line
}

/// Returns a width within its bounds for each column. The widths add up to `room`, or all are maximal if the room
/// is larger than that. To save room, all columns above a common width, the level, are reduced to it.
fn level(bounds: &[(usize, usize)], room: usize) -> Vec<usize> {
    let at = |level: usize| bounds.iter().map(move |(min, max)| level.clamp(*min, *max));
    let fits = |level: usize| at(level).sum::<usize>() <= room;
    let widest = bounds.iter().map(|(_, max)| *max).max().unwrap_or(0);
    if fits(widest) {
        return at(widest).collect();
    }
    let level = (0..=widest).rev().find(|level| fits(*level)).unwrap_or(0);
    let mut widths: Vec<usize> = at(level).collect();
    let mut rest = room.saturating_sub(widths.iter().sum());
    for (width, (_, max)) in widths.iter_mut().zip(bounds) {
        if rest > 0 && *width == level && *width < *max {
            *width += 1;
            rest -= 1;
        }
    }
    widths
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(cells: usize) -> ColumnWidth {
        ColumnWidth::new(cells, 1, false, READABLE)
    }

    fn whole(cells: usize, heading: usize) -> ColumnWidth {
        ColumnWidth::new(cells, heading, true, READABLE)
    }

    fn fitted(cells: &[usize], room: usize) -> Vec<usize> {
        let columns: Vec<_> = cells.iter().map(|cells| text(*cells)).collect();
        fit(&columns, room).into_iter().flatten().collect()
    }

    #[test]
    fn widest_columns_are_reduced_first() {
        assert_eq!(fitted(&[5, 10, 5], 80), [5, 10, 5]);
        assert_eq!(fitted(&[5, 100, 9], 50), [5, 32, 9]);
        assert_eq!(fitted(&[30, 100, 40], 79), [25, 25, 25]);
        assert_eq!(fitted(&[30, 100, 40], 81), [26, 26, 25]);
    }

    #[test]
    fn columns_are_dropped_from_the_right() {
        assert_eq!(fitted(&[30, 30, 30], 76), [24, 24, 24]);
        assert_eq!(fitted(&[30, 30, 30], 75), [30, 30]);
        assert_eq!(fitted(&[30, 30, 30], 4), [4]);
        assert_eq!(fitted(&[], 80), [0; 0]);
        let columns = [whole(36, 2), text(60), whole(30, 2), whole(4, 2)];
        assert_eq!(fit(&columns, 104), [Some(36), Some(28), Some(30), Some(4)]);
        assert_eq!(fit(&columns, 90), [Some(36), Some(52), None, None]);
        assert_eq!(fit(&columns, 40), [Some(36), None, None, None]);
    }

    #[test]
    fn heading_is_reduced_but_not_the_number_below_it() {
        let columns = [whole(8, 10), text(40), whole(3, 20)];
        assert_eq!(fit(&columns, 74), [Some(10), Some(40), Some(20)]);
        assert_eq!(fit(&columns, 44), [Some(8), Some(24), Some(8)]);
    }

    proptest! {
        #[test]
        fn shown_columns_fit_the_room(
            columns in prop::collection::vec((0_usize..200, 0_usize..40, any::<bool>()), 1..12),
            room in 1_usize..220,
        ) {
            let columns: Vec<ColumnWidth> = columns
                .into_iter()
                .map(|(cells, heading, is_whole)| ColumnWidth::new(cells, heading, is_whole, READABLE))
                .collect();
            let widths = fit(&columns, room);
            let shown: Vec<(usize, ColumnWidth)> =
                widths.iter().zip(&columns).map_while(|(width, column)| Some(((*width)?, *column))).collect();
            prop_assert!(!shown.is_empty());
            let line = shown.iter().map(|(width, _)| width).sum::<usize>() + GAP * (shown.len() - 1);
            prop_assert!(line <= room, "{widths:?}");
            prop_assert!(shown.len() == 1 || shown.iter().all(|(width, column)| *width >= column.min));
            let is_reduced = shown.iter().any(|(width, column)| *width < column.max);
            prop_assert!(!is_reduced || line == room, "{widths:?}");
        }
    }
}
