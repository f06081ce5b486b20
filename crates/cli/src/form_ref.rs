//! FORM on the command line: an id, a public id, an exact title, or a unique prefix of either id.
//!
//! `GET /forms` ends at 200 forms (SPEC §8), so an id that it does not list is tried against the service.

use formsvc_client::{Client, Error, Form, FormId};

use crate::context::Context;
use crate::error::{CliError, Code};
use crate::key::{KEY_PREFIX, KEY_TYPED, unless_a_key};
use crate::suggest;

/// How many candidates an ambiguous name lists.
const CANDIDATES_MAX: usize = 10;

/// The form that FORM names.
#[derive(Clone, Debug)]
pub(crate) struct FormMatch {
    pub(crate) id: FormId,
    /// The title; the id for a form that is not listed.
    pub(crate) title: String,
    /// The form as `GET /forms` lists it.
    pub(crate) listed: Option<Form>,
}

impl From<Form> for FormMatch {
    fn from(form: Form) -> Self {
        Self { id: form.id.clone(), title: form.title.clone(), listed: Some(form) }
    }
}

/// Finds the form that FORM names, in the list of forms or else by asking the service for it as an id.
pub(crate) async fn resolve(cx: &Context, text: &str) -> Result<FormMatch, CliError> {
    let forms = cx.forms().await?;
    if let Some(form) = find_listed(cx, &forms, text)? {
        return Ok(form);
    }
    find_unlisted(cx, cx.client().await?, text).await?.ok_or_else(|| not_found(&forms, text))
}

/// Finds the form among the listed ones. Remarks which form a prefix was completed to; fails when
/// several forms match.
pub(crate) fn find_listed(
    cx: &Context,
    forms: &[Form],
    text: &str,
) -> Result<Option<FormMatch>, CliError> {
    let Some(form) = pick(forms, text)? else { return Ok(None) };
    if ![form.id.as_str(), form.public_id.as_str(), &form.title].contains(&text) {
        let taken = format!("`{text}` is the form {} ({})", form.public_id, form.title);
        cx.progress.remark(&taken);
    }
    Ok(Some(form.into()))
}

