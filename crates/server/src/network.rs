//! Who counts as one, as far as addresses tell.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// One IPv4 address, or the /64 of an IPv6 address, which is what the smallest customer of a network
/// has; or the /48 around that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Network(IpAddr);

impl Network {
    /// Where an address is, which stands as [`IpAddr::to_canonical`] has it.
    pub(crate) fn around(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self(address),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                Self(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into())
            }
        }
    }

    /// The /48 of a network of IPv6, which is what a site has at most: 65,536 networks.
    pub(crate) fn site(self) -> Option<Self> {
        match self.0 {
            IpAddr::V4(_) => None,
            IpAddr::V6(address) => {
                let [a, b, c, ..] = address.segments();
                Some(Self(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0).into()))
            }
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
