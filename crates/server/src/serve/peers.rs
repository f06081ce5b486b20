//! How many connections each peer has, so that none takes all there may be.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ipnet::IpNet;

use super::ServeOptions;
use crate::network::Network;

/// A site of IPv6, a /48, may have as many connections as so many of its networks.
const NETWORKS_OF_A_SITE: u32 = 4;

/// The connections of each peer that is counted.
#[derive(Debug)]
pub(super) struct Peers {
    max: u32,
    exempt: Vec<IpNet>,
    open: Mutex<HashMap<(Network, Extent), u32>>,
}

/// A /64 and the /48 around it can be written alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Extent {
    Network,
    Site,
}

/// A connection of a peer, counted while this lives.
#[derive(Debug)]
pub(super) struct Counted {
    peers: Arc<Peers>,
    /// What it counts for; none when its peer is exempt.
    network: Option<Network>,
}

impl Peers {
    pub(super) fn new(options: &ServeOptions) -> Self {
        let exempt = options.uncounted_peers.iter().chain(&options.public.trusted_proxies);
        Self {
            max: options.connections_per_peer,
            exempt: exempt.copied().collect(),
            open: Mutex::default(),
        }
    }

    /// Counts a connection; `None` when its peer has all it may have.
    pub(super) fn enter(self: &Arc<Self>, peer: IpAddr) -> Option<Counted> {
        let peer = peer.to_canonical();
        let counted = |network| Some(Counted { peers: Arc::clone(self), network });
        if self.exempt.iter().any(|range| range.contains(&peer)) {
            return counted(None);
        }
        let network = Network::around(peer);
        let mut open = self.open();
        let is_full = places(network).any(|place| {
            let max = match place.1 {
                Extent::Network => self.max,
                Extent::Site => self.max.saturating_mul(NETWORKS_OF_A_SITE),
            };
            open.get(&place).is_some_and(|open| *open >= max)
        });
        if is_full {
            return None;
        }
        for place in places(network) {
            *open.entry(place).or_default() += 1;
        }
        drop(open);
        counted(Some(network))
    }

    /// Counters: whatever a panicking holder left is still a count.
    fn open(&self) -> MutexGuard<'_, HashMap<(Network, Extent), u32>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let Some(network) = self.network else { return };
        let mut open = self.peers.open();
        for place in places(network) {
            if let Some(count) = open.get_mut(&place) {
                *count -= 1;
                if *count == 0 {
                    open.remove(&place);
                }
            }
        }
    }
}

/// What a connection counts for.
fn places(network: Network) -> impl Iterator<Item = (Network, Extent)> {
    let site = network.site().map(|site| (site, Extent::Site));
    std::iter::once((network, Extent::Network)).chain(site)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peers(max: u32) -> Arc<Peers> {
        let options = ServeOptions { connections_per_peer: max, ..ServeOptions::default() };
        Arc::new(Peers::new(&options))
    }

    fn enter(peers: &Arc<Peers>, address: &str) -> Option<Counted> {
        peers.enter(address.parse().unwrap())
    }

    #[test]
    fn a_peer_has_so_many_and_another_its_own() {
        let peers = peers(2);
        let first = enter(&peers, "192.0.2.1");
        let second = enter(&peers, "::ffff:192.0.2.1");
        assert!(first.is_some() && second.is_some());
        assert!(enter(&peers, "192.0.2.1").is_none());
        assert!(enter(&peers, "192.0.2.2").is_some());
        drop(first);
        let third = enter(&peers, "192.0.2.1");
        assert!(third.is_some() && enter(&peers, "192.0.2.1").is_none());
        drop((second, third));
        assert!(peers.open().is_empty(), "nothing is kept of who has gone");
    }

    #[test]
    fn a_network_of_ipv6_is_one_peer_and_its_site_is_four() {
        let peers = peers(2);
        let mut open = Vec::new();
        // Among them the network that is written as its site is.
        for network in 0..4 {
            for host in 1..3 {
                let entered = enter(&peers, &format!("2001:db8:0:{network}::{host}"));
                open.push(entered.expect("its network has room"));
            }
            assert!(enter(&peers, &format!("2001:db8:0:{network}::9")).is_none());
        }
        assert!(enter(&peers, "2001:db8:0:4::1").is_none());
        assert!(enter(&peers, "2001:db8:1::1").is_some());
        open.pop();
        assert!(enter(&peers, "2001:db8:0:4::1").is_some());
    }

    #[test]
    fn this_machine_and_trusted_proxies_are_not_counted() {
        let mut options = ServeOptions { connections_per_peer: 1, ..ServeOptions::default() };
        options.public.trusted_proxies = vec!["10.0.0.0/8".parse().unwrap()];
        let peers = Arc::new(Peers::new(&options));
        for address in ["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.9.9.9"] {
            let open: Vec<_> = (0..10).filter_map(|_| enter(&peers, address)).collect();
            assert_eq!(open.len(), 10, "{address}");
        }
    }
}
