//! Which addresses deliveries may be sent to.

use std::net::{IpAddr, Ipv4Addr};

use formsvc_protocol::is_localhost_name;

use super::address::AddressClass;
use super::allow_entry::AllowEntry;
use super::endpoint_url::EndpointUrl;

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
         opens it with {opened}",
        opened = opened_with(*.0)
    )]
    Class(AddressClass),
    /// A `localhost` name at an address that is not loopback.
    #[error("a `localhost` name is only ever connected to loopback, and not to class `{0}`")]
    LocalhostElsewhere(AddressClass),
}

/// What an operator opens an address of a class with.
fn opened_with(class: AddressClass) -> &'static str {
    match class {
        AddressClass::Loopback => "`--profile dev` or `--egress-allow`",
        AddressClass::Metadata => {
            "`--egress-allow` and that one address: metadata addresses open only when named one by one"
        }
        _ => "`--egress-allow`",
    }
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

    /// Whether this machine is open as a whole.
    pub fn opens_this_machine(&self) -> bool {
        self.loopback
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

#[cfg(test)]
mod tests {
    use ipnet::IpNet;
    use proptest::prelude::*;

    use super::*;
    use crate::egress::address::{ADDRESS_RANGES, METADATA_SERVICES};
    use crate::egress::samples::{HOLDERS, address, address_v4};

    fn policy(entries: &[&str]) -> EgressPolicy {
        let entries = entries.iter().map(|entry| entry.parse().unwrap());
        entries.fold(EgressPolicy::production(), EgressPolicy::allow)
    }

    fn check(policy: &EgressPolicy, host: &str, port: u16, address: &str) -> Result<(), Denied> {
        policy.check(host, port, address.parse().unwrap())
    }

    fn url(text: &str) -> EndpointUrl {
        text.parse().unwrap()
    }

    /// A policy that opens everything that ranges and names can open for `host.test:443`.
    fn widest() -> EgressPolicy {
        let mut widest = policy(&["0.0.0.0/0", "::/0", "host.test:443", "localhost:443"]);
        widest.loopback = true;
        widest
    }

    #[test]
    fn production_reaches_global_addresses_and_dev_this_machine_as_well() {
        let (production, dev) = (EgressPolicy::production(), EgressPolicy::dev());
        for address in ["1.1.1.1", "2606:4700::1111"] {
            assert_eq!(check(&production, "host.test", 443, address), Ok(()));
            assert_eq!(check(&dev, "host.test", 443, address), Ok(()));
        }
        for (host, address) in [("localhost", "127.0.0.1"), ("[::1]", "::1"), ("host.test", "::1")]
        {
            let denied = Err(Denied::Class(AddressClass::Loopback));
            assert_eq!(check(&production, host, 443, address), denied);
            assert_eq!(check(&dev, host, 443, address), Ok(()));
        }
        let denied = Err(Denied::Class(AddressClass::Private));
        assert_eq!(check(&dev, "host.test", 443, "10.0.0.1"), denied);
        // Not loopback, though on many systems it gets there.
        let denied = Err(Denied::Class(AddressClass::Unspecified));
        assert_eq!(check(&dev, "host.test", 443, "0.0.0.0"), denied);
        assert_eq!(check(&dev, "host.test", 443, "::"), denied);
    }

    #[test]
    fn an_entry_opens_what_it_names_and_nothing_beside_it() {
        let denied = Err(Denied::Class(AddressClass::Private));
        let range = policy(&["10.1.0.0/16"]);
        assert_eq!(check(&range, "host.test", 443, "10.1.255.255"), Ok(()));
        assert_eq!(check(&range, "host.test", 443, "::ffff:10.1.0.0"), Ok(()));
        assert_eq!(check(&range, "host.test", 443, "10.2.0.0"), denied);
        let address = policy(&["10.1.2.3"]);
        assert_eq!(check(&address, "host.test", 443, "10.1.2.3"), Ok(()));
        assert_eq!(check(&address, "host.test", 443, "10.1.2.4"), denied);
        let socket = policy(&["10.1.2.3:8080"]);
        assert_eq!(check(&socket, "host.test", 8080, "10.1.2.3"), Ok(()));
        assert_eq!(check(&socket, "host.test", 443, "10.1.2.3"), denied);
        let name = policy(&["host.test:8443"]);
        assert_eq!(check(&name, "host.test", 8443, "10.1.2.3"), Ok(()));
        assert_eq!(check(&name, "host.test", 443, "10.1.2.3"), denied);
        assert_eq!(check(&name, "a.host.test", 8443, "10.1.2.3"), denied);
        let denied = Err(Denied::Class(AddressClass::Nat64));
        assert_eq!(check(&range, "host.test", 443, "64:ff9b::10.1.2.3"), denied);
    }

    #[test]
    fn a_metadata_service_is_opened_by_its_one_address_alone() {
        let denied = Err(Denied::Class(AddressClass::Metadata));
        for service in METADATA_SERVICES {
            let address = service.address.to_string();
            assert_eq!(check(&widest(), "host.test", 443, &address), denied, "{service:?}");
            let full = IpNet::from(service.address).to_string();
            for entry in [&address, &full] {
                let opened = policy(&[entry]);
                assert_eq!(check(&opened, "host.test", 443, &address), Ok(()), "{entry}");
            }
        }
        let on_port = policy(&["169.254.169.254:80"]);
        assert_eq!(check(&on_port, "host.test", 80, "169.254.169.254"), Ok(()));
        assert_eq!(check(&on_port, "host.test", 443, "169.254.169.254"), denied);
        // A detour is another address.
        let opened = policy(&["169.254.169.254"]);
        assert_eq!(check(&opened, "host.test", 80, "64:ff9b::169.254.169.254"), denied);
        assert_eq!(check(&opened, "host.test", 80, "::ffff:169.254.169.254"), Ok(()));
    }

    #[test]
    fn localhost_names_are_at_loopback_or_nowhere() {
        for host in ["localhost", "app.localhost", "a.b.localhost"] {
            for address in ["1.1.1.1", "10.0.0.1", "0.0.0.0", "64:ff9b::127.0.0.1"] {
                let denied = check(&widest(), host, 443, address).unwrap_err();
                assert!(matches!(denied, Denied::LocalhostElsewhere(_)), "{host} {address}");
            }
            assert_eq!(check(&widest(), host, 443, "::ffff:127.0.0.1"), Ok(()));
        }
        let entry = policy(&["localhost:3000"]);
        assert_eq!(check(&entry, "localhost", 3000, "127.0.0.1"), Ok(()));
        assert!(check(&entry, "localhost", 3001, "127.0.0.1").is_err());
        assert!(check(&entry, "notlocalhost", 3000, "127.0.0.1").is_err());
    }

    #[test]
    fn a_url_is_judged_at_registration_as_far_as_it_tells() {
        let production = EgressPolicy::production();
        let class = |text: &str| production.check_url(&url(text)).map_err(Denied::class);
        assert_eq!(class("https://hooks.example.com/"), Ok(()));
        assert_eq!(class("https://1.1.1.1/"), Ok(()));
        assert_eq!(class("http://localhost:3000/"), Err(AddressClass::Loopback));
        assert_eq!(class("https://app.localhost/"), Err(AddressClass::Loopback));
        for spelling in ["0x7f.1", "2130706433", "0177.0.0.1", "[::ffff:7f00:1]", "１２７.0.0.1"]
        {
            let text = format!("https://{spelling}/");
            assert_eq!(class(&text), Err(AddressClass::Loopback), "{spelling}");
        }
        assert_eq!(class("https://169.254.169.254/"), Err(AddressClass::Metadata));
        assert_eq!(class("https://[64:ff9b::a9fe:a9fe]/"), Err(AddressClass::Metadata));
        assert_eq!(EgressPolicy::dev().check_url(&url("http://localhost:3000/")), Ok(()));
    }

    #[test]
    fn a_denial_names_the_class_and_the_setting_and_not_the_address() {
        let denied = check(&EgressPolicy::production(), "host.test", 443, "10.9.8.7").unwrap_err();
        let message = denied.to_string();
        assert!(message.contains("`private`") && message.contains("`--egress-allow`"), "{message}");
        assert!(!message.contains("10.9"), "{message}");
        let denied = check(&EgressPolicy::production(), "host.test", 443, "127.0.0.1").unwrap_err();
        assert!(denied.to_string().contains("`--profile dev` or `--egress-allow`"), "{denied}");
        let denied = check(&widest(), "host.test", 443, "169.254.169.254").unwrap_err();
        assert!(denied.to_string().contains("named one by one"), "{denied}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2048, ..ProptestConfig::default() })]

        #[test]
        fn production_reaches_no_address_of_the_table(address in address()) {
            let is_translated = |net: &IpNet| net.to_string() == "64:ff9b::/96";
            let address = address.to_canonical();
            let row = ADDRESS_RANGES.iter().find(|row| row.net.contains(&address));
            let verdict = EgressPolicy::production().check("host.test", 443, address);
            match (row, address) {
                (None, _) => prop_assert_eq!(verdict.is_ok(), METADATA_SERVICES
                    .iter().all(|service| service.address != address)),
                (Some(row), IpAddr::V6(v6)) if is_translated(&row.net) => {
                    let v4 = Ipv4Addr::from(*v6.octets().last_chunk::<4>().unwrap());
                    let of_v4 = EgressPolicy::production().check("host.test", 443, IpAddr::V4(v4));
                    prop_assert_eq!(verdict.is_ok(), of_v4.is_ok());
                }
                (Some(row), _) => prop_assert!(verdict.is_err(), "{row:?}"),
            }
        }

        #[test]
        fn an_address_that_is_denied_is_denied_inside_of_others(v4 in address_v4()) {
            let production = EgressPolicy::production();
            let verdict = production.check("host.test", 443, IpAddr::V4(v4));
            for (at, holder) in HOLDERS.iter().enumerate() {
                let held = production.check("host.test", 443, IpAddr::V6(holder(v4)));
                prop_assert!(verdict.is_ok() || held.is_err(), "holder {at}");
                // Mapped, and behind a translator: the same in both directions.
                prop_assert!(![0, 3].contains(&at) || verdict.is_ok() == held.is_ok());
            }
        }

        #[test]
        fn dev_adds_loopback_and_nothing_else(address in address()) {
            let production = EgressPolicy::production().check("host.test", 443, address);
            let dev = EgressPolicy::dev().check("host.test", 443, address);
            let is_loopback = address.to_canonical().is_loopback();
            prop_assert_eq!(dev.is_ok(), production.is_ok() || is_loopback);
        }

        #[test]
        fn no_range_opens_a_metadata_service(
            service in 0..METADATA_SERVICES.len(),
            holder in 0..HOLDERS.len(),
            len in 0..128_u8,
        ) {
            let address = match METADATA_SERVICES[service].address {
                IpAddr::V4(v4) => [IpAddr::V4(v4), IpAddr::V6(HOLDERS[holder](v4))],
                v6 @ IpAddr::V6(_) => [v6, v6],
            };
            for address in address {
                let full = IpNet::from(address);
                let len = len % full.max_prefix_len();
                let range = IpNet::new(address, len).unwrap().trunc();
                let entry: AllowEntry = range.to_string().parse().unwrap();
                let denied = EgressPolicy::dev().allow(entry).check("host.test", 443, address);
                prop_assert_eq!(denied, Err(Denied::Class(AddressClass::Metadata)), "{}", range);
            }
        }

        #[test]
        fn a_verdict_is_the_same_for_an_address_written_as_ipv6(
            v4 in address_v4(),
            of in address_v4(),
            len in 0..=32_u8,
            as_v6 in any::<bool>(),
        ) {
            let range = if as_v6 {
                IpNet::new(IpAddr::V6(of.to_ipv6_mapped()), len + 96)
            } else {
                IpNet::new(IpAddr::V4(of), len)
            };
            let entry: AllowEntry = range.unwrap().trunc().to_string().parse().unwrap();
            let policy = EgressPolicy::production().allow(entry.clone());
            let (v4, v6) = (IpAddr::V4(v4), IpAddr::V6(v4.to_ipv6_mapped()));
            let verdict = policy.check("host.test", 443, v4);
            prop_assert_eq!(verdict, policy.check("host.test", 443, v6));
            let is_inside = IpNet::new(IpAddr::V4(of), len).unwrap().contains(&v4);
            let is_metadata = AddressClass::of(v4) == AddressClass::Metadata;
            if is_inside && (!is_metadata || len == 32) {
                prop_assert_eq!(verdict, Ok(()), "{}", entry);
            }
        }
    }
}
