//! Name resolution that keeps localhost names on this machine.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use formsvc_protocol::is_localhost_name;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::failure::ResolveError;
use super::no_proxy::without_brackets;

/// The system's resolver, for reqwest.
pub(super) struct Resolver;

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            match lookup(name.as_str()).await {
                Ok(found) => Ok(Box::new(found.into_iter()) as Addrs),
                Err(error) => Err(ResolveError(error).into()),
            }
        })
    }
}

/// Resolves the host of a URL, in which an IPv6 address is in brackets. reqwest sets the port. The system's resolver is not
/// asked for localhost names, which always are loopback addresses (RFC 6761 §6.3): another result
/// would send requests, and the API key, to another machine.
async fn lookup(host: &str) -> io::Result<Vec<SocketAddr>> {
    if is_localhost_name(host) {
        let (v4, v6) = (Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into());
        return Ok(vec![SocketAddr::new(v4, 0), SocketAddr::new(v6, 0)]);
    }
    Ok(tokio::net::lookup_host((without_brackets(host), 0)).await?.collect())
}
