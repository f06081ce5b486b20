//! What judges the URL of an endpoint before it is registered, and seals its secret.

use std::fmt;
use std::io;
use std::sync::Arc;

use super::AdminError;
use crate::egress::{EgressPolicy, EndpointUrl, Resolve, SystemResolver};
use crate::secrets::Vault;

/// Registers endpoints: judges their URLs, and seals their secrets. Cheap to clone.
///
/// Its judgement is an early answer for whoever registers. Deliveries judge the address of each
/// connection anew, since a name can resolve to something else by then.
#[derive(Clone)]
pub struct Registrar {
    vault: Vault,
    policy: EgressPolicy,
    resolver: Arc<dyn Resolve>,
}

/// A URL that deliveries may be sent to, as far as is known.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) url: EndpointUrl,
    /// Why its host could not be resolved, if it could not.
    pub(super) unresolved: Option<io::Error>,
}

impl Registrar {
    /// One that asks the system's resolver.
    pub fn new(vault: Vault, policy: EgressPolicy) -> Self {
        Self::with_resolver(vault, policy, Arc::new(SystemResolver::new()))
    }

    /// One that asks a given resolver.
    pub fn with_resolver(vault: Vault, policy: EgressPolicy, resolver: Arc<dyn Resolve>) -> Self {
        Self { vault, policy, resolver }
    }

    /// Whether endpoints on this machine are taken, with or without TLS.
    pub(crate) fn opens_this_machine(&self) -> bool {
        self.policy.opens_this_machine()
    }

    /// What secrets are sealed with.
    pub(super) fn vault(&self) -> &Vault {
        &self.vault
    }

    /// Whether a URL may be registered, without registering it: for whoever registers several, and
    /// wants all of them or none.
    pub async fn check(&self, url: &str) -> Result<(), AdminError> {
        self.judge(url).await.map(drop)
    }

    /// Judges a URL: what it says, then where its host is. A host that cannot be resolved may be in
    /// a moment, and is let through.
    pub(super) async fn judge(&self, url: &str) -> Result<Judged, AdminError> {
        let url: EndpointUrl = url.parse()?;
        // Literal addresses and localhost, of which no resolver is asked when a connection is made.
        self.policy.check_url(&url)?;
        if url.ip().is_some() || url.is_localhost() {
            return Ok(Judged { url, unresolved: None });
        }
        let unresolved = match self.resolver.resolve(url.host()).await {
            Ok(addresses) => {
                // As deliveries have it: one address that is denied denies all.
                for address in &addresses {
                    self.policy.check(url.host(), url.port(), *address)?;
                }
                addresses.is_empty().then(|| io::Error::other("the name has no address"))
            }
            Err(error) => Some(error),
        };
        Ok(Judged { url, unresolved })
    }
}

impl fmt::Debug for Registrar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registrar")
            .field("vault", &self.vault)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::egress::{AllowEntry, Resolved};

    /// Knows a few names.
    struct Names;

    impl Resolve for Names {
        fn resolve(&self, host: &str) -> Resolved {
            let addresses: &[&str] = match host {
                "public.example" => &["93.184.216.34", "2606:2800:220:1::1"],
                "inside.example" => &["10.1.2.3"],
                "mixed.example" => &["93.184.216.34", "127.0.0.1"],
                "mapped.example" => &["::ffff:169.254.169.254"],
                "empty.example" => &[],
                _ => return Box::pin(async { Err(io::Error::other("no such name")) }),
            };
            let addresses = addresses.iter().map(|address| address.parse::<IpAddr>().unwrap());
            let addresses = addresses.collect();
            Box::pin(async { Ok(addresses) })
        }
    }

    async fn judge(policy: EgressPolicy, url: &str) -> Result<Judged, AdminError> {
        let vault = Vault::ephemeral().unwrap();
        Registrar::with_resolver(vault, policy, Arc::new(Names)).judge(url).await
    }

    #[tokio::test]
    async fn a_host_is_judged_by_every_address_it_has() {
        let judged = judge(EgressPolicy::production(), "https://public.example/hook?token=t").await;
        let judged = judged.unwrap();
        assert_eq!(judged.url.as_str(), "https://public.example/hook?token=t");
        assert!(judged.unresolved.is_none());
        for denied in [
            "https://inside.example/",
            "https://mixed.example/",
            "https://mapped.example/",
            "https://10.1.2.3/",
            "https://[::1]/",
            "http://localhost:9000/",
            "https://hooks.localhost/",
        ] {
            let error = judge(EgressPolicy::production(), denied).await.unwrap_err();
            assert!(matches!(error, AdminError::Denied(_)), "{denied}: {error:?}");
            let told = error.to_string();
            assert!(told.contains("`--egress-allow`"), "{told}");
            assert!(!told.contains("10.1.2.3"), "a class, not an address: {told}");
        }
    }

    #[tokio::test]
    async fn what_the_operator_opened_is_open() {
        let inside: AllowEntry = "10.1.0.0/16".parse().unwrap();
        let policy = || EgressPolicy::production().allow(inside.clone());
        for url in ["https://inside.example/", "https://10.1.2.3:8443/"] {
            assert!(judge(policy(), url).await.is_ok(), "{url}");
        }
        assert!(judge(policy(), "https://mixed.example/").await.is_err());
        for url in ["http://localhost:9000/", "http://127.0.0.1/", "https://a.localhost/"] {
            let judged = judge(EgressPolicy::dev(), url).await.unwrap();
            assert!(judged.unresolved.is_none(), "{url} means this machine, and nobody is asked");
        }
    }

    #[tokio::test]
    async fn a_host_without_an_address_may_have_one_later() {
        for url in ["https://empty.example/", "https://unknown.example/"] {
            let judged = judge(EgressPolicy::production(), url).await.unwrap();
            assert!(judged.unresolved.is_some(), "{url}");
        }
    }

    #[tokio::test]
    async fn what_is_no_url_of_an_endpoint_is_not_looked_up() {
        for url in ["", "example.org", "http://public.example/", "https://a:b@public.example/"] {
            let error = judge(EgressPolicy::dev(), url).await.unwrap_err();
            assert!(matches!(error, AdminError::Url(_)), "{url}: {error:?}");
        }
    }
}
