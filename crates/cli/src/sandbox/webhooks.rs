//! The endpoints of a sandbox: those it is started with, and those its database has from before.

use formsvc_client::types::PublicId;
use formsvc_client::{Form, FormId};
use formsvc_server::admin::{Admin, Registrar, parse_id};
use formsvc_server::egress::EndpointUrl;
use formsvc_server::store::{ENDPOINTS_MAX, EndpointStatus};
use formsvc_workbench::target;
use secrecy::SecretString;

use crate::error::CliError;
use crate::exit::Exit;

/// An endpoint that was asked for: of which form, and where.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) form: PublicId,
    pub(crate) url: String,
    /// The signing secret; `None` generates one.
    pub(crate) secret: Option<SecretString>,
}

/// An endpoint of a sandbox. The sandbox's secrets open nothing but what the sandbox sends, so they may
/// be shown.
#[derive(Clone, Debug)]
pub(crate) struct Webhook {
    pub(crate) form: PublicId,
    pub(crate) url: String,
    /// What its deliveries are signed with; none for an endpoint from an earlier start, whose secret was
    /// shown then, and is not made anew since its receiver has it.
    pub(crate) secret: Option<SecretString>,
    /// Whether it gets deliveries.
    pub(crate) is_enabled: bool,
}

/// Endpoints that can be added, as far as is known.
pub(super) struct Checked(Vec<(FormId, String, Option<SecretString>)>);

/// Reads `FORM=URL`.
pub(crate) fn wanted(text: &str) -> Result<Wanted, String> {
    let rule = "expected FORM=URL, such as contact=http://localhost:9000/";
    let (form, url) = text.split_once('=').ok_or(rule)?;
    let form = parse_id(form).map_err(|rule| format!("a public id {rule}"))?;
    if url.is_empty() {
        return Err(rule.into());
    }
    if !url.contains("://") {
        let scheme = target::parse(url).map_or("https".to_owned(), |url| url.scheme().to_owned());
        return Err(format!("the URL has no scheme: `{form}={scheme}://{url}`"));
    }
    Ok(Wanted { form, url: url.to_owned(), secret: None })
}

/// Judges all endpoints that were asked for before any is added: a secret that was made is shown once,
/// so nothing may fail between the first and the last. Those that are there already are left out.
pub(super) async fn check(
    admin: &Admin,
    registrar: &Registrar,
    forms: &[Form],
    wanted: &[Wanted],
) -> Result<Checked, CliError> {
    let mut checked: Vec<(FormId, String, _)> = Vec::with_capacity(wanted.len());
    for Wanted { form, url, secret } in wanted {
        let Some(found) = forms.iter().find(|known| known.public_id == *form) else {
            let names: Vec<_> = forms.iter().map(|form| form.public_id.as_str()).collect();
            return Err(CliError::usage(format!("the sandbox has no form `{form}`"))
                .hint(format!("its forms are {}", names.join(", "))));
        };
        let refused = |error: &dyn std::error::Error| {
            CliError::new(
                Exit::Usage,
                format!("cannot add an endpoint to the sandbox's form `{form}`"),
            )
            .because(error)
        };
        registrar.check(url).await.map_err(|error| refused(&error))?;
        let url: EndpointUrl = url.parse().map_err(|error| refused(&error))?;
        let url = url.as_str();
        let known = admin.list_endpoints(&found.id).await.map_err(|error| refused(&error))?;
        let more = checked.iter().filter(|(form, ..)| *form == found.id);
        if known.iter().any(|known| known.url == url) || more.clone().any(|(_, new, _)| new == url)
        {
            continue;
        }
        if known.len() + more.count() >= ENDPOINTS_MAX {
            let what =
                format!("`{form}` has {ENDPOINTS_MAX} endpoints already, which is the limit");
            return Err(CliError::usage(what));
        }
        checked.push((found.id.clone(), url.to_owned(), secret.clone()));
    }
    Ok(Checked(checked))
}

/// Adds endpoints, and lists all that the forms then have.
pub(super) async fn add(
    admin: &Admin,
    registrar: &Registrar,
    forms: &[Form],
    Checked(new): Checked,
) -> Result<Vec<Webhook>, CliError> {
    let failed = |error: &dyn std::error::Error| {
        CliError::new(Exit::LocalIo, "cannot add an endpoint to the sandbox").because(error)
    };
    let mut secrets = Vec::with_capacity(new.len());
    for (form, url, secret) in new {
        let added = match secret {
            Some(secret) => admin.add_endpoint_with_secret(&form, &url, registrar, secret).await,
            None => admin.add_endpoint(&form, &url, registrar).await,
        };
        let added = added.map_err(|error| failed(&error))?;
        secrets.push((added.record.id, added.secret));
    }
    let mut webhooks = Vec::new();
    for form in forms {
        for endpoint in admin.list_endpoints(&form.id).await.map_err(|error| failed(&error))? {
            let at = secrets.iter().position(|(id, _)| *id == endpoint.id);
            webhooks.push(Webhook {
                form: form.public_id.clone(),
                secret: at.map(|at| secrets.swap_remove(at).1),
                is_enabled: endpoint.status == EndpointStatus::Enabled,
                url: endpoint.url,
            });
        }
    }
    Ok(webhooks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn webhook_flag_needs_a_form_and_a_url() {
        let found = wanted("contact=http://localhost:9000/?a=b").unwrap();
        assert_eq!((found.form.as_str(), &*found.url), ("contact", "http://localhost:9000/?a=b"));
        for bad in ["", "contact", "contact=", "=http://localhost/", "a/b=http://localhost/"] {
            assert!(wanted(bad).is_err(), "{bad:?}");
        }
        let error = wanted("contact=localhost:9000").unwrap_err();
        assert!(error.contains("`contact=http://localhost:9000`"), "{error}");
    }
}
