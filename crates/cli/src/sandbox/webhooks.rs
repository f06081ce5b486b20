//! The endpoints a sandbox is started with.

use formsvc_client::{PublicId, SecretString};
use formsvc_server::admin::{Admin, Registrar};
use formsvc_server::egress::EgressPolicy;
use formsvc_server::secrets::Vault;

use crate::error::CliError;
use crate::exit::Exit;

/// An endpoint that was asked for: of which form, and where.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) form: PublicId,
    pub(crate) url: String,
}

/// An endpoint of a sandbox, with the secret its deliveries are signed with. The sandbox's secrets
/// open nothing but what the sandbox sends, so they may be shown.
#[derive(Clone, Debug)]
pub(crate) struct Webhook {
    pub(crate) form: PublicId,
    pub(crate) url: String,
    pub(crate) secret: SecretString,
}

/// Reads `FORM=URL`.
pub(crate) fn wanted(text: &str) -> Result<Wanted, String> {
    let rule = "expected FORM=URL, such as contact=http://localhost:9000/";
    let (form, url) = text.split_once('=').ok_or(rule)?;
    let form = PublicId::new(form).map_err(|error| error.to_string())?;
    if url.is_empty() { Err(rule.into()) } else { Ok(Wanted { form, url: url.to_owned() }) }
}

/// Adds endpoints. One that a kept database has already gets a new secret, since its old one cannot be
/// shown again.
pub(super) async fn add(
    admin: &Admin,
    vault: &Vault,
    wanted: Vec<Wanted>,
) -> Result<Vec<Webhook>, CliError> {
    let registrar = Registrar::new(vault.clone(), EgressPolicy::dev());
    let mut webhooks = Vec::with_capacity(wanted.len());
    for Wanted { form, url } in wanted {
        let refused = |error: &dyn std::error::Error| {
            CliError::new(Exit::Usage, format!("--webhook: cannot add an endpoint to `{form}`"))
                .because(error)
        };
        let found = admin.find_form(form.as_str()).await.map_err(|error| refused(&error))?;
        let known = admin.list_endpoints(&found.id).await.map_err(|error| refused(&error))?;
        let secret = if let Some(known) = known.iter().find(|known| known.url == url) {
            let rotated = admin.rotate_secret(&known.id, std::time::Duration::ZERO, vault).await;
            rotated.map_err(|error| refused(&error))?.secret
        } else {
            let added = admin.add_endpoint(&found.id, &url, &registrar).await;
            added.map_err(|error| refused(&error))?.secret
        };
        webhooks.push(Webhook { form, url, secret });
    }
    Ok(webhooks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_has_a_form_and_a_url() {
        let found = wanted("contact=http://localhost:9000/?a=b").unwrap();
        assert_eq!((found.form.as_str(), &*found.url), ("contact", "http://localhost:9000/?a=b"));
        for bad in ["", "contact", "contact=", "=http://localhost/", "a/b=http://localhost/"] {
            assert!(wanted(bad).is_err(), "{bad:?}");
        }
    }
}
