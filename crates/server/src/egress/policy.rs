//! Which addresses deliveries may be sent to.

use std::net::{IpAddr, Ipv4Addr};

use super::address::AddressClass;
use super::allow_entry::AllowEntry;
use super::endpoint_url::{EndpointUrl, is_localhost_name};

/// Which addresses deliveries may be sent to: global ones, and what its entries open.
///
/// - A [range](AllowEntry::Range) opens the addresses in it, an [address](AllowEntry::Address) itself,
///   a [name with a port](AllowEntry::Name) what the name resolves to.
/// - A metadata service is opened by an entry that names its one address, and by nothing else: not by
///   a range, a name, or [`dev`](Self::dev).
/// - `localhost` and the names below it are connected to loopback addresses only, whatever a resolver
///   or an entry says.
#[derive(Clone, Debug)]
pub struct EgressPolicy {
    loopback: bool,
    entries: Vec<AllowEntry>,
}

/// An address that deliveries may not be sent to. Names its class, not the address: whoever
/// registers endpoints could use that to look into the operator's name service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// Its class is not open.
    #[error(
        "the host is at an address of class `{0}`, which deliveries do not reach unless the operator \
         opens it with `--egress-allow`"
    )]
    Class(AddressClass),
    /// A `localhost` name at an address that is not loopback.
    #[error("a `localhost` name is only ever connected to loopback, and not to class `{0}`")]
    LocalhostElsewhere(AddressClass),
}

impl Denied {
    /// The class of the address, whose label is for metrics.
    pub fn class(self) -> AddressClass {
        match self {
            Self::Class(class) | Self::LocalhostElsewhere(class) => class,
        }
    }
}

impl EgressPolicy {
    /// Global addresses only.
    pub fn production() -> Self {
        Self { loopback: false, entries: Vec::new() }
    }

    /// Global addresses, and this machine: for development.
    pub fn dev() -> Self {
        Self { loopback: true, entries: Vec::new() }
    }

    /// The policy with one more entry.
    #[must_use]
    pub fn allow(mut self, entry: AllowEntry) -> Self {
        self.entries.push(entry);
        self
    }

    /// Whether a connection for a host (as in a URL: a name in lower case, or an IP address) and a port
    /// may go to an address.
    pub fn check(&self, host: &str, port: u16, address: IpAddr) -> Result<(), Denied> {
        let address = address.to_canonical();
        let class = AddressClass::of(address);
        if is_localhost_name(host) && !address.is_loopback() {
            return Err(Denied::LocalhostElsewhere(class));
        }
        let exactly = class == AddressClass::Metadata;
        let is_open = class == AddressClass::Global
            || class == AddressClass::Loopback && self.loopback
            || self.entries.iter().any(|entry| entry.opens(host, port, address, exactly));
        if is_open { Ok(()) } else { Err(Denied::Class(class)) }
    }

    /// What can be said about a URL without asking a resolver: whether its host is an IP address, or a
    /// `localhost` name, that deliveries would not reach. For an early answer at registration; every
    /// connection is checked again.
    pub fn check_url(&self, url: &EndpointUrl) -> Result<(), Denied> {
        let known = url
            .ip()
            .or_else(|| is_localhost_name(url.host()).then_some(IpAddr::V4(Ipv4Addr::LOCALHOST)));
        known.map_or(Ok(()), |address| self.check(url.host(), url.port(), address))
    }
}
