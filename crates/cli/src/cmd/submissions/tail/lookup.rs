//! Finds the form and its newest submission, and retries while the service is unavailable.

use formsvc_client::{Client, Error, FormHandle, Submission};

use super::patience::Patience;
use crate::context::Context;
use crate::error::CliError;
use crate::form_cache;
use crate::form_ref::{self, FormMatch};

/// Finds the form that FORM names.
pub(in crate::cmd) async fn known_form(
    cx: &Context,
    client: &Client,
    text: &str,
    patience: &Patience<'_>,
) -> Result<FormMatch, CliError> {
    let forms = patience.repeat(async || client.forms().await).await?.into_inner();
    form_cache::save(&cx.settings, &forms);
    if let Some(form) = form_ref::find_listed(cx, &forms, text)? {
        return Ok(form);
    }
    let form = patience.repeat(async || form_ref::find_unlisted(cx, client, text).await).await?;
    form.ok_or_else(|| form_ref::not_found(&forms, text))
}

/// Returns the newest submission of a form.
pub(in crate::cmd) async fn newest(
    form: &FormHandle,
    patience: &Patience<'_>,
) -> Result<Option<Submission>, Error> {
    let list = form.submissions().page_size(1).allow_incomplete(true);
    patience.repeat(async || list.clone().items().try_next().await).await
}
