//! How often may be sent.

use formsvc_protocol::FormId;

use super::client::Network;
use super::options::PublicOptions;
use crate::rate_limit::{MonotonicClock, RateLimiter};

/// Windows of addresses, at most: some tens of megabytes, were all of them full. Addresses of IPv6 are
/// to be had in any number.
const ADDRESSES_MAX: usize = 65_536;

/// The limits of all forms.
#[derive(Debug)]
pub(super) struct Limits {
    by_address: RateLimiter<(FormId, Network)>,
    /// Holds also when there are more addresses than can be counted.
    by_form: RateLimiter<FormId>,
}

impl Limits {
    pub(super) fn new(options: &PublicOptions, clock: MonotonicClock) -> Self {
        Self {
            by_address: RateLimiter::new(options.per_address, MonotonicClock::clone(&clock))
                .with_windows_max(ADDRESSES_MAX),
            by_form: RateLimiter::new(options.per_form, clock),
        }
    }

    /// Counts a submission, or says after how many whole seconds one would be admitted. The address
    /// goes first: what is refused to one does not count against the others.
    pub(super) fn admit(&self, form: &FormId, network: Network) -> Result<(), u64> {
        self.by_address.admit(&(form.clone(), network))?;
        self.by_form.admit(form)
    }
}
