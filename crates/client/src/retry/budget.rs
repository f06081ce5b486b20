//! The limit on retries that all clones of a client share.

use std::sync::Mutex;

/// Number of tokens that a retry costs. A success at the first attempt adds one token.
const RETRY_COST: u64 = 5;

/// A token bucket. Retries take tokens, successful calls add tokens.
#[derive(Debug)]
pub(crate) struct Budget {
    /// The remaining tokens and the tokens of a full budget; `None` means no limit.
    tokens: Option<(Mutex<u64>, u64)>,
}

impl Budget {
    pub(crate) fn new(retries: Option<u32>) -> Self {
        let full = retries.map(|retries| u64::from(retries) * RETRY_COST);
        Self { tokens: full.map(|full| (Mutex::new(full), full)) }
    }

    /// Returns the number of retries of a full budget.
    pub(crate) fn retries(&self) -> Option<u32> {
        let (_, full) = self.tokens.as_ref()?;
        Some(u32::try_from(full / RETRY_COST).expect("the number was made from 32 bits"))
    }

    /// Takes the tokens of one retry; returns false if there are too few.
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

    /// Adds the tokens of a successful call that needed `retries` retries.
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
    fn failures_drain_and_successes_refill_the_budget() {
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
    fn success_after_retries_returns_their_tokens() {
        let budget = Budget::new(Some(1));
        for _ in 0..10 {
            assert!(budget.try_spend());
            budget.earn(1);
        }
    }

    #[test]
    fn unlimited_budget_allows_every_retry() {
        let budget = Budget::new(None);
        assert!((0..10_000).all(|_| budget.try_spend()));
    }
}
