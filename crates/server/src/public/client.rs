//! Who sends, as far as addresses tell.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use http::request::Parts;
use http::{HeaderMap, HeaderName};
use ipnet::IpNet;

use crate::network::Network;
use crate::serve::Peer;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

impl Network {
    /// Where a request comes from: the other end of its connection, or, when that is a trusted proxy,
    /// the address it says it got the request from.
    pub(super) fn of(parts: &Parts, trusted: &[IpNet]) -> Self {
        Self::around(client_of(parts, trusted))
    }
}

/// The address a request comes from, as far as trusted proxies tell.
pub(crate) fn client_of(parts: &Parts, trusted: &[IpNet]) -> IpAddr {
    client(peer_of(parts), &parts.headers, trusted)
}

/// Whether a request says it was forwarded, and the other end of its connection is no trusted proxy.
pub(super) fn is_undeclared(parts: &Parts, trusted: &[IpNet]) -> bool {
    parts.headers.contains_key(FORWARDED_FOR) && !is_trusted(peer_of(parts), trusted)
}

/// The other end of the connection.
pub(crate) fn peer_of(parts: &Parts) -> IpAddr {
    // Only a request that came over no connection has no peer.
    let peer = parts.extensions.get::<Peer>();
    peer.map_or(Ipv4Addr::UNSPECIFIED.into(), |peer| peer.0.ip().to_canonical())
}

fn is_trusted(address: IpAddr, trusted: &[IpNet]) -> bool {
    trusted.iter().any(|range| range.contains(&address))
}

/// Follows the hops back from the connection for as long as they are trusted. What stands before the
/// last hop that is not could be made up by it.
fn client(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let lines = headers.get_all(FORWARDED_FOR).iter().filter_map(|line| line.to_str().ok());
    let hops: Vec<&str> = lines.flat_map(|line| line.split(',')).collect();
    let mut client = peer;
    for hop in hops.iter().rev() {
        if !is_trusted(client, trusted) {
            break;
        }
        // A hop that is no address ends the way: whoever wrote it is the last one known.
        let Some(address) = address_of(hop.trim()) else { break };
        client = address;
    }
    client
}

/// An address as proxies write it, with or without a port.
fn address_of(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse::<IpAddr>();
    let address = address.or_else(|_| text.parse::<SocketAddr>().map(|address| address.ip()));
    address.ok().map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use http::{HeaderValue, Request};
    use proptest::prelude::*;

    use super::*;

    fn network(peer: &str, forwarded: &[&str], trusted: &[&str]) -> String {
        let mut request = Request::new(());
        let peer = SocketAddr::new(peer.parse().unwrap(), 1);
        request.extensions_mut().insert(Peer(peer));
        for line in forwarded {
            let line = HeaderValue::from_str(line).unwrap();
            request.headers_mut().append(FORWARDED_FOR, line);
        }
        let trusted: Vec<_> = trusted.iter().map(|range| range.parse().unwrap()).collect();
        Network::of(&request.into_parts().0, &trusted).to_string()
    }

    #[test]
    fn without_trusted_proxies_nobody_is_believed() {
        assert_eq!(network("192.0.2.1", &["198.51.100.7"], &[]), "192.0.2.1");
        assert_eq!(network("192.0.2.1", &["198.51.100.7"], &["10.0.0.0/8"]), "192.0.2.1");
    }

    #[test]
    fn a_trusted_proxy_is_believed_about_its_own_hop_only() {
        let of = |forwarded: &[&str]| network("10.0.0.1", forwarded, &["10.0.0.0/8"]);
        assert_eq!(of(&["198.51.100.7"]), "198.51.100.7");
        assert_eq!(of(&["1.1.1.1, 198.51.100.7"]), "198.51.100.7", "the first is made up");
        assert_eq!(of(&["1.1.1.1", "198.51.100.7"]), "198.51.100.7", "lines are one list");
        assert_eq!(of(&["198.51.100.7, 10.0.0.2"]), "198.51.100.7", "a proxy behind a proxy");
        assert_eq!(of(&["198.51.100.7:4711"]), "198.51.100.7");
        assert_eq!(of(&["[2001:db8::1]:4711"]), "2001:db8::");
        assert_eq!(of(&["[2001:db8::1]"]), "2001:db8::");
        for none in [&[][..], &[""], &["unknown"], &["1.1.1.1, unknown"]] {
            assert_eq!(of(none), "10.0.0.1", "{none:?}");
        }
    }

    #[test]
    fn one_network_is_one() {
        assert_eq!(network("2001:db8:1:2:3:4:5:6", &[], &[]), "2001:db8:1:2::");
        assert_eq!(network("2001:db8:1:2:ffff::", &[], &[]), "2001:db8:1:2::");
        assert_eq!(network("::ffff:192.0.2.1", &[], &[]), "192.0.2.1");
        assert_eq!(
            network("::ffff:10.0.0.1", &["::ffff:192.0.2.9"], &["10.0.0.1/32"]),
            "192.0.2.9"
        );
        assert_eq!(Network::of(&Request::new(()).into_parts().0, &[]).to_string(), "0.0.0.0");
    }

    proptest! {
        #[test]
        fn any_header_is_read(line in "[ -~]{0,40}") {
            network("10.0.0.1", &[&line], &["0.0.0.0/0", "::/0"]);
        }
    }
}
