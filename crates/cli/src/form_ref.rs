//! Finds the form of a FORM argument: an id, a public id, an exact title, or a unique prefix of either id.
//!
//! `GET /forms` lists at most 200 forms (SPEC §8), so a FORM that is not in the list is tried as an id. A
//! form that violates the API can be found like any other.

use formsvc_client::event::SkippedItem;
use formsvc_client::list::Forms;
use formsvc_client::{Client, Error, ErrorKind, Form, FormId};
use unicode_normalization::UnicodeNormalization as _;

use crate::account::key::{KEY_PREFIX, KEY_TYPED, unless_a_key};
use crate::base::suggest;
use crate::base::text::first_names;
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::exit::Exit;
use crate::form_cache;

/// Maximum number of candidates in the error for an ambiguous name.
const CANDIDATES_MAX: usize = 10;

/// A form that was found for a FORM argument.
#[derive(Clone, Debug)]
pub(crate) struct FormMatch {
    pub(crate) id: FormId,
    pub(crate) public_id: Option<String>,
    /// The title; the id for a form without a known title.
    pub(crate) title: String,
    /// The form as `GET /forms` lists it.
    pub(crate) listed: Option<Form>,
    /// The form, if it is listed but violates the API.
    pub(crate) invalid: Option<SkippedItem>,
}

impl FormMatch {
    /// Returns a form of which only the id is known.
    pub(crate) fn unlisted(id: FormId) -> Self {
        Self { title: id.to_string(), id, public_id: None, listed: None, invalid: None }
    }

    /// Returns a form of the list that violates the API; `None` if its id cannot be used.
    pub(crate) fn invalid(item: &SkippedItem) -> Option<Self> {
        let form = Self::unlisted(FormId::new(item.id()?).ok()?);
        let title = item.title().map_or_else(|| form.title.clone(), str::to_owned);
        let public_id = item.public_id().map(str::to_owned);
        Some(Self { title, public_id, invalid: Some(item.clone()), ..form })
    }

    fn names(&self) -> FormNames<'_> {
        [Some(self.id.as_str()), self.public_id.as_deref(), Some(&self.title)]
    }

    /// Returns the name for commands and files: the public id, unless it looks like a flag, or else the id.
    pub(crate) fn name(&self) -> &str {
        let public_id = self.public_id.as_deref().filter(|id| !id.starts_with('-'));
        public_id.unwrap_or(self.id.as_str())
    }
}

impl From<Form> for FormMatch {
    fn from(form: Form) -> Self {
        let public_id = Some(form.public_id.to_string());
        let (id, title) = (form.id.clone(), form.title.clone());
        Self { id, public_id, title, listed: Some(form), invalid: None }
    }
}

/// Returns all forms of the list, and the items that have no usable id.
pub(crate) fn all(listed: &Forms) -> (Vec<FormMatch>, Vec<SkippedItem>) {
    let (mut forms, mut unusable) = (Vec::new(), Vec::new());
    for item in listed.skipped() {
        match FormMatch::invalid(item) {
            Some(form) => forms.push(form),
            None => unusable.push(item.clone()),
        }
    }
    forms.extend(listed.iter().cloned().map(FormMatch::from));
    (forms, unusable)
}

/// Finds the form that FORM names in the service of this command.
pub(crate) async fn resolve(cx: &Context, text: &str) -> Result<FormMatch, CliError> {
    find(cx, cx.client().await?, text).await
}

/// Finds the form that FORM names, in the list of forms, or else by requesting it as an id.
pub(crate) async fn find(cx: &Context, client: &Client, text: &str) -> Result<FormMatch, CliError> {
    let forms = client.forms().await?.into_inner();
    form_cache::save(&cx.settings, &forms);
    if let Some(form) = find_listed(cx, &forms, text)? {
        return Ok(form);
    }
    find_unlisted(cx, client, text).await?.ok_or_else(|| not_found(&forms, text))
}

/// Finds the form in the list. Reports to which form a prefix was completed, and that a form violates the
/// API.
///
/// # Errors
/// Fails if several forms match.
fn find_listed(cx: &Context, forms: &Forms, text: &str) -> Result<Option<FormMatch>, CliError> {
    let Some(form) = pick(forms, text)? else { return Ok(None) };
    if let Some(item) = &form.invalid {
        cx.progress.warn(&format!("the service lists a form that violates its API: {item}"));
    } else if !form.names().contains(&Some(text)) {
        let (name, title) = (form.name(), &form.title);
        cx.progress.remark(&format!("`{text}` is the form {name} ({title})"));
    }
    Ok(Some(form))
}

fn pick(forms: &Forms, text: &str) -> Result<Option<FormMatch>, CliError> {
    let (forms, _) = all(forms);
    let found = matching(&forms, text, FormMatch::names);
    if let [] | [_] = found[..] {
        return Ok(found.first().copied().cloned());
    }
    let ids = found
        .iter()
        .map(|form| format!("{} ({})", form.id, form.public_id.as_deref().unwrap_or_default()));
    let ids = first_names(&ids.collect::<Vec<_>>(), CANDIDATES_MAX);
    let message = format!("`{text}` could be any of {} forms", found.len());
    Err(CliError::coded(Code::AmbiguousForm, message).hint(format!("use one of the ids {ids}")))
}

