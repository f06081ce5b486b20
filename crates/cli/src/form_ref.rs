//! FORM on the command line: an id, a public id, an exact title, or the beginning of an id.

use formsvc_client::{Form, FormId};

use crate::context::Context;
use crate::error::{CliError, Code};
use crate::key::{KEY_PREFIX, KEY_TYPED, unless_a_key};
use crate::suggest;

/// How many candidates an ambiguous name lists.
const CANDIDATES_MAX: usize = 10;

/// The form a person means. If only the beginning of its name was given, says which it took.
pub(crate) async fn resolve(cx: &Context, text: &str) -> Result<Form, CliError> {
    told(cx, &cx.forms().await?, text)
}

/// The form of these that a person means, and a word if only the beginning of its name was given.
pub(crate) fn told(cx: &Context, forms: &[Form], text: &str) -> Result<Form, CliError> {
    let form = pick(forms, text)?;
    if ![form.id.as_str(), form.public_id.as_str(), &form.title].contains(&text) {
        let taken = format!("`{text}` is the form {} ({})", form.public_id, form.title);
        cx.progress.remark(&taken);
    }
    Ok(form)
}

/// Picks by the first rule that any form meets: id, public id, title, beginning of an id or public
/// id. More than one form by the same rule is ambiguous.
fn pick(forms: &[Form], text: &str) -> Result<Form, CliError> {
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
            [form] => return Ok(form.clone()),
            _ => return Err(ambiguous(text, &found)),
        }
    }
    let Some(text) = unless_a_key(text) else {
        let message = format!("no form `{KEY_PREFIX}…`, which is an API key");
        return Err(CliError::coded(Code::FormNotFound, message).hint(KEY_TYPED));
    };
    let names = forms.iter().flat_map(|form| [form.public_id.as_str(), &form.title]);
    let ids = forms.iter().map(|form| form.id.as_str());
    let listed = "`formsvc forms list` shows the forms this key can read";
    let hint = match suggest::did_you_mean(text, names.chain(ids)) {
        Some(near) => format!("{near} {listed}"),
        None => listed.to_owned(),
    };
    Err(CliError::coded(Code::FormNotFound, format!("no form `{text}`")).hint(hint))
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
        pick(&forms, text).map(|form| form.id.to_string()).map_err(|error| error.exit)
    }

    #[test]
    fn the_stronger_rule_wins() {
        assert_eq!(picked("frm_aa1").as_deref(), Ok("frm_aa1"));
        assert_eq!(picked("penguins").as_deref(), Ok("frm_aa1"));
        assert_eq!(picked("Palmer penguins").as_deref(), Ok("frm_aa1"));
        assert_eq!(picked("frm_b").as_deref(), Ok("frm_b"));
        assert_eq!(picked("peng").as_deref(), Ok("frm_aa1"));
    }

    #[test]
    fn a_slip_in_a_name_is_told_the_nearest() {
        let forms = [form("frm_aa1", "penguins", "Palmer penguins")];
        let hint = |text| format!("{:?}", pick(&forms, text).unwrap_err());
        assert!(hint("pengiuns").contains("did you mean `penguins`?"), "{}", hint("pengiuns"));
        assert!(hint("palmer").contains("did you mean `Palmer penguins`"), "{}", hint("palmer"));
        assert!(!hint("zebra").contains("did you mean"), "{}", hint("zebra"));
    }

    #[test]
    fn a_key_in_place_of_a_form_is_not_repeated() {
        let error = pick(&[], "fsk_abcdefgh").unwrap_err();
        let told = format!("{error:?}");
        assert_eq!(error.exit, Exit::NotFound);
        assert!(!told.contains("abcdefgh") && told.contains("revoke this key"), "{told}");
        let titled = [form("frm_a", "a", "fsk_abcdefgh")];
        assert_eq!(pick(&titled, "fsk_abcdefgh").unwrap().id.as_str(), "frm_a");
    }

    #[test]
    fn what_could_mean_several_forms_means_none() {
        assert_eq!(picked("Survey"), Err(Exit::Usage));
        assert_eq!(picked("survey-"), Err(Exit::Usage));
        assert_eq!(picked("frm_aa"), Err(Exit::Usage));
        assert_eq!(picked("nothing"), Err(Exit::NotFound));
        assert_eq!(picked(""), Err(Exit::NotFound));
    }
}
