//! What an IP address is for: one table of ranges, from the registries of IANA.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

macro_rules! address_classes {
    ($( $variant:ident = $label:literal, $meaning:literal; )+) => {
        /// What an address is for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum AddressClass {
            $( #[doc = $meaning] $variant, )+
        }

        impl AddressClass {
            /// Every class.
            pub const ALL: &[Self] = &[$( Self::$variant, )+];

            /// A stable name, for metrics and messages.
            pub const fn label(self) -> &'static str {
                match self { $( Self::$variant => $label, )+ }
            }
        }
    };
}

address_classes! {
    Global         = "global",          "Reachable from anywhere, as far as the registries tell.";
    Metadata       = "metadata",        "A service that tells machines in a cloud their credentials.";
    Loopback       = "loopback",        "This machine.";
    Private        = "private",         "A private network, IPv4.";
    UniqueLocal    = "unique_local",    "A private network, IPv6.";
    LinkLocal      = "link_local",      "The network this machine is plugged into.";
    SiteLocal      = "site_local",      "What private networks of IPv6 used before unique local ones.";
    SharedNat      = "shared_nat",      "Between a provider and its customers (carrier-grade NAT).";
    Unspecified    = "unspecified",     "No address; on many systems a connection to it reaches this machine.";
    ThisNetwork    = "this_network",    "Hosts on this network, a notation that is not used any more.";
    Broadcast      = "broadcast",       "Everyone on the link.";
    Multicast      = "multicast",       "A group of hosts.";
    Protocol       = "protocol",        "Assigned to protocols of the IETF, not to hosts.";
    Documentation  = "documentation",   "For examples in documents.";
    Benchmarking   = "benchmarking",    "For tests of network equipment.";
    Discard        = "discard",         "Where packets go to be dropped, or a stand-in for no address.";
    SegmentRouting = "segment_routing", "Steps of a route inside one network.";
    Nat64          = "nat64",           "An IPv4 address behind a translator, which is not global or whose translator is not.";
    SixToFour      = "6to4",            "An IPv4 address behind a tunnel by 6to4.";
    Teredo         = "teredo",          "An IPv4 host behind a tunnel by Teredo.";
    Orchid         = "orchid",          "An identifier in the shape of an address.";
    Reserved       = "reserved",        "Not assigned to anyone.";
}

impl fmt::Display for AddressClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

/// A row of [`ADDRESS_RANGES`].
#[derive(Clone, Copy, Debug)]
pub struct AddressRange {
    /// The addresses.
    pub net: IpNet,
    /// What they are for.
    pub class: AddressClass,
    /// Where that is written.
    pub source: &'static str,
}

const fn v4(
    a: u8,
    b: u8,
    c: u8,
    len: u8,
    class: AddressClass,
    source: &'static str,
) -> AddressRange {
    let net = IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, 0), len));
    AddressRange { net, class, source }
}

/// From the upper half of an address; the two ranges that need more are written out.
const fn v6(upper: [u16; 4], len: u8, class: AddressClass, source: &'static str) -> AddressRange {
    let [a, b, c, d] = upper;
    let net = IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0), len));
    AddressRange { net, class, source }
}

const fn one(address: IpAddr, class: AddressClass, source: &'static str) -> AddressRange {
    let len = if address.is_ipv4() { 32 } else { 128 };
    AddressRange { net: IpNet::new_assert(address, len), class, source }
}

