//! How dense a list is, from the pages seen: what ranges are cut by. A guess, and nothing rests on
//! it but speed.

use std::collections::VecDeque;

/// Pages that are remembered.
const PAGES: usize = 12;

/// The last pages of a range: how long a time each spans, in milliseconds, and its rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Pace(VecDeque<(i64, usize)>);

impl Pace {
    /// A page of so many rows, whose oldest is so much older than what came before it.
    pub(super) fn add(&mut self, span_ms: i64, rows: usize) {
        if rows == 0 {
            return;
        }
        if self.0.len() == PAGES {
            self.0.pop_front();
        }
        self.0.push_back((span_ms.max(1), rows));
    }

    /// The pages, the oldest first.
    pub(super) fn pages(&self) -> impl Iterator<Item = (i64, usize)> {
        self.0.iter().rev().copied()
    }
}

/// Rows a millisecond, from the pages nearest to the place in question, which come first. Of
/// several, the sparsest is left out: it may span a gap that says nothing about what lies below.
#[expect(clippy::cast_precision_loss, reason = "a guess, of numbers far below 2^52")]
pub(super) fn density(pages: impl Iterator<Item = (i64, usize)>) -> Option<f64> {
    let rate = |(span, rows): (i64, usize)| rows as f64 / span as f64;
    let mut pages: Vec<_> = pages.take(PAGES).collect();
    pages.sort_by(|a, b| rate(*a).total_cmp(&rate(*b)));
    let from = usize::from(pages.len() > 1);
    let (span, rows) =
        pages.get(from..)?.iter().fold((0, 0), |(s, r), page| (s + page.0, r + page.1));
    (rows > 0).then(|| rate((span, rows)))
}

/// How many milliseconds so many rows take up.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "a guess; a float that is too large becomes the largest number"
)]
pub(super) fn width(rows: usize, density: f64) -> i64 {
    ((rows as f64 / density).ceil() as i64).max(1)
}

/// How many rows lie in so many milliseconds.
#[expect(clippy::cast_precision_loss, reason = "a guess, of numbers far below 2^52")]
pub(super) fn rows_within(span_ms: i64, density: f64) -> f64 {
    span_ms.max(0) as f64 * density
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_among_dense_pages_is_left_out() {
        let year = 365 * 86_400_000;
        let dense = density([(1_000, 100), (year, 100), (1_000, 100)].into_iter()).unwrap();
        assert!((dense - 0.1).abs() < 1e-9, "{dense}");
        assert!(density([(year, 100)].into_iter()).is_some());
        assert_eq!(density([].into_iter()), None);
    }

    #[test]
    fn width_and_rows_are_the_inverse_of_each_other() {
        assert_eq!(width(800, 0.1), 8_000);
        assert!((rows_within(8_000, 0.1) - 800.0).abs() < 1e-9);
        assert_eq!(width(1, 1e9), 1);
        assert!(width(usize::MAX, f64::MIN_POSITIVE) > 0);
    }

    #[test]
    fn only_the_last_pages_are_remembered() {
        let mut pace = Pace::default();
        for n in 1..=20 {
            pace.add(n, 1);
        }
        pace.add(99, 0);
        let spans: Vec<_> = pace.pages().map(|page| page.0).collect();
        assert_eq!((spans.len(), spans[0], spans[PAGES - 1]), (PAGES, 20, 9));
    }
}
