//! Completion candidates that clap cannot know: forms, profiles, settings and fields.

use std::ffi::{OsStr, OsString};

use clap_complete::engine::CompletionCandidate;
use formsvc_client::FormStatus;

use crate::base::env::Lookup;
use crate::cmd;
use crate::cmd::completion::is_plain;
use crate::error::usage;
use crate::form_cache::{self, CachedForm};
use crate::output::Field;
use crate::settings::args::Globals;
use crate::settings::config::keys::{SETTINGS, Setting};
use crate::settings::early::value_of;
use crate::settings::{self, OnBadSetting, PROFILE_DEFAULT, Service, Settings, Terminal};

/// The words of the line, and the settings that they select.
pub(super) struct Values {
    words: Vec<OsString>,
    settings: Option<Settings>,
}

impl Values {
    pub(super) fn new(words: &[OsString], env: Lookup<'_>) -> Self {
        let globals = Globals {
            demo: words.iter().any(|word| word == "--demo"),
            given: ["--profile", "--base-url"]
                .into_iter()
                .filter_map(|flag| Some((flag.to_owned(), Some(value_of(words, flag)?))))
                .collect(),
            ..Globals::default()
        };
        let settings = settings::load(globals, env, Terminal::default(), OnBadSetting::Warn).ok();
        Self { words: words.to_vec(), settings }
    }

    /// Returns forms by public id, by id, and by the beginning of the title.
    pub(super) fn forms(&self, typed: &OsStr) -> Vec<CompletionCandidate> {
        let Some(settings) = &self.settings else { return Vec::new() };
        if matches!(settings.service, Service::Demo) {
            return demo_forms(typed);
        }
        form_candidates(typed, &form_cache::load(settings).unwrap_or_default())
    }

    pub(super) fn profiles(&self, typed: &OsStr) -> Vec<CompletionCandidate> {
        let named = self.settings.iter().flat_map(|settings| &settings.resolved.profiles);
        let named = named.map(String::as_str).filter(|name| *name != PROFILE_DEFAULT);
        beginning(typed, [PROFILE_DEFAULT].into_iter().chain(named))
    }

    /// Returns the fields of `--json` for the command of the line.
    pub(super) fn fields(&self, typed: &OsStr) -> Vec<CompletionCandidate> {
        let root = cmd::command();
        let path = usage::path(&root, &self.words);
        let names: Vec<&str> = path.iter().skip(1).map(|command| command.get_name()).collect();
        field_candidates(cmd::fields(&names), typed)
    }
}

/// Returns the candidates that begin with the typed text.
fn beginning<'a>(
    typed: &OsStr,
    all: impl IntoIterator<Item = &'a str>,
) -> Vec<CompletionCandidate> {
    let typed = typed.to_str();
    let begins = |word: &&str| typed.is_some_and(|typed| word.starts_with(typed));
    all.into_iter().filter(begins).map(CompletionCandidate::new).collect()
}

/// Returns the forms of the demo and of the sandbox of a listener.
#[cfg(feature = "sandbox")]
pub(super) fn demo_forms(typed: &OsStr) -> Vec<CompletionCandidate> {
    beginning(typed, crate::sandbox::FORM_NAMES)
}

#[cfg(not(feature = "sandbox"))]
pub(super) fn demo_forms(_: &OsStr) -> Vec<CompletionCandidate> {
    Vec::new()
}

/// Returns the forms of a sandbox for `FORM=URL`.
pub(super) fn sandbox_webhooks(typed: &OsStr) -> Vec<CompletionCandidate> {
    let forms = demo_forms(typed).into_iter();
    let with_sign =
        |form: CompletionCandidate| [form.get_value(), OsStr::new("")].join("=".as_ref());
    forms.map(|form| CompletionCandidate::new(with_sign(form))).collect()
}

/// Returns the names of settings.
pub(super) fn settings(typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let named = SETTINGS.iter().filter(|setting| setting.name.starts_with(&*typed));
    let described =
        |setting: &Setting| CompletionCandidate::new(setting.name).help(Some(setting.about.into()));
    named.map(described).collect()
}

