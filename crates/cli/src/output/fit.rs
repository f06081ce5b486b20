//! How wide the columns of a table are, and what of a text fits into a width. Widths are in cells of
//! a terminal: an ideograph or an emoji takes two.

/// Space between columns.
pub(super) const GAP: usize = 2;
/// Narrowest a text is squeezed while a column further right can be left out instead.
pub(super) const READABLE: usize = 24;
/// Narrowest a text is squeezed where somebody chose the columns: less tells a reader nothing.
pub(super) const NARROWEST: usize = 8;
/// Narrowest a heading is cut where what stands under it is narrower still.
const HEADING_MIN: usize = 8;
/// Cells of an id that are shown in lists: more than those of the service have. A stranger's has any length.
pub(super) const ID_MAX: usize = 40;

/// What a column would like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// The width of its widest cell.
    pub(super) cells: usize,
    /// The width of its heading.
    pub(super) heading: usize,
    /// Whether its cells are shown whole or not at all: half an id, an address or a number is none.
    pub(super) whole: bool,
}

impl Wanted {
    /// With nothing cut.
    pub(super) fn all(self) -> usize {
        self.cells.max(self.heading)
    }

    /// With nothing cut but the heading.
    fn contents(self) -> usize {
        self.cells.max(self.heading.min(HEADING_MIN))
    }

    fn least(self, text: usize) -> usize {
        if self.whole { self.contents() } else { self.contents().min(text) }
    }
}

/// The widths of the columns that fit beside each other within `room`, from the left; none for those
/// that are left out, for which a text is not squeezed below `text`. What is long and must be whole is
/// only passed over. Then headings give way, and then text, the widest first. There is always one
/// column.
pub(super) fn widths(wanted: &[Wanted], room: usize, text: usize) -> Vec<Option<usize>> {
    let mut widths = vec![None; wanted.len()];
    let (mut shown, mut used) = (Vec::new(), 0);
    for (at, column) in wanted.iter().enumerate() {
        let gap = if shown.is_empty() { 0 } else { GAP };
        if used + gap + column.least(text) <= room {
            used += gap + column.least(text);
            shown.push(at);
        } else if !(column.whole && column.cells > READABLE) {
            break;
        }
    }
    if shown.is_empty() {
        // The first, as much of it as there is room for.
        if let (Some(first), Some(width)) = (wanted.first(), widths.first_mut()) {
            *width = Some(first.all().min(room));
        }
        return widths;
    }
    let room = room.saturating_sub(GAP * (shown.len() - 1));
    let shown_wanted = || shown.iter().map(|at| wanted[*at]);
    let contents: usize = shown_wanted().map(Wanted::contents).sum();
    let bounds: Vec<(usize, usize)> = if contents <= room {
        shown_wanted().map(|column| (column.contents(), column.all())).collect()
    } else {
        shown_wanted().map(|column| (column.least(text), column.contents())).collect()
    };
    let fitted = leveled(&bounds, room);
    for (at, width) in shown.into_iter().zip(fitted) {
        widths[at] = Some(width);
    }
    widths
}

