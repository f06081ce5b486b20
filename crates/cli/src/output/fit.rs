//! How wide the columns of a table are, and what of a text fits into a width. Widths are in cells of
//! a terminal: an ideograph or an emoji takes two.

use unicode_width::UnicodeWidthStr;

/// Space between columns.
pub(super) const GAP: usize = 2;
/// Narrowest a column is squeezed, if it was wider: less tells a reader nothing.
const NARROWEST: usize = 8;
/// How many characters of a text are looked at for each cell of width, so that a text of nothing but
/// marks that pile up costs no time.
const MARKS_MAX: usize = 8;

/// What a column would like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// The width of its widest cell.
    pub(super) width: usize,
    /// Whether it is shown whole or not at all: half an id is no id.
    pub(super) whole: bool,
}

impl Wanted {
    fn least(self) -> usize {
        if self.whole { self.width } else { self.width.min(NARROWEST) }
    }
}

/// The widths of the columns that fit beside each other within `room`, from the left. The widest
/// columns give way first, down to a width that can still be read; only then is the last column left
/// out. There is always one column.
pub(super) fn widths(wanted: &[Wanted], room: usize) -> Vec<usize> {
    let mut shown = wanted.len();
    while shown > 1 {
        let least: usize = wanted[..shown].iter().map(|column| column.least()).sum();
        if least + GAP * (shown - 1) <= room {
            break;
        }
        shown -= 1;
    }
    let wanted = &wanted[..shown];
    let room = room.saturating_sub(GAP * shown.saturating_sub(1));
    let at = |level: usize| -> Vec<usize> {
        wanted.iter().map(|column| column.width.min(level.max(column.least()))).collect()
    };
    let fits = |level: usize| at(level).iter().sum::<usize>() <= room;
    let widest = wanted.iter().map(|column| column.width).max().unwrap_or(0);
    if fits(widest) {
        return at(widest);
    }
    // The highest level at which all fit: what is wider is cut down to it.
    let (mut low, mut high) = (0, widest);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if fits(middle) { low = middle } else { high = middle }
    }
    let mut widths = at(low);
    let mut left = room.saturating_sub(widths.iter().sum());
    // What is left over, a cell each, for those that were cut.
    for (width, column) in widths.iter_mut().zip(wanted) {
        if left > 0 && *width == low && *width < column.width {
            *width += 1;
            left -= 1;
        }
    }
    if let [only] = &mut widths[..] {
        *only = (*only).min(room);
    }
    widths
}

/// The text in at most `width` cells; what is cut is shown by an ellipsis. Never half of a character
/// that takes two cells, and never a mark without what it stands on.
pub(super) fn shortened(text: &str, width: usize) -> String {
    let beyond = text.char_indices().nth(MARKS_MAX * (width + 1));
    if beyond.is_none() && text.width() <= width {
        return text.to_owned();
    }
    let Some(room) = width.checked_sub(1) else { return String::new() };
    let head = beyond.map_or(text, |(end, _)| &text[..end]);
    let ends = head.char_indices().map(|(at, c)| at + c.len_utf8());
    let end = ends.take_while(|end| head[..*end].width() <= room).last().unwrap_or(0);
    format!("{}…", &head[..end])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fitted(wanted: &[usize], room: usize) -> Vec<usize> {
        let wanted: Vec<Wanted> =
            wanted.iter().map(|width| Wanted { width: *width, whole: false }).collect();
        widths(&wanted, room)
    }

    #[test]
    fn the_widest_give_way_first() {
        assert_eq!(fitted(&[5, 10, 5], 80), [5, 10, 5], "there is room for all");
        assert_eq!(fitted(&[5, 100, 9], 50), [5, 32, 9]);
        assert_eq!(fitted(&[30, 100, 40], 64), [20, 20, 20]);
        assert_eq!(fitted(&[30, 100, 40], 66), [21, 21, 20], "what is left over is given away");
    }

    #[test]
    fn a_column_is_left_out_only_when_all_are_as_narrow_as_can_be_read() {
        assert_eq!(fitted(&[30, 30, 30], 28), [8, 8, 8]);
        assert_eq!(fitted(&[30, 30, 30], 27), [13, 12]);
        assert_eq!(fitted(&[30, 30, 30], 4), [4], "one is always there");
        assert_eq!(fitted(&[], 80), [0; 0]);
    }

    #[test]
    fn an_id_is_shown_whole_or_not_at_all() {
        let wanted = |width, whole| Wanted { width, whole };
        let columns = [wanted(10, true), wanted(60, false), wanted(30, true)];
        assert_eq!(widths(&columns, 60), [10, 16, 30]);
        assert_eq!(widths(&columns, 50), [10, 38]);
        assert_eq!(widths(&columns[..1], 6), [6], "alone it is cut after all");
    }

    #[test]
    fn text_is_cut_between_characters() {
        for (text, width, shown) in [
            ("short", 5, "short"),
            ("longer", 5, "long…"),
            ("漢字漢字", 8, "漢字漢字"),
            ("漢字漢字", 7, "漢字漢…"),
            ("漢字漢字", 6, "漢字…"),
            ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"),
            ("👍🏽👍🏽", 3, "👍🏽…"),
            ("x", 0, ""),
            ("xy", 1, "…"),
        ] {
            assert_eq!(shortened(text, width), shown, "{text} in {width}");
        }
        let piled = format!("a{}", "\u{301}".repeat(100_000));
        assert!(shortened(&piled, 10).chars().count() < 100);
    }

    proptest! {
        #[test]
        fn nothing_is_wider_than_its_room(
            text in "\\PC{0,40}",
            width in 0_usize..50,
            wanted in prop::collection::vec((0_usize..200, any::<bool>()), 1..12),
            room in 1_usize..220,
        ) {
            prop_assert!(shortened(&text, width).width() <= width);
            let wanted: Vec<Wanted> =
                wanted.into_iter().map(|(width, whole)| Wanted { width, whole }).collect();
            let widths = widths(&wanted, room);
            prop_assert!(!widths.is_empty());
            let line = widths.iter().sum::<usize>() + GAP * (widths.len() - 1);
            prop_assert!(line <= room, "{widths:?}");
            let cut = widths.iter().zip(&wanted).any(|(width, column)| *width < column.width);
            // Room is left only when everything has what it wants.
            let all = widths.len() == wanted.len();
            prop_assert!(!cut || !all || line == room, "{widths:?}");
        }
    }
}
