//! What the owner of a form does with webhooks: endpoints, and their signing secrets (SPEC §1, §5).

use std::io;
use std::time::Duration;

use formsvc_protocol::{EndpointId, FormId};
use secrecy::SecretString;

use super::{Admin, AdminError, Registrar, invalid, new_id, no_form};
use crate::random::NoRandomness;
use crate::secrets::{self, OpenError, Vault};
use crate::store::{EndpointRecord, NewEndpoint, SealedSecret};

/// How long deliveries are signed with a replaced secret too, unless another time is chosen.
pub const GRACE_DEFAULT: Duration = Duration::from_secs(24 * 60 * 60);
/// The longest that can be chosen.
pub const GRACE_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// An endpoint just added.
#[derive(Debug)]
pub struct AddedEndpoint {
    /// The endpoint as listed from now on.
    pub record: EndpointRecord,
    /// Its signing secret; this is the only time it can be shown.
    pub secret: SecretString,
    /// Why its host could not be resolved, if it could not. Deliveries are attempted all the same.
    pub unresolved: Option<io::Error>,
}

/// An endpoint with a new secret.
#[derive(Debug)]
pub struct RotatedSecret {
    /// The endpoint as listed from now on.
    pub record: EndpointRecord,
    /// The new signing secret; this is the only time it can be shown.
    pub secret: SecretString,
    /// Why the secret it replaces signs nothing any more, whatever the grace: it cannot be opened.
    pub unopened: Option<OpenError>,
}

impl Admin {
    /// Adds an endpoint to a form: its submissions are delivered there from now on. The URL must be
    /// one of an endpoint (see [`EndpointUrl`](crate::egress::EndpointUrl)), at an address that
    /// deliveries reach, and new to the form, which has at most 20 endpoints.
    pub async fn add_endpoint(
        &self,
        form: &FormId,
        url: &str,
        registrar: &Registrar,
    ) -> Result<AddedEndpoint, AdminError> {
        self.add_endpoint_with_secret(form, url, registrar, secrets::generate()?).await
    }

    /// Adds an endpoint with a given signing secret, as [`add_endpoint`](Self::add_endpoint) does with a
    /// generated one.
    pub async fn add_endpoint_with_secret(
        &self,
        form: &FormId,
        url: &str,
        registrar: &Registrar,
        secret: SecretString,
    ) -> Result<AddedEndpoint, AdminError> {
        // Before a resolver is asked anything.
        if self.store.form(form).await?.is_none() {
            return Err(no_form(form.as_str()).into());
        }
        let judged = registrar.judge(url).await?;
        let id = EndpointId::from_bits(new_id());
        let sealed = SealedSecret(registrar.vault().seal(id.as_str().as_bytes(), &secret)?);
        let (form, url) = (form.clone(), judged.url.as_str().to_owned());
        let new = NewEndpoint { id, form, url, secret: sealed };
        let record = self.store.add_endpoint(new).await?;
        Ok(AddedEndpoint { record, secret, unresolved: judged.unresolved })
    }

    /// A form's endpoints, oldest first, without removed ones.
    pub async fn list_endpoints(&self, form: &FormId) -> Result<Vec<EndpointRecord>, AdminError> {
        Ok(self.store.endpoints(form).await?)
    }

    /// Gives an endpoint a new secret. For a grace of at most [`GRACE_MAX`] deliveries are signed
    /// with the one it replaces as well, unless that cannot be opened.
    pub async fn rotate_secret(
        &self,
        endpoint: &EndpointId,
        grace: Duration,
        vault: &Vault,
    ) -> Result<RotatedSecret, AdminError> {
        if grace > GRACE_MAX {
            let value = format!("{} s", grace.as_secs());
            return Err(invalid("grace", &value, "has at most 7 days"));
        }
        let context = endpoint.as_str().as_bytes();
        let current = self.store.signing_endpoint(endpoint).await?;
        let unopened = current.and_then(|current| vault.open(context, &current.secret.0).err());
        let grace = if unopened.is_some() { Duration::ZERO } else { grace };
        let (sealed, secret) = new_secret(endpoint, vault)?;
        let record = self.store.rotate_secret(endpoint, sealed, grace).await?;
        Ok(RotatedSecret { record, secret, unopened })
    }

    /// Enables or disables an endpoint. While it is disabled its deliveries wait, and submissions
    /// make none for it.
    pub async fn set_endpoint_enabled(
        &self,
        endpoint: &EndpointId,
        enabled: bool,
    ) -> Result<EndpointRecord, AdminError> {
        Ok(self.store.set_endpoint_enabled(endpoint, enabled).await?)
    }

    /// Removes an endpoint, cancels its unfinished deliveries, and erases its secrets. Removing twice
    /// does nothing more.
    pub async fn remove_endpoint(
        &self,
        endpoint: &EndpointId,
    ) -> Result<EndpointRecord, AdminError> {
        Ok(self.store.remove_endpoint(endpoint).await?)
    }
}

/// A new secret, sealed for its endpoint and open.
fn new_secret(
    endpoint: &EndpointId,
    vault: &Vault,
) -> Result<(SealedSecret, SecretString), NoRandomness> {
    let secret = secrets::generate()?;
    Ok((SealedSecret(vault.seal(endpoint.as_str().as_bytes(), &secret)?), secret))
}
