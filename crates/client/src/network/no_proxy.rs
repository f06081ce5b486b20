//! The list of hosts that are reached without a proxy.

use std::net::IpAddr;

use ipnet::IpNet;
use url::Host;

/// The entries of `NO_PROXY`.
#[derive(Clone, Debug, Default)]
pub(super) struct NoProxy {
    entries: Vec<String>,
    warnings: Vec<String>,
}

impl NoProxy {
    /// Parses entries that are separated by commas or spaces. An entry that is not understood becomes
    /// a warning and matches no host.
    pub(super) fn parse(list: &str) -> Self {
        let entries = list.split(|c: char| c == ',' || c.is_whitespace());
        let entries = entries.filter(|entry| !entry.is_empty()).map(str::to_owned);
        let (entries, unknown): (Vec<_>, Vec<_>) =
            entries.partition(|entry| matches(entry, "localhost", None).is_some());
        let warning = |entry: String| {
            format!(
                "the entry `{entry}` of NO_PROXY is ignored: expected *, a domain, host:port, an IP \
                 address or a CIDR range"
            )
        };
        Self { entries, warnings: unknown.into_iter().map(warning).collect() }
    }

    pub(super) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The first entry that matches the host and port of a URL.
    pub(super) fn entry_for(&self, host: &str, port: Option<u16>) -> Option<&str> {
        let is_match = |entry: &&String| matches(entry, host, port) == Some(true);
        self.entries.iter().find(is_match).map(String::as_str)
    }
}

/// Returns whether an entry matches the host and port of a URL; `None` if it is not understood.
fn matches(entry: &str, host: &str, port: Option<u16>) -> Option<bool> {
    if entry == "*" {
        return Some(true);
    }
    let address = parse_address(host);
    if let Ok(network) = entry.parse::<IpNet>() {
        return Some(address.is_some_and(|address| network.contains(&address)));
    }
    if let Some(listed) = parse_address(entry) {
        return Some(address == Some(listed));
    }
    let (listed, only_port) = match entry.rsplit_once(':') {
        Some((listed, port)) => (listed, Some(port.parse().ok()?)),
        None => (entry, None),
    };
    let is_host = if let Some(listed) = parse_address(listed) {
        address == Some(listed)
    } else {
        let domain = listed.strip_prefix('*').filter(|rest| rest.starts_with('.'));
        let domain = domain.unwrap_or(listed);
        let domain = domain.strip_prefix('.').unwrap_or(domain);
        // Also turns an international name into the form that URLs have.
        let Ok(Host::Domain(domain)) = Host::parse(domain) else { return None };
        let domain = domain.strip_suffix('.').unwrap_or(&domain);
        if domain.is_empty() || domain.contains('*') {
            return None;
        }
        let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        let below = name.strip_suffix(domain).filter(|_| address.is_none());
        below.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    Some(is_host && only_port.is_none_or(|only| port == Some(only)))
}

fn parse_address(host: &str) -> Option<IpAddr> {
    without_brackets(host).parse().ok().map(|address: IpAddr| address.to_canonical())
}

/// The text of an IPv6 address in a URL's host.
pub(super) fn without_brackets(host: &str) -> &str {
    host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_matches(list: &str, host: &str, port: u16, entry: Option<&str>) {
        let parsed = NoProxy::parse(list);
        assert_eq!(parsed.entry_for(host, Some(port)), entry, "{list} {host}:{port}");
    }

    #[test]
    fn entry_matches_its_hosts_only() {
        for (entry, matching, other) in [
            ("*", &["a.example", "10.0.0.1", "[2001:db8::1]"][..], &[][..]),
            (
                "b.example",
                &["b.example", "a.b.example", "B.EXAMPLE", "b.example."],
                &["ab.example"],
            ),
            (".b.example", &["b.example", "a.b.example"], &["ab.example", "b.example.org"]),
            ("*.b.example.", &["b.example", "a.b.example"], &["example"]),
            ("münchen.example", &["xn--mnchen-3ya.example"], &["munchen.example"]),
            ("10.0.0.1", &["10.0.0.1", "[::ffff:10.0.0.1]"], &["10.0.0.10", "a.10.0.0.1"]),
            ("2001:db8::1", &["[2001:db8::1]"], &["[2001:db8::2]"]),
            ("[2001:db8::1]", &["[2001:db8:0::1]"], &["[2001:db8::2]"]),
            ("10.0.0.0/8", &["10.255.0.1"], &["11.0.0.1", "a.example"]),
            ("2001:db8::/32", &["[2001:db8:1::1]"], &["[2001:db9::1]", "10.0.0.1"]),
        ] {
            for host in matching {
                assert_matches(entry, host, 443, Some(entry));
            }
            for host in other {
                assert_matches(entry, host, 443, None);
            }
        }
    }

    #[test]
    fn entry_with_port_matches_that_port_only() {
        for (entry, host) in [
            ("b.example:8443", "a.b.example"),
            ("10.0.0.1:8443", "10.0.0.1"),
            ("[2001:db8::1]:8443", "[2001:db8::1]"),
        ] {
            assert_matches(entry, host, 8443, Some(entry));
            assert_matches(entry, host, 443, None);
        }
    }

    #[test]
    fn list_is_split_at_commas_and_spaces() {
        let list = " a.example,,b.example\t10.0.0.1 ,\nc.example";
        for host in ["a.example", "b.example", "10.0.0.1", "c.example"] {
            assert_matches(list, host, 443, Some(host));
        }
        assert_matches(list, "d.example", 443, None);
        assert!(NoProxy::parse(list).warnings().is_empty());
    }

    #[test]
    fn unknown_entry_is_a_warning_and_matches_nothing() {
        for entry in [
            "b*.example",
            "*example",
            "http://b.example",
            "b.example/",
            "b.example:port",
            "b.example:65536",
            "10.0.0.0/33",
            "<local>",
            ".",
            "a..*",
        ] {
            let parsed = NoProxy::parse(entry);
            assert_eq!(parsed.warnings().len(), 1, "{entry}");
            assert!(parsed.warnings()[0].contains(&format!("`{entry}`")), "{entry}");
            assert_eq!(parsed.entry_for("b.example", Some(443)), None, "{entry}");
        }
    }
}
