//! The table against the registries, said another way.

use proptest::prelude::*;

use super::*;
use crate::egress::samples::{address, address_v4, address_v6};

fn class(text: &str) -> AddressClass {
    AddressClass::of(text.parse().unwrap())
}

#[test]
fn the_class_of_one_address_of_each_kind() {
    use AddressClass as C;
    for (text, expected) in [
        ("1.1.1.1", C::Global),
        ("0.0.0.0", C::Unspecified),
        ("0.0.0.1", C::ThisNetwork),
        ("10.255.0.1", C::Private),
        ("100.63.255.255", C::Global),
        ("100.64.0.0", C::SharedNat),
        ("100.128.0.0", C::Global),
        ("127.255.255.254", C::Loopback),
        ("169.254.1.1", C::LinkLocal),
        ("172.15.255.255", C::Global),
        ("172.31.255.255", C::Private),
        ("192.0.0.9", C::Protocol),
        ("192.0.2.7", C::Documentation),
        ("192.88.99.1", C::SixToFour),
        ("192.168.178.1", C::Private),
        ("198.17.255.255", C::Global),
        ("198.19.255.255", C::Benchmarking),
        ("198.51.100.1", C::Documentation),
        ("203.0.113.1", C::Documentation),
        ("224.0.0.1", C::Multicast),
        ("240.0.0.1", C::Reserved),
        ("255.255.255.255", C::Broadcast),
        ("::", C::Unspecified),
        ("::1", C::Loopback),
        ("::2", C::Reserved),
        ("::ffff:0:1.1.1.1", C::Reserved),
        ("2606:4700::1111", C::Global),
        ("64:ff9b::1.1.1.1", C::Global),
        ("64:ff9b::10.0.0.1", C::Nat64),
        ("64:ff9b::127.0.0.1", C::Nat64),
        ("64:ff9b:1::1.1.1.1", C::Nat64),
        ("64:ff9b:2::", C::Reserved),
        ("100::1", C::Discard),
        ("100:0:0:1::1", C::Discard),
        ("2001::1", C::Teredo),
        ("2001:1::1", C::Protocol),
        ("2001:2::1", C::Benchmarking),
        ("2001:1f::1", C::Orchid),
        ("2001:2f::1", C::Orchid),
        ("2001:3f::1", C::Orchid),
        ("2001:1ff::1", C::Protocol),
        ("2001:200::1", C::Global),
        ("2001:db8::1", C::Documentation),
        ("2002:101:101::1", C::SixToFour),
        ("3fff:fff::1", C::Documentation),
        ("3fff:1000::1", C::Global),
        ("4000::1", C::Reserved),
        ("5f00::1", C::SegmentRouting),
        ("fc00::1", C::UniqueLocal),
        ("fd12::1", C::UniqueLocal),
        ("fe80::1", C::LinkLocal),
        ("fec0::1", C::SiteLocal),
        ("ff02::1", C::Multicast),
    ] {
        assert_eq!(class(text), expected, "{text}");
    }
}

#[test]
fn a_metadata_service_is_one_on_every_way_to_it() {
    for service in METADATA_SERVICES {
        assert_eq!(AddressClass::of(service.address), AddressClass::Metadata, "{service:?}");
    }
    for way in [
        "::ffff:169.254.169.254",
        "::169.254.169.254",
        "::ffff:0:169.254.169.254",
        "64:ff9b::169.254.169.254",
        "64:ff9b:1::a9fe:a9fe",
        "64:ff9b:1:a9fe:a9:fe00::",
        "64:ff9b:1:a9:fe:a9fe::",
        "64:ff9b:1::a9:fea9:fe00:0",
        "2002:a9fe:a9fe::1",
        "2001::5601:5601",
        "2001:0:a9fe:a9fe::",
        "64:ff9b::168.63.129.16",
        "2002:6464:64c8::",
    ] {
        assert_eq!(class(way), AddressClass::Metadata, "{way}");
    }
    assert_eq!(class("2600::a9fe:a9fe"), AddressClass::Global);
}

#[test]
fn no_row_stands_behind_one_that_holds_all_of_it() {
    for (at, row) in ADDRESS_RANGES.iter().enumerate() {
        let hiding = ADDRESS_RANGES[..at].iter().find(|before| before.net.contains(&row.net));
        assert!(hiding.is_none(), "{row:?} behind {hiding:?}");
        assert_eq!(row.net, row.net.trunc(), "{row:?}");
    }
}

