//! The bound on retries that all clones of a client share.

use std::sync::Mutex;

/// Tokens a retry costs; a success at the first attempt earns one.
const RETRY_COST: u64 = 5;

/// A token bucket. Failing calls drain it, succeeding calls fill it.
#[derive(Debug)]
pub(crate) struct Budget {
    /// Tokens left and at most; `None` has no bound.
    tokens: Option<(Mutex<u64>, u64)>,
}

impl Budget {
    pub(crate) fn new(retries: Option<u32>) -> Self {
        let full = retries.map(|retries| u64::from(retries) * RETRY_COST);
        Self { tokens: full.map(|full| (Mutex::new(full), full)) }
    }

    /// The retries that a full budget allows.
    pub(crate) fn retries(&self) -> Option<u32> {
        let (_, full) = self.tokens.as_ref()?;
        Some(u32::try_from(full / RETRY_COST).expect("it was made from 32 bits"))
    }

    /// Takes the price of one retry, if it is there.
    pub(crate) fn try_spend(&self) -> bool {
        let Some((tokens, _)) = &self.tokens else { return true };
        let mut left = tokens.lock().expect("no code panics while it holds this lock");
        match left.checked_sub(RETRY_COST) {
            Some(rest) => {
                *left = rest;
                true
            }
            None => false,
        }
    }

    /// A call succeeded after `retries`.
    pub(crate) fn earn(&self, retries: u32) {
        let Some((tokens, full)) = &self.tokens else { return };
        let earned = if retries == 0 { 1 } else { u64::from(retries) * RETRY_COST };
        let mut left = tokens.lock().expect("no code panics while it holds this lock");
        *left = (*left + earned).min(*full);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_drain_it_and_successes_fill_it_up_to_the_brim() {
        let budget = Budget::new(Some(2));
        assert!(budget.try_spend() && budget.try_spend());
        assert!(!budget.try_spend());
        for _ in 0..4 {
            budget.earn(0);
            assert!(!budget.try_spend());
        }
        budget.earn(0);
        assert!(budget.try_spend());
        budget.earn(100);
        assert!(budget.try_spend() && budget.try_spend());
        assert!(!budget.try_spend());
    }

    #[test]
    fn a_call_that_succeeds_after_retries_costs_nothing() {
        let budget = Budget::new(Some(1));
        for _ in 0..10 {
            assert!(budget.try_spend());
            budget.earn(1);
        }
    }

    #[test]
    fn without_a_bound_it_never_ends() {
        let budget = Budget::new(None);
        assert!((0..10_000).all(|_| budget.try_spend()));
    }
}
