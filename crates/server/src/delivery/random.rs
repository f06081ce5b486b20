//! Randomness of deliveries.

use std::sync::Arc;

/// Numbers from 0 up to 1 at random, passed in so that tests own them.
pub type Random = Arc<dyn Fn() -> f64 + Send + Sync>;

/// Numbers that cannot be foretold well enough to spread retries; nothing is kept secret by them.
pub fn system_random() -> Random {
    Arc::new(fastrand::f64)
}