/// Requests the submissions of a form that is not listed. Returns `None` if the text cannot be an id, or if
/// the service responds with 404. Any other error leaves open whether the form exists, and is returned.
async fn find_unlisted(
    cx: &Context,
    client: &Client,
    text: &str,
) -> Result<Option<FormMatch>, Error> {
    let Some(Ok(id)) = unless_a_key(text).map(FormId::new) else { return Ok(None) };
    match client.form(id.clone()).submissions().page_size(1).page().await {
        // A 404 without a code may be the page of a proxy.
        Err(error) if error.is_not_found() && error.code().is_some() => Ok(None),
        // A form with an invalid submission exists: not an error here.
        Err(error) if error.kind() != ErrorKind::InvalidItem => Err(error),
        _ => {
            cx.progress
                .remark(&format!("the form `{text}` exists and is not in the list of forms"));
            Ok(Some(FormMatch::unlisted(id)))
        }
    }
}

/// The id, the public id and the title of a form.
pub(crate) type FormNames<'a> = [Option<&'a str>; 3];

/// Returns the forms that match by the first rule that any form meets: id, public id, title, prefix of
/// either id. Titles are equal if their Unicode normal forms are: a keyboard and a service may write `é` in
/// different ways.
pub(crate) fn matching<'a, T>(
    forms: &'a [T],
    text: &str,
    names: impl Fn(&T) -> FormNames<'_>,
) -> Vec<&'a T> {
    let rules: [fn(FormNames<'_>, &str) -> bool; 4] = [
        |[id, ..], text| id == Some(text),
        |[_, public_id, _], text| public_id == Some(text),
        |[.., title], text| title.is_some_and(|title| title.nfc().eq(text.nfc())),
        |[id, public_id, _], text| {
            let mut ids = [id, public_id].into_iter().flatten();
            !text.is_empty() && ids.any(|id| id.starts_with(text))
        },
    ];
    let found = rules.map(|rule| forms.iter().filter(|form| rule(names(form), text)).collect());
    found.into_iter().find(|found: &Vec<&T>| !found.is_empty()).unwrap_or_default()
}

/// Returns the error for a FORM that is neither listed nor known to the service, with similar names. If a listed form
/// lacks an id, public id or title, FORM may be the missing name: a different error.
fn not_found(forms: &Forms, text: &str) -> CliError {
    let Some(text) = unless_a_key(text) else {
        let message = format!("no form `{KEY_PREFIX}…`, which is an API key");
        return CliError::coded(Code::FormNotFound, message).hint(KEY_TYPED);
    };
    let lacks_name = |item: &&SkippedItem| {
        [item.id(), item.public_id(), item.title()].iter().any(Option::is_none)
    };
    let unnamed: Vec<_> = forms.skipped().iter().filter(lacks_name).take(CANDIDATES_MAX).collect();
    if !unnamed.is_empty() {
        let what = format!(
            "the form `{text}` cannot be found, because the service lists forms that violate its API"
        );
        let error = CliError::new(Exit::Service, what).hint("use the id of the form");
        return unnamed.iter().fold(error, |error, item| error.cause(item.to_string()));
    }
    let names = forms.iter().flat_map(|form| [form.public_id.as_str(), &form.title]);
    let ids = forms.iter().map(|form| form.id.as_str());
    let listed = "`formsvc forms list` shows the forms this key can read";
    let near = suggest::did_you_mean(text, names.chain(ids));
    let hint = near.map_or(listed.to_owned(), |near| format!("{near} {listed}"));
    CliError::coded(Code::FormNotFound, format!("no form `{text}`")).hint(hint)
}

#[cfg(test)]
mod tests {
    use formsvc_client::FormStatus;
    use formsvc_client::types::PublicId;

    use crate::exit::Exit;

    use super::*;

    fn form(id: &str, public_id: &str, title: &str) -> Form {
        let at = "2026-01-01T00:00:00.000Z".parse::<formsvc_client::Timestamp>().unwrap();
        let (id, public_id) = (FormId::new(id).unwrap(), PublicId::new(public_id).unwrap());
        Form::new(id, public_id, title, FormStatus::Published, at.clone(), at)
    }

    fn picked(text: &str) -> Result<String, Exit> {
        let forms = Forms::from(vec![
            form("frm_aa1", "penguins", "Palmer penguins"),
            form("frm_aa2", "frm_aa1", "penguins"),
            form("frm_b", "survey-1", "Survey"),
            form("frm_c", "survey-2", "Survey"),
        ]);
        let picked = pick(&forms, text).map_err(|error| error.exit)?;
        let id = picked.map(|form| form.id.to_string());
        id.ok_or_else(|| not_found(&forms, text).exit)
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
    fn title_in_another_normal_form_is_found() {
        let forms = Forms::from(vec![form("frm_1", "cafe", "Cafe\u{301}-Umfrage")]);
        for title in ["Caf\u{e9}-Umfrage", "Cafe\u{301}-Umfrage"] {
            let found = pick(&forms, title).unwrap();
            assert_eq!(found.unwrap().id.as_str(), "frm_1");
        }
        assert!(pick(&forms, "Cafe-Umfrage").unwrap().is_none());
    }

    #[test]
    fn unknown_name_suggests_the_nearest() {
        let forms = Forms::from(vec![form("frm_aa1", "penguins", "Palmer penguins")]);
        let hint = |text| format!("{:?}", not_found(&forms, text));
        assert!(hint("pengiuns").contains("did you mean `penguins`?"), "{}", hint("pengiuns"));
        assert!(hint("palmer").contains("did you mean `Palmer penguins`"), "{}", hint("palmer"));
        assert!(!hint("zebra").contains("did you mean"), "{}", hint("zebra"));
    }

    #[test]
    fn api_key_as_form_is_not_repeated() {
        let error = not_found(&Forms::default(), "fsk_abcdefgh");
        let text = format!("{error:?}");
        assert_eq!(error.exit, Exit::NotFound);
        assert!(!text.contains("abcdefgh") && text.contains("revoke this key"), "{text}");
        let titled = Forms::from(vec![form("frm_a", "a", "fsk_abcdefgh")]);
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
