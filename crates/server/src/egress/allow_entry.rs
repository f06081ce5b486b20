//! What an operator opens to deliveries: one entry of the allow-list.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use ipnet::IpNet;
use url::Host;

use super::endpoint_url::{HostNameError, check_host_name};
use crate::printable::Excerpt;

/// One entry of the allow-list, as `--egress-allow` takes it.
///
/// ```
/// use formsvc_server::egress::AllowEntry;
/// for text in ["10.1.0.0/16", "fd00:1::/64", "10.1.2.3", "10.1.2.3:8080", "[::1]:3000", "hooks.internal:8443"] {
///     assert_eq!(text.parse::<AllowEntry>()?.to_string(), text);
/// }
/// # Ok::<(), formsvc_server::egress::AllowEntryError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowEntry {
    /// `10.1.0.0/16`: a range, on any port. Never a metadata service inside of it.
    Range(IpNet),
    /// `10.1.2.3`, or a range of one address, or `10.1.2.3:8080`: this one address, on any port or
    /// on one. Also when it is a metadata service.
    Address(IpAddr, Option<u16>),
    /// `hooks.internal:8443`: what exactly this name resolves to, on this port. Never a metadata
    /// service: whoever answers for the name would choose.
    Name(Box<str>, u16),
}

/// An entry that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AllowEntryError {
    /// Neither a range, nor an address, nor a name with a port.
    #[error(
        "`{}` is neither a range (`10.1.0.0/16`), nor an address (`10.1.2.3`, `10.1.2.3:8080`), nor \
         a host with its port (`hooks.internal:8443`)",
        Excerpt(.0)
    )]
    Unreadable(String),
    /// A range whose address has bits beyond its prefix: a slip, or a range other than meant.
    #[error("`{found}` is no range: its first address would be `{first}`")]
    NotFirst {
        /// What was given.
        found: IpNet,
        /// The range that holds it.
        first: IpNet,
    },
    /// A host that is no name.
    #[error(transparent)]
    HostName(#[from] HostNameError),
    /// Port 0.
    #[error("`{}` has port 0, to which nothing can connect", Excerpt(.0))]
    Port(String),
}

impl AllowEntry {
    /// Whether it opens a canonical address to a host on a port. `exactly` asks for entries that name
    /// the one address.
    pub(super) fn opens(&self, host: &str, port: u16, address: IpAddr, exactly: bool) -> bool {
        match self {
            Self::Range(range) => !exactly && range.contains(&address),
            Self::Address(one, only) => *one == address && only.is_none_or(|only| only == port),
            Self::Name(name, on) => !exactly && *on == port && **name == *host,
        }
    }
}

impl FromStr for AllowEntry {
    type Err = AllowEntryError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self::Address(address.to_canonical(), None));
        }
        if let Ok(range) = text.parse::<IpNet>() {
            return of_range(range);
        }
        let zero = || AllowEntryError::Port(text.to_owned());
        if let Ok(socket) = text.parse::<SocketAddr>() {
            let port = Some(socket.port()).filter(|port| *port != 0).ok_or_else(zero)?;
            return Ok(Self::Address(socket.ip().to_canonical(), Some(port)));
        }
        let unreadable = || AllowEntryError::Unreadable(text.to_owned());
        let (host, port) = text.rsplit_once(':').ok_or_else(unreadable)?;
        let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let port: u16 = port.parse().ok().filter(|_| is_number).ok_or_else(unreadable)?;
        if port == 0 {
            return Err(zero());
        }
        // As a URL spells it, which is what it is compared with.
        let Ok(Host::Domain(host)) = Host::parse(host) else { return Err(unreadable()) };
        check_host_name(&host)?;
        Ok(Self::Name(host.into(), port))
    }
}

fn of_range(range: IpNet) -> Result<AllowEntry, AllowEntryError> {
    let first = range.trunc();
    if first != range {
        return Err(AllowEntryError::NotFirst { found: range, first });
    }
    let range = canonical(range);
    if range.prefix_len() == range.max_prefix_len() {
        return Ok(AllowEntry::Address(range.addr(), None));
    }
    Ok(AllowEntry::Range(range))
}

/// A range of IPv4 addresses written as IPv6 is one of IPv4: addresses are compared that way.
fn canonical(range: IpNet) -> IpNet {
    match (range, range.addr().to_canonical()) {
        (IpNet::V6(v6), IpAddr::V4(first)) if v6.prefix_len() >= 96 => {
            IpNet::new(IpAddr::V4(first), v6.prefix_len() - 96).unwrap_or(range)
        }
        _ => range,
    }
}

impl fmt::Display for AllowEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range(range) => range.fmt(f),
            Self::Address(address, None) => address.fmt(f),
            Self::Address(address, Some(port)) => SocketAddr::new(*address, *port).fmt(f),
            Self::Name(host, port) => write!(f, "{host}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> Result<AllowEntry, AllowEntryError> {
        text.parse()
    }

    #[test]
    fn an_entry_is_shown_in_canonical_spelling() {
        for (text, shown) in [
            ("10.1.2.3/32", "10.1.2.3"),
            ("::1/128", "::1"),
            ("::ffff:10.1.2.3", "10.1.2.3"),
            ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
            ("[::ffff:10.1.2.3]:80", "10.1.2.3:80"),
            ("Hooks.INTERNAL:8443", "hooks.internal:8443"),
            ("bücher.test:443", "xn--bcher-kva.test:443"),
        ] {
            assert_eq!(entry(text).unwrap().to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_entry_is_refused_with_its_rule() {
        let unreadable = ["", "localhost", "hooks.internal", "10.1.0.0/33", "10.1", "a:b", "a:+80"];
        for text in unreadable.into_iter().chain([
            "a:",
            "a:65536",
            "https://a:1/x",
            "10.1.0.0/",
            "10.1:80",
            "0x7f.1:80",
            ":80",
            "[::1:80",
            "::1:65536",
        ]) {
            let error = entry(text).unwrap_err();
            assert!(matches!(error, AllowEntryError::Unreadable(_)), "{text}: {error}");
        }
        for text in ["*.internal:80", "a..b:80", "hooks.internal.:80"] {
            let error = entry(text).unwrap_err();
            assert!(matches!(error, AllowEntryError::HostName(_)), "{text}: {error}");
        }
        for text in ["a:0", "10.1.2.3:0", "[::1]:0"] {
            assert!(matches!(entry(text).unwrap_err(), AllowEntryError::Port(_)), "{text}");
        }
        assert_eq!(
            entry("10.1.2.3/16").unwrap_err().to_string(),
            "`10.1.2.3/16` is no range: its first address would be `10.1.0.0/16`"
        );
    }
}
