//! Whether a claimed delivery may be attempted, and with what.

use std::collections::HashMap;
use std::sync::Arc;

use formsvc_protocol::signature::SigningSecret;
use secrecy::ExposeSecret;

use crate::causes::on_one_line;
use crate::egress::{EndpointUrl, EndpointUrlError};
use crate::secrets::{OpenError, Vault};
use crate::store::{Claimed, ClaimedEndpoint, EndpointNo, SealedSecret};

/// Claims without an outcome after which a delivery pauses.
const CLAIMS_MAX: u32 = 5;
/// Endpoints whose targets are remembered.
const REMEMBERED: usize = 10_000;

/// What deliveries to an endpoint need.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) url: EndpointUrl,
    /// Of the secret, and during a rotation of the one before it.
    pub(super) secrets: Vec<SigningSecret>,
}

/// Why a delivery is not attempted.
#[derive(Debug, thiserror::Error)]
pub(super) enum Obstacle {
    /// So many claims of it ended without an outcome.
    #[error("it was begun {0} times and never finished")]
    Interrupted(u32),
    /// The URL breaks a rule.
    #[error(transparent)]
    Url(#[from] EndpointUrlError),
    /// The secret cannot be read: a fault of this service, not of the endpoint.
    #[error("the signing secret of the endpoint `{endpoint}` cannot be read")]
    Secret { endpoint: formsvc_protocol::EndpointId, source: OpenError },
    /// The secret is empty, and would sign nothing.
    #[error("the signing secret of the endpoint `{0}` is empty")]
    EmptySecret(formsvc_protocol::EndpointId),
}

/// Makes targets, and remembers the last of each endpoint.
#[derive(Debug)]
pub(super) struct Guard {
    vault: Vault,
    known: HashMap<EndpointNo, (Arc<ClaimedEndpoint>, Arc<Target>)>,
}

impl Guard {
    pub(super) fn new(vault: Vault) -> Self {
        Self { vault, known: HashMap::new() }
    }

    /// What to attempt a delivery with.
    pub(super) fn admit(&mut self, claimed: &Claimed) -> Result<Arc<Target>, Obstacle> {
        if claimed.claims > CLAIMS_MAX {
            return Err(Obstacle::Interrupted(CLAIMS_MAX));
        }
        let endpoint = &claimed.endpoint;
        if let Some((known, target)) = self.known.get(&endpoint.number)
            && (Arc::ptr_eq(known, endpoint) || known == endpoint)
        {
            return Ok(Arc::clone(target));
        }
        let target = Arc::new(self.target(endpoint)?);
        if self.known.len() >= REMEMBERED {
            self.known.clear();
        }
        self.known.insert(endpoint.number, (Arc::clone(endpoint), Arc::clone(&target)));
        Ok(target)
    }

    /// What an attempt to an endpoint needs.
    pub(super) fn target(&self, endpoint: &ClaimedEndpoint) -> Result<Target, Obstacle> {
        let url = endpoint.url.parse()?;
        let id = &endpoint.id;
        let open = |sealed: &SealedSecret| {
            let opened = self.vault.open(id.as_str().as_bytes(), &sealed.0);
            let opened =
                opened.map_err(|source| Obstacle::Secret { endpoint: id.clone(), source })?;
            SigningSecret::new(opened.expose_secret())
                .ok_or_else(|| Obstacle::EmptySecret(id.clone()))
        };
        let mut secrets = vec![open(&endpoint.secret)?];
        // Whoever replaced a secret whose key is lost has the new one: waiting helps nobody.
        match endpoint.previous_secret.as_ref().map(open).transpose() {
            Ok(previous) => secrets.extend(previous),
            Err(obstacle) => {
                let cause = on_one_line(&obstacle);
                tracing::warn!(endpoint = id.as_str(), cause, "signed with the new secret only");
            }
        }
        Ok(Target { url, secrets })
    }
}
