//! From rounds to ratios.

/// Measurements of one thing, one a round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series(Vec<f64>);

impl Series {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    /// The median; not a number when nothing was measured.
    pub(crate) fn median(&self) -> f64 {
        median(self.0.iter().copied())
    }

    /// The largest; not a number when nothing was measured.
    pub(crate) fn max(&self) -> f64 {
        self.0.iter().copied().fold(f64::NAN, f64::max)
    }

    /// Median of the ratios of each round: what drifts from round to round drifts in both.
    pub(crate) fn over(&self, floor: &Self) -> f64 {
        median(self.0.iter().zip(&floor.0).map(|(subject, floor)| subject / floor))
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        even if even % 2 == 0 => f64::midpoint(sorted[middle - 1], sorted[middle]),
        _ => sorted[middle],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: &[f64]) -> Series {
        Series(values.to_vec())
    }

    #[test]
    fn one_wild_round_moves_no_median() {
        assert!((series(&[1.0, 900.0, 2.0]).median() - 2.0).abs() < 1e-9);
        assert!((series(&[1.0, 3.0]).median() - 2.0).abs() < 1e-9);
        assert!(series(&[]).median().is_nan());
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        let (subject, floor) = (series(&[2.0, 8.0, 30.0]), series(&[1.0, 2.0, 10.0]));
        assert!((subject.over(&floor) - 3.0).abs() < 1e-9);
    }

    #[test]
    fn the_worst_round_is_found_wherever_it_was() {
        assert!((series(&[1.0, 2.0, 1.5]).max() - 2.0).abs() < 1e-9);
        assert!(series(&[]).max().is_nan());
    }
}