/// Ranges that are not for hosts of the internet: the first that holds an address says what it is.
///
/// They are the special-purpose registries of IANA for IPv4 and IPv6, those for multicast, and what
/// IPv6 has not assigned. Single addresses that the registries call global inside of 192.0.0.0/24 and
/// 2001::/23 are left out on purpose: they are anycast services of protocols, never an endpoint.
/// Addresses that hold an IPv4 address in them are looked at closer by [`AddressClass::of`].
pub const ADDRESS_RANGES: &[AddressRange] = {
    use AddressClass as C;
    &[
        one(IpAddr::V4(Ipv4Addr::UNSPECIFIED), C::Unspecified, "RFC 1122 §3.2.1.3"),
        v4(0, 0, 0, 8, C::ThisNetwork, "RFC 791 §3.2"),
        v4(10, 0, 0, 8, C::Private, "RFC 1918"),
        v4(100, 64, 0, 10, C::SharedNat, "RFC 6598"),
        v4(127, 0, 0, 8, C::Loopback, "RFC 1122 §3.2.1.3"),
        v4(169, 254, 0, 16, C::LinkLocal, "RFC 3927"),
        v4(172, 16, 0, 12, C::Private, "RFC 1918"),
        v4(192, 0, 0, 24, C::Protocol, "RFC 6890 §2.1"),
        v4(192, 0, 2, 24, C::Documentation, "RFC 5737"),
        v4(192, 88, 99, 24, C::SixToFour, "RFC 7526: relays, no longer in use"),
        v4(192, 168, 0, 16, C::Private, "RFC 1918"),
        v4(198, 18, 0, 15, C::Benchmarking, "RFC 2544"),
        v4(198, 51, 100, 24, C::Documentation, "RFC 5737"),
        v4(203, 0, 113, 24, C::Documentation, "RFC 5737"),
        v4(224, 0, 0, 4, C::Multicast, "RFC 1112"),
        one(IpAddr::V4(Ipv4Addr::BROADCAST), C::Broadcast, "RFC 919 §7"),
        v4(240, 0, 0, 4, C::Reserved, "RFC 1112 §4"),
        one(IpAddr::V6(Ipv6Addr::UNSPECIFIED), C::Unspecified, "RFC 4291 §2.5.2"),
        one(IpAddr::V6(Ipv6Addr::LOCALHOST), C::Loopback, "RFC 4291 §2.5.3"),
        // Global where the IPv4 address in it is: see `AddressClass::of`.
        v6([0x64, 0xff9b, 0, 0], 96, C::Nat64, "RFC 6052"),
        v6([0x64, 0xff9b, 1, 0], 48, C::Nat64, "RFC 8215"),
        v6([0x100, 0, 0, 0], 64, C::Discard, "RFC 6666"),
        v6([0x100, 0, 0, 1], 64, C::Discard, "RFC 9780"),
        v6([0x2001, 0, 0, 0], 32, C::Teredo, "RFC 4380"),
        v6([0x2001, 2, 0, 0], 48, C::Benchmarking, "RFC 5180"),
        v6([0x2001, 0x10, 0, 0], 28, C::Orchid, "RFC 4843"),
        v6([0x2001, 0x20, 0, 0], 28, C::Orchid, "RFC 7343"),
        v6([0x2001, 0x30, 0, 0], 28, C::Orchid, "RFC 9374"),
        v6([0x2001, 0, 0, 0], 23, C::Protocol, "RFC 2928"),
        v6([0x2001, 0xdb8, 0, 0], 32, C::Documentation, "RFC 3849"),
        v6([0x2002, 0, 0, 0], 16, C::SixToFour, "RFC 3056"),
        v6([0x3fff, 0, 0, 0], 20, C::Documentation, "RFC 9637"),
        v6([0x5f00, 0, 0, 0], 16, C::SegmentRouting, "RFC 9602"),
        v6([0xfc00, 0, 0, 0], 7, C::UniqueLocal, "RFC 4193"),
        v6([0xfe80, 0, 0, 0], 10, C::LinkLocal, "RFC 4291 §2.5.6"),
        v6([0xfec0, 0, 0, 0], 10, C::SiteLocal, "RFC 3879"),
        v6([0xff00, 0, 0, 0], 8, C::Multicast, "RFC 4291 §2.7"),
        // All but 2000::/3, the only part of IPv6 that is assigned to hosts of the internet.
        v6([0, 0, 0, 0], 3, C::Reserved, "RFC 4291 §2.4"),
        v6([0x4000, 0, 0, 0], 2, C::Reserved, "RFC 4291 §2.4"),
        v6([0x8000, 0, 0, 0], 1, C::Reserved, "RFC 4291 §2.4"),
    ]
};

/// A row of [`METADATA_SERVICES`].
#[derive(Clone, Copy, Debug)]
pub struct MetadataService {
    /// Its address.
    pub address: IpAddr,
    /// Whose it is.
    pub whose: &'static str,
}

const fn service_v4(a: u8, b: u8, c: u8, d: u8, whose: &'static str) -> MetadataService {
    MetadataService { address: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), whose }
}

const fn service_v6(first: [u16; 3], last: [u16; 2], whose: &'static str) -> MetadataService {
    let address = Ipv6Addr::new(first[0], first[1], first[2], 0, 0, 0, last[0], last[1]);
    MetadataService { address: IpAddr::V6(address), whose }
}