#[test]
fn every_class_is_used_and_has_a_label_of_its_own() {
    for (at, class) in AddressClass::ALL.iter().enumerate() {
        let is_row = ADDRESS_RANGES.iter().any(|row| row.class == *class);
        let is_other = matches!(class, AddressClass::Global | AddressClass::Metadata);
        assert!(is_row != is_other, "{class}");
        assert!(AddressClass::ALL[..at].iter().all(|before| before.label() != class.label()));
    }
}

/// What is global, said another way: after the standard library's unstable `is_global`, without
/// multicast, anycast of protocols, retired relays and metadata services.
fn is_global_v4(v4: Ipv4Addr) -> bool {
    let [a, b, c, _] = v4.octets();
    let is_special = a == 0
        || v4.is_private()
        || v4.is_loopback()
        || v4.is_link_local()
        || v4.is_documentation()
        || v4.is_broadcast()
        || v4.is_multicast()
        || a == 100 && b & 0b1100_0000 == 0b0100_0000
        || (a, b, c) == (192, 0, 0)
        || (a, b, c) == (192, 88, 99)
        || a == 198 && b & 0xfe == 18
        || a >= 240;
    let is_service = METADATA_SERVICES.iter().any(|service| service.address == IpAddr::V4(v4));
    !is_special && !is_service
}

fn is_global_v6(v6: Ipv6Addr) -> bool {
    let [a, b, ..] = v6.segments();
    let translated = Ipv4Addr::from(*v6.octets().last_chunk::<4>().unwrap());
    if let Some(v4) = v6.to_ipv4_mapped() {
        return is_global_v4(v4);
    }
    if u128::from(v6) >> 32 == 0x64_ff9b << 64 {
        return is_global_v4(translated);
    }
    let is_special = v6.is_loopback()
        || v6.is_unspecified()
        || v6.is_multicast()
        || v6.is_unique_local()
        || v6.is_unicast_link_local()
        || a == 0x2001 && b < 0x200
        || (a, b) == (0x2001, 0xdb8)
        || a == 0x2002
        || a == 0x3fff && b < 0x1000;
    a >> 13 == 1 && !is_special
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, ..ProptestConfig::default() })]

    #[test]
    fn what_is_global_is_what_another_wording_of_the_registries_says(address in address()) {
        let expected = match address {
            IpAddr::V4(v4) => is_global_v4(v4),
            IpAddr::V6(v6) => is_global_v6(v6),
        };
        prop_assert_eq!(AddressClass::of(address) == AddressClass::Global, expected);
    }

    #[test]
    fn the_standard_library_agrees_where_it_has_a_name(v4 in address_v4(), v6 in address_v6()) {
        use AddressClass as C;
        let class = AddressClass::of(IpAddr::V4(v4));
        if class != C::Metadata {
            prop_assert_eq!(class == C::Private, v4.is_private());
            prop_assert_eq!(class == C::Loopback, v4.is_loopback());
            prop_assert_eq!(class == C::LinkLocal, v4.is_link_local());
            prop_assert_eq!(class == C::Documentation, v4.is_documentation());
            prop_assert_eq!(class == C::Multicast, v4.is_multicast());
            prop_assert_eq!(class == C::Broadcast, v4.is_broadcast());
            prop_assert_eq!(class == C::Unspecified, v4.is_unspecified());
        }
        let class = AddressClass::of(IpAddr::V6(v6));
        if class != C::Metadata && v6.to_ipv4_mapped().is_none() {
            prop_assert_eq!(class == C::UniqueLocal, v6.is_unique_local());
            prop_assert_eq!(class == C::LinkLocal, v6.is_unicast_link_local());
            prop_assert_eq!(class == C::Multicast, v6.is_multicast());
            prop_assert_eq!(class == C::Loopback, v6.is_loopback());
            prop_assert_eq!(class == C::Unspecified, v6.is_unspecified());
        }
    }

    #[test]
    fn an_ipv4_address_has_one_class_however_it_is_written(v4 in address_v4()) {
        let mapped = AddressClass::of(IpAddr::V6(v4.to_ipv6_mapped()));
        prop_assert_eq!(mapped, AddressClass::of(IpAddr::V4(v4)));
    }
}
