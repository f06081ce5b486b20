//! Computes the widths of the columns of a table. Widths are in cells of a terminal: an ideograph or an emoji
//! takes two.

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
    let (mut widths, mut rest) = (Vec::new(), room + GAP);
    for column in columns {
        let width = if widths.is_empty() { column.min.min(room) } else { column.min };
        let Some(left) = rest.checked_sub(width + GAP) else { break };
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
