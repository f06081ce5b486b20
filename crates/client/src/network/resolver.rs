//! Name resolution that keeps localhost names on this machine.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use formsvc_protocol::is_localhost_name;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::failure::ResolveError;
use super::no_proxy::without_brackets;

/// The system's resolver. It is not asked for localhost names, which always are loopback addresses
/// (RFC 6761 §6.3): another answer would send requests, and the API key, to another machine.
pub(super) struct Resolver;

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            if is_localhost_name(name.as_str()) {
                let v4 = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
                let v6 = SocketAddr::from((Ipv6Addr::LOCALHOST, 0));
                return Ok(Box::new([v4, v6].into_iter()) as Addrs);
            }
            // The host of a URL: an IPv6 address is in brackets.
            match tokio::net::lookup_host((without_brackets(name.as_str()), 0)).await {
                Ok(found) => Ok(Box::new(found.collect::<Vec<_>>().into_iter()) as Addrs),
                Err(error) => Err(ResolveError(error).into()),
            }
        })
    }
}
