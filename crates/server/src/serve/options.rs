//! How a server is to serve.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::metrics::Metrics;
use crate::public::PublicOptions;
use crate::rate_limit::RateLimit;
use crate::response_budget::ResponseBudget;

/// Options of a server. The defaults suit a test, a sandbox and a small deployment alike.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Where to listen; port 0 lets the system choose. Default: 127.0.0.1, port 0.
    pub addr: SocketAddr,
    /// Requests a key may make. Default: SPEC §8.
    pub rate_limit: RateLimit,
    /// Limits of public forms.
    pub public: PublicOptions,
    /// How long requests may go on after a shutdown began. Default: 10 s.
    pub shutdown_deadline: Duration,
    /// Connections open at a time; more wait until one closes. Default: 4096.
    pub connections_max: u32,
    /// Connections one peer may have open at a time, of IPv6 addresses a /64 counting as one and a /48
    /// as 4; more are closed at once. Default: 256.
    pub connections_per_peer: u32,
    /// Peers that may have any number, besides the trusted proxies of public forms. Default: this
    /// machine.
    pub uncounted_peers: Vec<IpNet>,
    /// Time a client has to send the head of a request, from its first byte, and on a new connection
    /// to send that byte. Default: 10 s.
    pub head_timeout: Duration,
    /// Time a connection may be silent between requests. Default: 75 s.
    pub idle_timeout: Duration,
    /// Time a client may take no byte of a response that waits for it. Default: 30 s.
    pub write_timeout: Duration,
    /// Bytes per second at which a client must take a response, on average since it was ready and
    /// with `write_timeout` on top. Default: 64 KiB.
    pub write_rate_min: u64,
    /// Room for large responses that wait for their clients. Default: 128 MiB of its own.
    pub response_budget: ResponseBudget,
    /// Where what happens is counted. Default: metrics of its own, at zero.
    pub metrics: Arc<Metrics>,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            addr: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            rate_limit: RateLimit::default(),
            public: PublicOptions::default(),
            shutdown_deadline: Duration::from_secs(10),
            connections_max: 4096,
            connections_per_peer: 256,
            uncounted_peers: loopback(),
            head_timeout: Duration::from_secs(10),
            // Longer than the minute that proxies usually keep a connection: they should close it.
            idle_timeout: Duration::from_secs(75),
            write_timeout: Duration::from_secs(30),
            write_rate_min: 64 * 1024,
            response_budget: ResponseBudget::default(),
            metrics: Metrics::new(),
        }
    }
}

fn loopback() -> Vec<IpNet> {
    let v4 = Ipv4Net::new(Ipv4Addr::LOCALHOST, 8).expect("a prefix of IPv4 has at most 32 bits");
    vec![v4.into(), Ipv6Net::from(Ipv6Addr::LOCALHOST).into()]
}