/// Widths between the bounds of each that take the room together, or all they want: what is wider than
/// a level is cut down to it. The least widths must fit.
fn leveled(bounds: &[(usize, usize)], room: usize) -> Vec<usize> {
    let at = |level: usize| -> Vec<usize> {
        bounds.iter().map(|(least, most)| level.clamp(*least, *most)).collect()
    };
    let fits = |level: usize| at(level).iter().sum::<usize>() <= room;
    let widest = bounds.iter().map(|(_, most)| *most).max().unwrap_or(0);
    if fits(widest) {
        return at(widest);
    }
    let (mut low, mut high) = (0, widest);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if fits(middle) { low = middle } else { high = middle }
    }
    let mut widths = at(low);
    let mut left = room.saturating_sub(widths.iter().sum());
    // What is left over, a cell each, for those that were cut.
    for (width, (_, most)) in widths.iter_mut().zip(bounds) {
        if left > 0 && *width == low && *width < *most {
            *width += 1;
            left -= 1;
        }
    }
    widths
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(cells: usize) -> Wanted {
        Wanted { cells, heading: 1, whole: false }
    }

    fn whole(cells: usize, heading: usize) -> Wanted {
        Wanted { cells, heading, whole: true }
    }

    fn fitted(wanted: &[usize], room: usize) -> Vec<usize> {
        let wanted: Vec<Wanted> = wanted.iter().map(|width| text(*width)).collect();
        widths(&wanted, room, READABLE).into_iter().flatten().collect()
    }

    #[test]
    fn the_widest_give_way_first() {
        assert_eq!(fitted(&[5, 10, 5], 80), [5, 10, 5], "there is room for all");
        assert_eq!(fitted(&[5, 100, 9], 50), [5, 32, 9]);
        assert_eq!(fitted(&[30, 100, 40], 79), [25, 25, 25]);
        assert_eq!(fitted(&[30, 100, 40], 81), [26, 26, 25], "what is left over is given away");
    }

    #[test]
    fn a_text_is_readable_or_what_is_further_right_is_left_out() {
        assert_eq!(fitted(&[30, 30, 30], 76), [24, 24, 24]);
        assert_eq!(fitted(&[30, 30, 30], 75), [30, 30]);
        assert_eq!(fitted(&[30, 30, 30], 60), [29, 29]);
        assert_eq!(fitted(&[30, 30, 30], 4), [4], "one is always there");
        assert_eq!(fitted(&[], 80), [0; 0]);
    }

    #[test]
    fn an_id_is_shown_whole_or_not_at_all() {
        let columns = [whole(10, 2), text(60), whole(30, 2), whole(4, 2)];
        assert_eq!(widths(&columns, 76, READABLE), [Some(10), Some(26), Some(30), Some(4)]);
        assert_eq!(
            widths(&columns, 60, READABLE),
            [Some(10), Some(42), None, Some(4)],
            "it is passed over"
        );
        assert_eq!(widths(&columns[..1], 6, READABLE), [Some(6)], "alone it is cut after all");
    }

    #[test]
    fn a_heading_gives_way_before_what_stands_under_it() {
        let columns = [whole(8, 10), text(40), whole(3, 20)];
        assert_eq!(widths(&columns, 74, READABLE), [Some(10), Some(40), Some(20)]);
        assert_eq!(widths(&columns, 64, READABLE), [Some(10), Some(40), Some(10)]);
        assert_eq!(widths(&columns, 60, READABLE), [Some(8), Some(40), Some(8)]);
        assert_eq!(widths(&columns, 50, READABLE), [Some(8), Some(30), Some(8)]);
    }

    proptest! {
        #[test]
        fn nothing_is_wider_than_its_room(
            wanted in prop::collection::vec((0_usize..200, 0_usize..40, any::<bool>()), 1..12),
            room in 1_usize..220,
        ) {
            let wanted: Vec<Wanted> = wanted
                .into_iter()
                .map(|(cells, heading, whole)| Wanted { cells, heading, whole })
                .collect();
            let widths = widths(&wanted, room, READABLE);
            let shown: Vec<(usize, Wanted)> = widths
                .iter()
                .zip(&wanted)
                .filter_map(|(width, column)| width.map(|width| (width, *column)))
                .collect();
            prop_assert!(!shown.is_empty());
            let line =
                shown.iter().map(|(width, _)| width).sum::<usize>() + GAP * (shown.len() - 1);
            prop_assert!(line <= room, "{widths:?}");
            if shown.len() > 1 {
                let halved = shown.iter().any(|(width, column)| {
                    *width < if column.whole { column.cells } else { column.cells.min(READABLE) }
                });
                prop_assert!(!halved, "{widths:?}");
            }
            // Room is left only when everything that is shown has what it wants.
            let cut = shown.iter().any(|(width, column)| *width < column.all());
            prop_assert!(!cut || line == room, "{widths:?}");
        }
    }
}
