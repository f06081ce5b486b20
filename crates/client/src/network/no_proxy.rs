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

fn without_brackets(host: &str) -> &str {
    host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host)
}
