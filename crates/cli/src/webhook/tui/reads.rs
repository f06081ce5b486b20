//! Which read of the list is under way: one at a time, and its answer alone is shown.

/// What is read of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Newest,
    /// Those before the oldest that was read.
    Older,
}

/// The reads of the list.
#[derive(Debug, Default)]
pub(super) struct Reads {
    /// The number of the last one.
    last: u64,
    under_way: Option<Part>,
    /// Whether what is shown was read since it was last asked for otherwise.
    pub(super) is_known: bool,
    /// Why the last one failed, where it did.
    pub(super) failed: Option<String>,
}

impl Reads {
    /// Begins one, unless another is under way: its number.
    pub(super) fn begin(&mut self, part: Part) -> Option<u64> {
        if self.under_way.is_some() {
            return None;
        }
        self.under_way = Some(part);
        self.last += 1;
        Some(self.last)
    }

    /// Begins one of the newest in place of whatever is under way, of whose answer there is no use any more.
    pub(super) fn begin_anew(&mut self) -> u64 {
        (self.under_way, self.is_known, self.failed) = (Some(Part::Newest), false, None);
        self.last += 1;
        self.last
    }

    /// One has ended: what it was of, if it is the one that is waited for.
    pub(super) fn ended(&mut self, number: u64) -> Option<Part> {
        if number != self.last {
            return None;
        }
        self.under_way.take()
    }

    /// It was read.
    pub(super) fn succeeded(&mut self) {
        (self.is_known, self.failed) = (true, None);
    }

    /// It could not be read. Says whether that is news.
    pub(super) fn failed(&mut self, why: String) -> bool {
        let is_news = self.failed.as_ref() != Some(&why);
        self.failed = Some(why);
        is_news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_under_way_at_a_time_and_the_last_one_counts() {
        let mut reads = Reads::default();
        let first = reads.begin(Part::Newest).unwrap();
        assert_eq!((reads.begin(Part::Newest), reads.begin(Part::Older)), (None, None));
        let second = reads.begin_anew();
        assert_eq!(reads.ended(first), None);
        assert_eq!(reads.begin(Part::Older), None, "the second is under way");
        assert_eq!(reads.ended(second), Some(Part::Newest));
        assert_eq!(reads.ended(second), None);
        assert!(reads.begin(Part::Older).is_some());
    }

    #[test]
    fn a_failure_is_news_once() {
        let mut reads = Reads::default();
        assert!(reads.failed("a".to_owned()) && !reads.failed("a".to_owned()));
        assert!(reads.failed("b".to_owned()));
        reads.succeeded();
        assert!(reads.is_known && reads.failed("b".to_owned()));
    }
}
