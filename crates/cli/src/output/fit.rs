//! Computes the widths of the columns of a table. Widths are in cells of a terminal: an ideograph or an emoji
//! takes two.

use unicode_width::UnicodeWidthStr;

use super::paint::{Paint, TextStyle};

/// Space between columns.
pub(super) const GAP: usize = 2;
/// Least width of a text column. A table drops columns from the right before a text column gets narrower.
pub(super) const READABLE: usize = 24;

/// The least and the largest useful width of a column.
#[derive(Clone, Copy, Debug)]
pub(super) struct ColumnWidth {
    pub(super) min: usize,
    pub(super) max: usize,
}

/// Fits columns into `room` cells and returns their widths. Columns that do not fit are dropped from the right,
/// but the first column is never dropped. The remaining room goes to the columns from left to right.
pub(super) fn fit(columns: &[ColumnWidth], room: usize) -> Vec<usize> {
    let (mut widths, mut rest) = (Vec::new(), room);
    for column in columns {
        let width = if widths.is_empty() { column.min.min(room) } else { column.min };
        let gap = if widths.is_empty() { 0 } else { GAP };
        let Some(left) = rest.checked_sub(width + gap) else { break };
        widths.push(width);
        rest = left;
    }
    for (width, column) in widths.iter_mut().zip(columns) {
        let more = column.max.saturating_sub(*width).min(rest);
        *width += more;
        rest -= more;
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_dropped_from_the_right_and_widened_from_the_left() {
        let columns = [(6, 6), (24, 60), (24, 30)].map(|(min, max)| ColumnWidth { min, max });
        assert_eq!(fit(&columns, 200), [6, 60, 30]);
        assert_eq!(fit(&columns, 68), [6, 34, 24]);
        assert_eq!(fit(&columns, 57), [6, 49]);
        assert_eq!(fit(&columns, 4), [4]);
        assert!(fit(&[], 80).is_empty());
    }
}
