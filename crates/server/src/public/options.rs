//! How public forms are served.

use std::num::NonZeroU32;
use std::time::Duration;

use ipnet::IpNet;

use crate::rate_limit::RateLimit;

/// Options of the public forms of a server.
#[derive(Clone, Debug)]
pub struct PublicOptions {
    /// What one address may send to one form, refused submissions counted; of IPv6 addresses a /64
    /// counts as one, and a /48 as 16. Default: 20 a minute.
    pub per_address: RateLimit,
    /// Submissions all addresses together may make to one form, refused ones not counted; and so many
    /// of robots are kept. Default: 600 a minute.
    pub per_form: RateLimit,
    /// Proxies whose `X-Forwarded-For` is believed. Default: none, so that it is not looked at.
    pub trusted_proxies: Vec<IpNet>,
    /// Time a client has for the whole body of a submission. Default: 30 s.
    pub body_timeout: Duration,
}

impl Default for PublicOptions {
    fn default() -> Self {
        let per_minute = |requests| {
            RateLimit::per_minute(NonZeroU32::new(requests).expect("the limit is not zero"))
        };
        Self {
            per_address: per_minute(20),
            per_form: per_minute(600),
            trusted_proxies: Vec::new(),
            body_timeout: Duration::from_secs(30),
        }
    }
}
