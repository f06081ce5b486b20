//! Addresses for tests: from anywhere, and from where ranges begin and end.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use proptest::prelude::*;
use proptest::sample::select;

use super::address::{ADDRESS_RANGES, METADATA_SERVICES};

fn nets_v4() -> Vec<Ipv4Net> {
    let rows = ADDRESS_RANGES.iter().map(|row| row.net);
    let services = METADATA_SERVICES.iter().map(|service| IpNet::from(service.address));
    rows.chain(services)
        .filter_map(|net| if let IpNet::V4(v4) = net { Some(v4) } else { None })
        .collect()
}

fn nets_v6() -> Vec<Ipv6Net> {
    let rows = ADDRESS_RANGES.iter().map(|row| row.net);
    let services = METADATA_SERVICES.iter().map(|service| IpNet::from(service.address));
    rows.chain(services)
        .filter_map(|net| if let IpNet::V6(v6) = net { Some(v6) } else { None })
        .collect()
}

/// Any address of IPv4; most are in a listed range or at its edge.
pub(super) fn address_v4() -> impl Strategy<Value = Ipv4Addr> {
    let anywhere = any::<u32>();
    let inside = (select(nets_v4()), any::<u32>())
        .prop_map(|(net, bits)| u32::from(net.addr()) | bits & u32::from(net.hostmask()));
    let edge = (select(nets_v4()), any::<bool>(), 0..3_u32).prop_map(|(net, is_last, off)| {
        let edge = if is_last { net.broadcast() } else { net.network() };
        u32::from(edge).wrapping_add(off).wrapping_sub(1)
    });
    prop_oneof![anywhere, inside, edge].prop_map(Ipv4Addr::from)
}

/// Any address of IPv6; most are in a listed range, at its edge, or hold an address of IPv4.
pub(super) fn address_v6() -> impl Strategy<Value = Ipv6Addr> {
    let anywhere = any::<u128>();
    let global = any::<u128>().prop_map(|bits| bits >> 3 | 1 << 125);
    let inside = (select(nets_v6()), any::<u128>())
        .prop_map(|(net, bits)| u128::from(net.addr()) | bits & u128::from(net.hostmask()));
    let edge = (select(nets_v6()), any::<bool>(), 0..3_u128).prop_map(|(net, is_last, off)| {
        let edge = if is_last { net.broadcast() } else { net.network() };
        u128::from(edge).wrapping_add(off).wrapping_sub(1)
    });
    let holding = (address_v4(), 0..HOLDERS.len()).prop_map(|(v4, at)| HOLDERS[at](v4).into());
    prop_oneof![anywhere, global, inside, edge, holding].prop_map(Ipv6Addr::from)
}

/// Any address.
pub(super) fn address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![address_v4().prop_map(IpAddr::V4), address_v6().prop_map(IpAddr::V6)]
}

/// An address of IPv4 as one of IPv6: mapped, compatible, translated, NAT64, 6to4.
pub(super) const HOLDERS: [fn(Ipv4Addr) -> Ipv6Addr; 5] = [
    |v4| v4.to_ipv6_mapped(),
    |v4| Ipv6Addr::from(u128::from(u32::from(v4))),
    |v4| Ipv6Addr::from(0xffff_u128 << 48 | u128::from(u32::from(v4))),
    |v4| Ipv6Addr::from(0x64_ff9b_u128 << 96 | u128::from(u32::from(v4))),
    |v4| Ipv6Addr::from(0x2002_u128 << 112 | u128::from(u32::from(v4)) << 80),
];
