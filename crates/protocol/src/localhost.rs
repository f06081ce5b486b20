//! Localhost: hosts that always are this machine.

use std::net::IpAddr;

/// Returns true for `localhost` and the names below it, in any case, with or without a final dot
/// (RFC 6761 §6.3).
pub fn is_localhost_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

/// Returns true if the host of a URL is a localhost name, in 127.0.0.0/8, or `::1`, with or without
/// brackets.
///
/// ```
/// use formsvc_protocol::is_localhost;
/// assert!(is_localhost("forms.localhost") && is_localhost("127.9.9.9") && is_localhost("[::1]"));
/// assert!(!is_localhost("localhost.example.org"));
/// ```
pub fn is_localhost(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    match bare.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => is_localhost_name(host),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn localhost_covers_its_names_and_loopback_only() {
        for host in [
            "localhost",
            "LOCALHOST",
            "localhost.",
            "a.b.Localhost",
            "127.0.0.1",
            "127.255.0.3",
            "::1",
            "[::1]",
            "[::ffff:127.0.0.1]",
        ] {
            assert!(is_localhost(host), "{host}");
        }
        for host in [
            "",
            "notlocalhost",
            "localhost.example.org",
            "127.0.0.1.example.org",
            "127.example",
            "128.0.0.1",
            "0.0.0.0",
            "[::2]",
            "[::1",
            "[localhost]",
        ] {
            assert!(!is_localhost(host), "{host}");
        }
        assert!(!is_localhost_name("127.0.0.1"));
    }
}
