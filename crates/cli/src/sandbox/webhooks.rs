//! The endpoints of a sandbox.

use formsvc_client::Form;
use formsvc_client::types::PublicId;
use formsvc_server::admin::{Admin, AdminError, Registrar};
use formsvc_server::egress::EndpointUrl;
use formsvc_server::secrets::{self, Vault};
use formsvc_server::store::EndpointStatus;
use secrecy::SecretString;
use serde::Serialize;

use super::{RequestedWebhook, expose, failed};
use crate::error::CliError;
use crate::exit::Exit;

/// An endpoint of a sandbox. Its secret signs only deliveries of the sandbox, so it may be shown.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Webhook {
    pub(super) form: PublicId,
    pub(super) url: String,
    #[serde(serialize_with = "expose")]
    pub(super) secret: SecretString,
    /// True if it gets deliveries. An endpoint of an earlier start can be disabled.
    #[serde(skip)]
    pub(super) is_enabled: bool,
}

/// Adds the endpoints that the forms do not have yet.
pub(super) async fn add(
    admin: &Admin,
    registrar: &Registrar,
    forms: &[Form],
    requested: &[RequestedWebhook],
) -> Result<(), CliError> {
    for RequestedWebhook { form, url, secret } in requested {
        let refused = |error: &dyn std::error::Error| {
            let what = format!("cannot add an endpoint to the sandbox's form `{form}`");
            CliError::new(Exit::Usage, what).because(error)
        };
        let Some(known) = forms.iter().find(|known| known.public_id == *form) else {
            let names: Vec<&str> = forms.iter().map(|form| form.public_id.as_str()).collect();
            return Err(CliError::usage(format!("the sandbox has no form `{form}`"))
                .hint(format!("its forms are {}", names.join(", "))));
        };
        let parsed: EndpointUrl = url.parse().map_err(|error| refused(&error))?;
        let endpoints = admin.list_endpoints(&known.id).await.map_err(|error| refused(&error))?;
        if endpoints.iter().any(|endpoint| endpoint.url == parsed.as_str()) {
            continue;
        }
        let secret = secret.clone().map_or_else(secrets::generate, Ok);
        let secret = secret.map_err(|error| refused(&error))?;
        let added = admin.add_endpoint_with_secret(&known.id, url, registrar, secret).await;
        added.map_err(|error| refused(&error))?;
    }
    Ok(())
}

/// Returns all endpoints of the forms.
pub(super) async fn list(
    admin: &Admin,
    vault: &Vault,
    forms: &[Form],
) -> Result<Vec<Webhook>, CliError> {
    let cannot_read = |error: &dyn std::error::Error| {
        failed("cannot read the endpoints of the sandbox").because(error)
    };
    let mut webhooks = Vec::new();
    for form in forms {
        for endpoint in admin.list_endpoints(&form.id).await.map_err(|error| cannot_read(&error))? {
            let sealed = admin.store().signing_endpoint(&endpoint.id).await;
            let sealed = sealed.map_err(|error| cannot_read(&AdminError::from(error)))?;
            let Some(sealed) = sealed else { continue };
            let secret = vault.open(endpoint.id.as_str().as_bytes(), &sealed.secret.0);
            webhooks.push(Webhook {
                form: form.public_id.clone(),
                url: endpoint.url,
                secret: secret.map_err(|error| cannot_read(&error))?,
                is_enabled: endpoint.status == EndpointStatus::Enabled,
            });
        }
    }
    Ok(webhooks)
}
