//! The list of hosts that are reached without a proxy.

use std::net::IpAddr;

use ipnet::IpNet;
use url::Host;

/// A parsed `NO_PROXY`.
#[derive(Clone, Debug, Default)]
pub(super) struct NoProxy {
    entries: Vec<Entry>,
    warnings: Vec<String>,
}

#[derive(Clone, Debug)]
struct Entry {
    text: String,
    pattern: Pattern,
    /// The only port the entry is for.
    port: Option<u16>,
}

#[derive(Clone, Debug)]
enum Pattern {
    /// Every host.
    All,
    /// A domain and the names below it, in lower case and without a final dot.
    Domain(String),
    Address(IpAddr),
    Network(IpNet),
}

impl NoProxy {
    /// Parses entries that are separated by commas or spaces. An entry that is not understood becomes
    /// a warning and matches no host.
    pub(super) fn parse(list: &str) -> Self {
        let mut parsed = Self::default();
        let entries = list.split(|c: char| c == ',' || c.is_whitespace());
        for text in entries.filter(|entry| !entry.is_empty()) {
            match parse_entry(text) {
                Some((pattern, port)) => {
                    parsed.entries.push(Entry { text: text.to_owned(), pattern, port });
                }
                None => parsed.warnings.push(format!(
                    "the entry `{text}` of NO_PROXY is ignored: expected *, a domain, host:port, an \
                     IP address or a CIDR range"
                )),
            }
        }
        parsed
    }

    pub(super) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The first entry that matches the host and port of a URL.
    pub(super) fn entry_for(&self, host: &str, port: Option<u16>) -> Option<&str> {
        let bare = without_brackets(host);
        let address = bare.parse::<IpAddr>().ok().map(|address| address.to_canonical());
        let name = bare.strip_suffix('.').unwrap_or(bare).to_ascii_lowercase();
        let matches = |entry: &&Entry| {
            let is_host = match (&entry.pattern, address) {
                (Pattern::All, _) => true,
                (Pattern::Address(listed), Some(address)) => *listed == address,
                (Pattern::Network(network), Some(address)) => network.contains(&address),
                (Pattern::Domain(domain), None) => {
                    let below = name.strip_suffix(domain.as_str());
                    below.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
                }
                _ => false,
            };
            is_host && entry.port.is_none_or(|only| port == Some(only))
        };
        self.entries.iter().find(matches).map(|entry| entry.text.as_str())
    }
}

fn parse_entry(text: &str) -> Option<(Pattern, Option<u16>)> {
    if text == "*" {
        return Some((Pattern::All, None));
    }
    if let Ok(network) = text.parse::<IpNet>() {
        return Some((Pattern::Network(network), None));
    }
    if let Ok(address) = without_brackets(text).parse::<IpAddr>() {
        return Some((Pattern::Address(address.to_canonical()), None));
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) => (host, Some(port.parse().ok()?)),
        None => (text, None),
    };
    if let Ok(address) = without_brackets(host).parse::<IpAddr>() {
        return Some((Pattern::Address(address.to_canonical()), port));
    }
    let domain = host.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(host);
    let domain = domain.strip_prefix('.').unwrap_or(domain);
    let domain = domain.strip_suffix('.').unwrap_or(domain);
    if domain.contains(['*', '/']) {
        return None;
    }
    // Also turns an international name into the form that URLs have.
    match Host::parse(domain) {
        Ok(Host::Domain(domain)) => Some((Pattern::Domain(domain), port)),
        _ => None,
    }
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