/// Where clouds answer any program on a machine, often with credentials: the first thing that a forged
/// request asks for. No range opens them, only an entry that names the one address.
pub const METADATA_SERVICES: &[MetadataService] = &[
    service_v4(169, 254, 169, 254, "AWS, Azure, Google Cloud, Oracle, OpenStack and others"),
    service_v4(169, 254, 170, 2, "AWS, credentials of containers (ECS)"),
    service_v4(169, 254, 170, 23, "AWS, credentials of pods (EKS)"),
    service_v4(168, 63, 129, 16, "Azure, the host's agent"),
    service_v4(100, 100, 100, 200, "Alibaba Cloud"),
    service_v4(192, 0, 0, 192, "Oracle Cloud, its first generation"),
    service_v4(169, 254, 42, 42, "Scaleway"),
    service_v6([0xfd00, 0xec2, 0], [0, 0x254], "AWS"),
    service_v6([0xfd00, 0xec2, 0], [0, 0x23], "AWS, credentials of pods (EKS)"),
    service_v6([0xfd20, 0xce, 0], [0, 0x254], "Google Cloud"),
    service_v6([0xfd00, 0x42, 0], [0, 0x42], "Scaleway"),
    service_v6([0xfe80, 0, 0], [0xa9fe, 0xa9fe], "OpenStack"),
];

impl AddressClass {
    /// The class of an address.
    ///
    /// An IPv4 address written as IPv6 (`::ffff:a.b.c.d`) has the class it has as IPv4. One behind the
    /// well-known translator `64:ff9b::/96` is global when the IPv4 address is: in networks without
    /// IPv4 that is how every IPv4 host looks. Any other address that holds an IPv4 address has the
    /// class of its own range; that of a metadata service makes it [`Metadata`](Self::Metadata), so
    /// that a detour does not open it either.
    pub fn of(address: IpAddr) -> Self {
        let address = address.to_canonical();
        if is_metadata(address) {
            return Self::Metadata;
        }
        let row = ADDRESS_RANGES.iter().find(|row| row.net.contains(&address));
        match (row.map_or(Self::Global, |row| row.class), address) {
            (Self::Nat64, IpAddr::V6(translated)) if is_well_known_nat64(translated) => {
                match Self::of(IpAddr::V4(last_32_bits(translated))) {
                    Self::Global => Self::Global,
                    _ => Self::Nat64,
                }
            }
            (class, _) => class,
        }
    }
}

fn is_metadata(address: IpAddr) -> bool {
    let is_service = |address| METADATA_SERVICES.iter().any(|service| service.address == address);
    match address {
        IpAddr::V4(_) => is_service(address),
        IpAddr::V6(v6) => {
            is_service(address) || embedded(v6).into_iter().any(|v4| is_service(IpAddr::V4(v4)))
        }
    }
}

fn is_well_known_nat64(address: Ipv6Addr) -> bool {
    matches!(address.segments(), [0x64, 0xff9b, 0, 0, 0, 0, _, _])
}

/// The IPv4 addresses that a packet to an IPv6 address may end up at, or none: [`NO_V4`].
fn embedded(address: Ipv6Addr) -> [Ipv4Addr; 4] {
    let last = last_32_bits(address);
    match address.segments() {
        // 6to4: after the prefix.
        [0x2002, b, c, ..] => [v4_of(b, c), NO_V4, NO_V4, NO_V4],
        // Teredo: the host's address with each bit turned over; that of its server stands openly.
        [0x2001, 0, c, d, ..] => [Ipv4Addr::from_bits(!last.to_bits()), v4_of(c, d), NO_V4, NO_V4],
        // NAT64 in a network of one's own: after a prefix of 48, 56, 64 or 96 bits, around the byte
        // that stays zero (RFC 6052 §2.2).
        [0x64, 0xff9b, 1, ..] => {
            let octets = address.octets();
            let of = |places: [usize; 4]| Ipv4Addr::from(places.map(|at| octets[at]));
            [of([6, 7, 9, 10]), of([7, 9, 10, 11]), of([9, 10, 11, 12]), last]
        }
        // NAT64, and what was written in the first bits of all: ::/96 (compatible), ::ffff:0:0/96
        // (mapped), ::ffff:0:0:0/96 (translated).
        [0x64, 0xff9b, 0, 0, 0, 0, ..] | [0, 0, 0, 0, ..] => [last, NO_V4, NO_V4, NO_V4],
        _ => [NO_V4; 4],
    }
}

/// Nobody's address.
const NO_V4: Ipv4Addr = Ipv4Addr::UNSPECIFIED;

fn last_32_bits(address: Ipv6Addr) -> Ipv4Addr {
    let [.., g, h] = address.segments();
    v4_of(g, h)
}

fn v4_of(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

#[cfg(test)]
mod tests;
