//! Who may control faults: programs on this machine, and no page of a browser that is not ours.
//!
//! A browser on this machine can be made to send requests here by any page it shows. Its `Origin`
//! tells which, on all but plain reads, whose answers the page does not get. A page whose host name
//! was made to lead here (DNS rebinding) is of the same origin in the browser's eyes, but its `Host`
//! is not of this machine.

use std::net::IpAddr;

use formsvc_protocol::is_localhost;
use http::header::{HOST, HeaderMap, ORIGIN};
use http::uri::Authority;

/// Why a request may not control faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("faults are controlled from this machine only")]
    Remote,
    #[error(
        "faults are controlled by an address of this machine: `Host` must be localhost or loopback"
    )]
    Host,
    #[error("a page of another origin may not control faults")]
    Origin,
}

/// Judges a request by who is at the other end of its connection, and by its headers.
pub(super) fn judge(peer: Option<IpAddr>, headers: &HeaderMap) -> Result<(), Refusal> {
    if !peer.is_some_and(|peer| peer.to_canonical().is_loopback()) {
        return Err(Refusal::Remote);
    }
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).ok_or(Refusal::Host)?;
    let authority: Authority = host.parse().map_err(|_| Refusal::Host)?;
    if !is_localhost(authority.host()) || host.contains('@') {
        return Err(Refusal::Host);
    }
    let ours = format!("http://{host}");
    let foreign =
        |origin: &http::HeaderValue| !origin.as_bytes().eq_ignore_ascii_case(ours.as_bytes());
    if headers.get_all(ORIGIN).iter().any(foreign) { Err(Refusal::Origin) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(peer: &str, host: &str, origin: Option<&str>) -> Result<(), Refusal> {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().unwrap());
        }
        judge(Some(peer.parse().unwrap()), &headers)
    }

    #[test]
    fn only_this_machine_is_local() {
        for peer in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(judged(peer, "localhost:8787", None), Ok(()), "{peer}");
        }
        for peer in ["192.0.2.1", "::", "0.0.0.0", "10.0.0.1", "fe80::1", "::ffff:10.0.0.1"] {
            assert_eq!(judged(peer, "localhost", None), Err(Refusal::Remote), "{peer}");
        }
        assert_eq!(judge(None, &HeaderMap::new()), Err(Refusal::Remote));
    }

    #[test]
    fn a_name_that_was_made_to_lead_here_is_refused() {
        for host in ["localhost", "LOCALHOST:1", "a.localhost:80", "127.0.0.1:8787", "[::1]:80"] {
            assert_eq!(judged("127.0.0.1", host, None), Ok(()), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:8787",
            "localhost.evil.example",
            "notlocalhost",
            "127.0.0.1.evil.example",
            "127.0.0.1@evil.example",
            "evil.example@127.0.0.1",
            "10.0.0.1",
            "0.0.0.0",
            "[::]",
        ] {
            assert_eq!(judged("127.0.0.1", host, None), Err(Refusal::Host), "{host}");
        }
        assert_eq!(judge(Some([127, 0, 0, 1].into()), &HeaderMap::new()), Err(Refusal::Host));
    }

    #[test]
    fn a_page_of_another_origin_is_refused() {
        let host = "localhost:8787";
        assert_eq!(judged("::1", host, Some("http://localhost:8787")), Ok(()));
        for origin in [
            "null",
            "",
            "http://localhost",
            "http://localhost:3000",
            "https://localhost:8787",
            "http://evil.example",
            "http://localhost:8787.evil.example",
        ] {
            assert_eq!(judged("::1", host, Some(origin)), Err(Refusal::Origin), "{origin}");
        }
    }
}