/// Returns the values of `forms list --status`.
pub(super) fn statuses(typed: &OsStr) -> Vec<CompletionCandidate> {
    let known = [FormStatus::Draft, FormStatus::Published, FormStatus::Closed];
    beginning(typed, known.iter().map(FormStatus::as_str))
}

/// Offers only ids that every shell takes literally: the line runs when the user presses Enter, and the
/// service chooses the ids. A title is only a description.
fn form_candidates(typed: &OsStr, forms: &[CachedForm]) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let lower_case = typed.to_lowercase();
    let is_safe = |id: &str| is_plain(id) && !id.starts_with(['-', '=', '@', '%']);
    let mut found = Vec::new();
    for form in forms {
        let by_id = !typed.is_empty() && form.id.starts_with(&*typed);
        let by_name = form.public_id.starts_with(&*typed)
            || !typed.is_empty() && form.title.to_lowercase().starts_with(&lower_case);
        // The id replaces a public id that is not safe.
        let by_id = by_id || by_name && !is_safe(&form.public_id);
        for (matches, id) in [(by_name, &form.public_id), (by_id, &form.id)] {
            if matches && is_safe(id) {
                let help = (!form.title.is_empty()).then(|| form.title.clone().into());
                found.push(CompletionCandidate::new(id.as_str()).help(help));
            }
        }
    }
    found
}

/// Completes the last field of a comma-separated list. Does not offer the fields before it again.
fn field_candidates(fields: &[Field], typed: &OsStr) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else { return Vec::new() };
    let (chosen, last) = typed.split_at(typed.rfind(',').map_or(0, |at| at + 1));
    let is_chosen = |name: &str| chosen.split(',').any(|chosen| chosen.trim() == name);
    let names = fields.iter().map(|field| field.name);
    let matching = names.filter(|name| name.starts_with(last) && !is_chosen(name));
    matching.map(|name| CompletionCandidate::new(format!("{chosen}{name}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(found: &[CompletionCandidate]) -> Vec<String> {
        found.iter().map(|found| found.get_value().to_string_lossy().into_owned()).collect()
    }

    fn forms(typed: &str, forms: &[[&str; 3]]) -> Vec<String> {
        let form = |[id, public_id, title]: &[&str; 3]| CachedForm {
            id: (*id).to_owned(),
            public_id: (*public_id).to_owned(),
            title: (*title).to_owned(),
        };
        let forms: Vec<_> = forms.iter().map(form).collect();
        values(&form_candidates(OsStr::new(typed), &forms))
    }

    #[test]
    fn forms_are_found_by_public_id_id_and_title() {
        let all = [["frm_1", "penguins", "Palmer penguins"], ["frm_2", "survey", "Survey"]];
        assert_eq!(forms("", &all), ["penguins", "survey"]);
        assert_eq!(forms("frm", &all), ["frm_1", "frm_2"]);
        assert_eq!(forms("palm", &all), ["penguins"]);
        assert!(forms("x", &all).is_empty());
    }

    #[test]
    fn id_that_a_shell_interprets_is_not_offered() {
        let all = [
            ["frm_1", "$(touch)", "$(touch /tmp/x)"],
            ["`reboot`", ";reboot", "x"],
            ["frm_3", "--help", "x"],
        ];
        assert_eq!(forms("", &all), ["frm_1", "frm_3"]);
        assert_eq!(forms("$", &all), ["frm_1"]);
    }

    #[test]
    fn fields_are_completed_one_after_the_other() {
        const FIELDS: &[Field] = &[Field::new("id"), Field::new("title"), Field::object("data")];
        let fields = |typed: &str| values(&field_candidates(FIELDS, OsStr::new(typed)));
        assert_eq!(fields(""), ["id", "title", "data"]);
        assert_eq!(fields("t"), ["title"]);
        assert_eq!(fields("id,"), ["id,title", "id,data"]);
        assert_eq!(fields("id, title,d"), ["id, title,data"]);
        assert!(fields("id,i").is_empty() && fields("data.x").is_empty());
    }
}