/// Requests the submissions of a form that is not listed. `None` if the text cannot be an id, or the
/// service answers 404; any other error leaves open whether the form exists, and is returned.
pub(crate) async fn find_unlisted(
    cx: &Context,
    client: &Client,
    text: &str,
) -> Result<Option<FormMatch>, Error> {
    let Some(Ok(id)) = unless_a_key(text).map(FormId::new) else { return Ok(None) };
    match client.form(id.clone()).submissions().page_size(1).page().await {
        Ok(_) => {
            cx.progress.remark(&format!("`{text}` is not in the list of forms, and exists"));
            Ok(Some(FormMatch { title: id.to_string(), id, listed: None }))
        }
        // A 404 without a code may be the page of a proxy.
        Err(error) if error.is_not_found() && error.code().is_some() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Picks by the first rule that any form meets: id, public id, title, prefix of an id or public id.
/// Several forms that meet the same rule are ambiguous.
fn pick(forms: &[Form], text: &str) -> Result<Option<Form>, CliError> {
    let rules: [fn(&Form, &str) -> bool; 4] = [
        |form, text| form.id.as_str() == text,
        |form, text| form.public_id.as_str() == text,
        |form, text| form.title == text,
        |form, text| {
            !text.is_empty()
                && (form.id.as_str().starts_with(text) || form.public_id.as_str().starts_with(text))
        },
    ];
    for rule in rules {
        let found: Vec<&Form> = forms.iter().filter(|form| rule(form, text)).collect();
        match found[..] {
            [] => {}
            [form] => return Ok(Some(form.clone())),
            _ => return Err(ambiguous(text, &found)),
        }
    }
    Ok(None)
}

/// The error for a FORM that is neither listed nor known to the service, with the nearest names.
pub(crate) fn not_found(forms: &[Form], text: &str) -> CliError {
    let Some(text) = unless_a_key(text) else {
        let message = format!("no form `{KEY_PREFIX}…`, which is an API key");
        return CliError::coded(Code::FormNotFound, message).hint(KEY_TYPED);
    };
    let names = forms.iter().flat_map(|form| [form.public_id.as_str(), &form.title]);
    let ids = forms.iter().map(|form| form.id.as_str());
    let listed = "`formsvc forms list` shows the forms this key can read";
    let hint = match suggest::did_you_mean(text, names.chain(ids)) {
        Some(near) => format!("{near} {listed}"),
        None => listed.to_owned(),
    };
    CliError::coded(Code::FormNotFound, format!("no form `{text}`")).hint(hint)
}

fn ambiguous(text: &str, found: &[&Form]) -> CliError {
    let id = |form: &&Form| -> FormId { form.id.clone() };
    let shown: Vec<String> = found
        .iter()
        .take(CANDIDATES_MAX)
        .map(|form| format!("{} ({})", id(form), form.public_id))
        .collect();
    let rest = found.len() - shown.len();
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    let message = format!("`{text}` could be any of {} forms", found.len());
    CliError::coded(Code::AmbiguousForm, message)
        .hint(format!("say which: {}{more}", shown.join(", ")))
}

#[cfg(test)]
mod tests {
    use formsvc_client::{FormStatus, PublicId};

    use crate::exit::Exit;

    use super::*;

    fn form(id: &str, public_id: &str, title: &str) -> Form {
        let at = "2026-01-01T00:00:00.000Z".parse::<formsvc_client::Timestamp>().unwrap();
        let (id, public_id) = (FormId::new(id).unwrap(), PublicId::new(public_id).unwrap());
        Form::new(id, public_id, title, FormStatus::Published, at.clone(), at)
    }

    fn picked(text: &str) -> Result<String, Exit> {
        let forms = vec![
            form("frm_aa1", "penguins", "Palmer penguins"),
            form("frm_aa2", "frm_aa1", "penguins"),
            form("frm_b", "survey-1", "Survey"),
            form("frm_c", "survey-2", "Survey"),
        ];
        let picked = pick(&forms, text).map_err(|error| error.exit)?;
        picked.map(|form| form.id.to_string()).ok_or_else(|| not_found(&forms, text).exit)
    }

    #[test]
    fn exact_match_wins_over_prefix() {
        assert_eq!(picked("frm_aa1").as_deref(), Ok("frm_aa1"));
        assert_eq!(picked("penguins").as_deref(), Ok("frm_aa1"));
        assert_eq!(picked("Palmer penguins").as_deref(), Ok("frm_aa1"));
        assert_eq!(picked("frm_b").as_deref(), Ok("frm_b"));
        assert_eq!(picked("peng").as_deref(), Ok("frm_aa1"));
    }

    #[test]
    fn unknown_name_suggests_the_nearest() {
        let forms = [form("frm_aa1", "penguins", "Palmer penguins")];
        let hint = |text| format!("{:?}", not_found(&forms, text));
        assert!(hint("pengiuns").contains("did you mean `penguins`?"), "{}", hint("pengiuns"));
        assert!(hint("palmer").contains("did you mean `Palmer penguins`"), "{}", hint("palmer"));
        assert!(!hint("zebra").contains("did you mean"), "{}", hint("zebra"));
    }

    #[test]
    fn api_key_as_form_is_not_repeated() {
        let error = not_found(&[], "fsk_abcdefgh");
        let text = format!("{error:?}");
        assert_eq!(error.exit, Exit::NotFound);
        assert!(!text.contains("abcdefgh") && text.contains("revoke this key"), "{text}");
        let titled = [form("frm_a", "a", "fsk_abcdefgh")];
        assert_eq!(pick(&titled, "fsk_abcdefgh").unwrap().unwrap().id.as_str(), "frm_a");
    }

    #[test]
    fn several_matches_are_ambiguous() {
        assert_eq!(picked("Survey"), Err(Exit::Usage));
        assert_eq!(picked("survey-"), Err(Exit::Usage));
        assert_eq!(picked("frm_aa"), Err(Exit::Usage));
        assert_eq!(picked("nothing"), Err(Exit::NotFound));
        assert_eq!(picked(""), Err(Exit::NotFound));
    }
}
