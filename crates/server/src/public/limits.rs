//! How often may be sent.

use std::num::NonZeroU32;

use formsvc_protocol::FormId;

use super::options::PublicOptions;
use crate::network::Network;
use crate::rate_limit::{MonotonicClock, RateLimiter};

/// Windows of addresses, at most: some tens of megabytes, were all of them full. Addresses of IPv6 are
/// to be had in any number.
const ADDRESSES_MAX: usize = 65_536;
/// A site of IPv6 may send as often as so many of its networks.
const NETWORKS_OF_A_SITE: NonZeroU32 = NonZeroU32::new(16).expect("it is not zero");

/// The limits of all forms.
#[derive(Debug)]
pub(super) struct Limits {
    by_network: RateLimiter<(FormId, Network)>,
    by_site: RateLimiter<(FormId, Network)>,
    /// Holds also when there are more addresses than can be counted.
    by_form: RateLimiter<FormId>,
    spam: RateLimiter<FormId>,
}

/// Whose quota is used up, and for how many whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// That of who sends, by the address.
    Sender(u64),
    /// That of the form.
    Form(u64),
}

impl Limits {
    pub(super) fn new(options: &PublicOptions, clock: MonotonicClock) -> Self {
        let by_address = |limit| {
            RateLimiter::new(limit, MonotonicClock::clone(&clock)).with_windows_max(ADDRESSES_MAX)
        };
        Self {
            by_network: by_address(options.per_address),
            by_site: by_address(options.per_address.times(NETWORKS_OF_A_SITE)),
            by_form: RateLimiter::new(options.per_form, MonotonicClock::clone(&clock)),
            spam: RateLimiter::new(options.per_form, clock),
        }
    }

    /// Counts what an address sends, whatever it is, or says after how many whole seconds something
    /// would be admitted. The smallest network goes first: what is refused to one does not count
    /// against its neighbours. Nothing counts against the form yet, or whoever sends it nonsense would
    /// close it for all others.
    pub(super) fn admit(&self, form: &FormId, network: Network) -> Result<(), Full> {
        self.by_network.admit(&(form.clone(), network)).map_err(Full::Sender)?;
        if let Some(site) = network.site() {
            self.by_site.admit(&(form.clone(), site)).map_err(Full::Sender)?;
        }
        // There is no use in reading what the form cannot take.
        self.by_form.check(form).map_err(Full::Form)
    }

    /// Counts a submission that the form would take.
    pub(super) fn spend(&self, form: &FormId) -> Result<(), Full> {
        self.by_form.admit(form).map_err(Full::Form)
    }

    /// Whether there is room for more of what robots send, who have a quota of their own.
    pub(super) fn keeps_spam(&self, form: &FormId) -> bool {
        self.spam.admit(form).is_ok()
    }
}
