//! What stands where, on a screen of any size.

use ratatui_core::layout::Rect;

/// The smallest screen: columns and rows.
pub(super) const SMALLEST: (u16, u16) = (40, 10);
/// Columns from which the list and the text stand beside each other.
const WIDE: u16 = 150;
/// Columns of the list there, at most.
const LIST_MOST: u16 = 104;
/// Rows from which the list and the text stand one above the other.
const HIGH: u16 = 18;
/// Rows of the list there, its heading included.
const LIST_ROWS: (u16, u16) = (7, 16);
/// Rows of what is said at the bottom, at most.
const SAID_MOST: u16 = 4;

/// What is moved by the keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Focus {
    #[default]
    List,
    Text,
}

/// What stands where. What has no place is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Places {
    pub(super) title: Rect,
    pub(super) list: Option<Rect>,
    /// The parts, and the text of one of them.
    pub(super) text: Option<Rect>,
    pub(super) foot: Rect,
}

impl Places {
    /// On a screen of this size; none on one that is too small. `said` is how many rows the words at the
    /// bottom would like.
    pub(super) fn of((width, height): (u16, u16), focus: Focus, said: u16) -> Option<Self> {
        if width < SMALLEST.0 || height < SMALLEST.1 {
            return None;
        }
        let said = said.clamp(1, SAID_MOST);
        let title = Rect::new(0, 0, width, 1);
        let foot = Rect::new(0, height - said, width, said);
        let middle = Rect::new(0, 1, width, height - 1 - said);
        let (list, text) = if width >= WIDE {
            // A column stays free between them.
            let list = (width / 2).min(LIST_MOST);
            let text = Rect::new(list + 1, 1, width - list - 1, middle.height);
            (Some(Rect::new(0, 1, list, middle.height)), Some(text))
        } else if height >= HIGH {
            let rows = (height * 2 / 5).clamp(LIST_ROWS.0, LIST_ROWS.1);
            let text = Rect::new(0, 1 + rows, width, middle.height - rows);
            (Some(Rect::new(0, 1, width, rows)), Some(text))
        } else {
            match focus {
                Focus::List => (Some(middle), None),
                Focus::Text => (None, Some(middle)),
            }
        };
        Some(Self { title, list, text, foot })
    }

    /// Rows of the list below its heading.
    pub(super) fn list_rows(&self) -> usize {
        self.list.map_or(0, |list| usize::from(list.height.saturating_sub(1)))
    }

    /// Columns and rows of the text below the names of the parts.
    pub(super) fn text_size(&self) -> (usize, usize) {
        // The last column shows how far down it is.
        let size = |text: Rect| (text.width.saturating_sub(1), text.height.saturating_sub(1));
        let (width, height) = self.text.map_or((0, 0), size);
        (width.into(), height.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_overlaps_and_all_of_the_screen_is_used_at_every_size() {
        for width in 40..=300 {
            for height in 10..=100 {
                for focus in [Focus::List, Focus::Text] {
                    let places = Places::of((width, height), focus, 1).unwrap();
                    let shown = [Some(places.title), places.list, places.text, Some(places.foot)];
                    let shown: Vec<_> = shown.into_iter().flatten().collect();
                    for (at, one) in shown.iter().enumerate() {
                        assert!(one.right() <= width && one.bottom() <= height && !one.is_empty());
                        assert!(shown[at + 1..].iter().all(|other| !one.intersects(*other)));
                    }
                    let used: u32 = shown.iter().map(|one| one.area()).sum();
                    let between = if width >= WIDE { u32::from(height - 2) } else { 0 };
                    assert_eq!(used + between, u32::from(width) * u32::from(height));
                }
            }
        }
        assert_eq!(Places::of((39, 10), Focus::List, 1), None);
        assert_eq!(Places::of((40, 9), Focus::List, 1), None);
    }

    #[test]
    fn a_small_screen_shows_what_the_keys_move() {
        let list = Places::of((40, 10), Focus::List, 1).unwrap();
        let text = Places::of((40, 10), Focus::Text, 1).unwrap();
        assert_eq!((list.list_rows(), list.text), (7, None));
        assert_eq!((text.text_size(), text.list), ((39, 7), None));
        assert_eq!(Places::of((80, 24), Focus::List, 99).unwrap().foot.height, SAID_MOST);
    }
}
