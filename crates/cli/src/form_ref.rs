//! FORM on the command line: an id, a public id, an exact title, or a unique prefix of either id.
//!
//! `GET /forms` ends at 200 forms (SPEC §8), so an id that it does not list is tried against the service. A
//! form of the list that violates the API is found by its id all the same.

use formsvc_client::event::SkippedItem;
use formsvc_client::list::Forms;
use formsvc_client::{Client, Error, ErrorKind, Form, FormId};

use crate::account::key::{KEY_PREFIX, KEY_TYPED, unless_a_key};
use crate::base::suggest;
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::exit::Exit;

/// How many candidates an ambiguous name lists.
const CANDIDATES_MAX: usize = 10;

/// The form that FORM names.
#[derive(Clone, Debug)]
pub(crate) struct FormMatch {
    pub(crate) id: FormId,
    /// The title; the id for a form without a known title.
    pub(crate) title: String,
    /// The form as `GET /forms` lists it.
    pub(crate) listed: Option<Form>,
    /// The form, if it is listed but violates the API.
    pub(crate) invalid: Option<SkippedItem>,
}

impl FormMatch {
    /// A form of which only the id is known.
    pub(crate) fn unlisted(id: FormId) -> Self {
        Self { title: id.to_string(), id, listed: None, invalid: None }
    }

    /// A form of the list that violates the API; `None` if its id cannot be used.
    pub(crate) fn invalid(item: &SkippedItem) -> Option<Self> {
        let id = FormId::new(item.id()?).ok()?;
        let title = item.title().map_or_else(|| id.to_string(), str::to_owned);
        Some(Self { id, title, listed: None, invalid: Some(item.clone()) })
    }
}

impl From<Form> for FormMatch {
    fn from(form: Form) -> Self {
        let (id, title) = (form.id.clone(), form.title.clone());
        Self { id, title, listed: Some(form), invalid: None }
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

/// Finds the form among the listed ones. Remarks which form a prefix was completed to, and that a form violates
/// the API; fails when several forms match.
pub(crate) fn find_listed(
    cx: &Context,
    forms: &Forms,
    text: &str,
) -> Result<Option<FormMatch>, CliError> {
    let form = match pick(forms, text)? {
        None => return Ok(None),
        Some(Candidate::Valid(form)) => form,
        Some(Candidate::Invalid(item)) => {
            let found = FormMatch::invalid(item).ok_or_else(|| {
                let what = format!("the form `{text}` has no usable id");
                CliError::coded(Code::BadAnswer, what).cause(item.to_string())
            })?;
            cx.progress.warn(&format!("the service lists a form that violates its API: {item}"));
            return Ok(Some(found));
        }
    };
    if ![form.id.as_str(), form.public_id.as_str(), &form.title].contains(&text) {
        let taken = format!("`{text}` is the form {} ({})", form.public_id, form.title);
        cx.progress.remark(&taken);
    }
    Ok(Some(form.clone().into()))
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
        // A 404 without a code may be the page of a proxy.
        Err(error) if error.is_not_found() && error.code().is_some() => Ok(None),
        // A form has a submission that cannot be used: it exists.
        Err(error) if error.kind() != ErrorKind::InvalidItem => Err(error),
        _ => {
            cx.progress.remark(&format!("`{text}` is not in the list of forms, and exists"));
            Ok(Some(FormMatch::unlisted(id)))
        }
    }
}

/// A form of the list.
#[derive(Clone, Copy, Debug)]
enum Candidate<'a> {
    Valid(&'a Form),
    Invalid(&'a SkippedItem),
}

impl<'a> Candidate<'a> {
    fn id(self) -> Option<&'a str> {
        match self {
            Self::Valid(form) => Some(form.id.as_str()),
            Self::Invalid(item) => item.id(),
        }
    }

    fn public_id(self) -> Option<&'a str> {
        match self {
            Self::Valid(form) => Some(form.public_id.as_str()),
            Self::Invalid(item) => item.public_id(),
        }
    }

    fn title(self) -> Option<&'a str> {
        match self {
            Self::Valid(form) => Some(&form.title),
            Self::Invalid(item) => item.title(),
        }
    }
}

/// Picks by the first rule that any form meets: id, public id, title, prefix of an id or public id.
/// Several forms that meet the same rule are ambiguous. A form that violates the API meets a
/// rule only by a member that it has.
fn pick<'a>(forms: &'a Forms, text: &str) -> Result<Option<Candidate<'a>>, CliError> {
    let rules: [fn(Candidate<'_>, &str) -> bool; 4] = [
        |form, text| form.id() == Some(text),
        |form, text| form.public_id() == Some(text),
        |form, text| form.title() == Some(text),
        |form, text| {
            let mut ids = [form.id(), form.public_id()].into_iter().flatten();
            !text.is_empty() && ids.any(|id| id.starts_with(text))
        },
    ];
    let valid = forms.iter().map(Candidate::Valid);
    let candidates: Vec<_> = valid.chain(forms.skipped().iter().map(Candidate::Invalid)).collect();
    for rule in rules {
        let found: Vec<_> = candidates.iter().copied().filter(|form| rule(*form, text)).collect();
        match found[..] {
            [] => {}
            [form] => return Ok(Some(form)),
            _ => return Err(ambiguous(text, &found)),
        }
    }
    Ok(None)
}

/// The error for a FORM that is neither listed nor known to the service, with the nearest names. If a form
/// of the list lacks a name, it may be the one: then it is not known whether FORM exists.
pub(crate) fn not_found(forms: &Forms, text: &str) -> CliError {
    let Some(text) = unless_a_key(text) else {
        let message = format!("no form `{KEY_PREFIX}…`, which is an API key");
        return CliError::coded(Code::FormNotFound, message).hint(KEY_TYPED);
    };
    let lacks_name = |item: &&SkippedItem| {
        [item.id(), item.public_id(), item.title()].iter().any(Option::is_none)
    };
    let unnamed: Vec<_> = forms.skipped().iter().filter(lacks_name).collect();
    if !unnamed.is_empty() {
        let what = format!(
            "the form `{text}` cannot be looked up, because the service lists forms that violate its API"
        );
        let error = CliError::new(Exit::Service, what).hint("use the id of the form");
        return unnamed
            .into_iter()
            .take(CANDIDATES_MAX)
            .fold(error, |error, item| error.cause(item.to_string()));
    }
    let names = forms.iter().flat_map(|form| [form.public_id.as_str(), &form.title]);
    let ids = forms.iter().map(|form| form.id.as_str());
    let listed = "`formsvc forms list` shows the forms this key can read";
    let hint = match suggest::did_you_mean(text, names.chain(ids)) {
        Some(near) => format!("{near} {listed}"),
        None => listed.to_owned(),
    };
    CliError::coded(Code::FormNotFound, format!("no form `{text}`")).hint(hint)
}

fn ambiguous(text: &str, found: &[Candidate<'_>]) -> CliError {
    let shown: Vec<String> = found
        .iter()
        .take(CANDIDATES_MAX)
        .map(|form| {
            let [id, public_id] = [form.id(), form.public_id()].map(Option::unwrap_or_default);
            format!("{id} ({public_id})")
        })
        .collect();
    let rest = found.len() - shown.len();
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    let message = format!("`{text}` could be any of {} forms", found.len());
    CliError::coded(Code::AmbiguousForm, message)
        .hint(format!("say which: {}{more}", shown.join(", ")))
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
        let id = picked.and_then(|form| form.id().map(str::to_owned));
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
        assert_eq!(pick(&titled, "fsk_abcdefgh").unwrap().unwrap().id(), Some("frm_a"));
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
