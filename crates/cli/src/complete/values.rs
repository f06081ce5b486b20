//! What is completed beyond the words of the command line itself: forms and profiles.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use clap_complete::engine::CompletionCandidate;
use formsvc_client::{Client, Form, RateLimit, Timeouts};
use formsvc_workbench::store::{CaptureQuery, CaptureStore};
use secrecy::{ExposeSecret, SecretString};

use super::beginning;
use super::cache::{self, Known};
use super::shell::is_plain;
use crate::account::key;
use crate::base::env::{self, Lookup};
use crate::base::when;
use crate::settings::args::Globals;
use crate::settings::config::{self, keys::SETTINGS};
use crate::settings::early::value_of;
use crate::settings::{self, Care, Service, Settings, Terminal};

/// Longest that a shell waits for the service.
const NETWORK_MAX: Duration = Duration::from_millis(150);

/// Longest that a shell waits for the store of captures.
const STORE_MAX: Duration = Duration::from_millis(150);
/// Captures that are offered at once, of so many that are looked at.
const CAPTURES_MAX: usize = 20;
const CAPTURES_READ: usize = 500;

/// What the words so far say about where values come from. Cheap to clone.
#[derive(Clone)]
pub(super) struct Values(Arc<Option<Settings>>);

impl Values {
    pub(super) fn new(words: &[OsString], env: Lookup<'_>) -> Self {
        let globals = Globals {
            demo: words.iter().any(|word| word == "--demo"),
            profile: value_of(words, "--profile"),
            base_url: value_of(words, "--base-url"),
            api_key_file: value_of(words, "--api-key-file").map(Into::into),
            cacert: value_of(words, "--cacert").map(Into::into),
            no_input: true,
            ..Globals::default()
        };
        // Settings that are wrong complete nothing; the command will say so when it runs.
        Self(Arc::new(settings::load(globals, env, Terminal::default(), Care::Lenient).ok()))
    }

    /// Forms by public id, by id where one was begun, and by the beginning of a title.
    pub(super) fn forms(&self, typed: &OsStr) -> Vec<CompletionCandidate> {
        let Some(settings) = &*self.0 else { return Vec::new() };
        match &settings.service {
            Service::Demo => demo_forms(typed),
            Service::At { base_url: None, .. } => Vec::new(),
            Service::At { base_url: Some(base_url), .. } => {
                let cached = cache::recall(settings);
                let fresh = cached.as_ref().is_some_and(|cached| cached.fresh);
                let asked = if fresh { None } else { self.ask(base_url) };
                let known = asked.or_else(|| cached.map(|cached| cached.forms));
                candidates(typed, &known.unwrap_or_default())
            }
        }
    }

    /// Asks the service, if that needs no person and no other program. The thread that asks is not
    /// waited for: it ends with the process.
    fn ask(&self, base_url: &str) -> Option<Vec<Known>> {
        let (settings, base_url) = (Arc::clone(&self.0), base_url.to_owned());
        let (answer, answered) = mpsc::channel();
        let fetched = move || {
            let settings = settings.as_ref().as_ref()?;
            let forms = fetch(settings, base_url.clone(), &key::at_hand(settings, &base_url)?)?;
            cache::remember(settings, &forms);
            // Nobody waits any more when it took too long.
            answer.send(forms.iter().map(Known::of).collect()).ok()
        };
        thread::Builder::new().spawn(fetched).ok()?;
        answered.recv_timeout(NETWORK_MAX).ok()
    }

    /// The newest captures by number, each with its event and when it came. The thread that reads them is not
    /// waited for, and nothing is written.
    pub(super) fn captures(&self, typed: &OsStr) -> Vec<CompletionCandidate> {
        let typed = typed.to_string_lossy().into_owned();
        let Some(settings) = &*self.0 else { return Vec::new() };
        // Those of a demo are made by the command that shows them.
        if matches!(settings.service, Service::Demo)
            || !typed.bytes().all(|byte| byte.is_ascii_digit())
        {
            return Vec::new();
        }
        let Some(folder) = settings.paths.captures() else { return Vec::new() };
        let (answer, answered) = mpsc::channel();
        let read = move || answer.send(newest(&folder).unwrap_or_default()).ok();
        if thread::Builder::new().spawn(read).is_err() {
            return Vec::new();
        }
        let newest = answered.recv_timeout(STORE_MAX).unwrap_or_default();
        let begun = newest.into_iter().filter(|(number, _)| number.starts_with(&typed));
        let offered = |(number, help): (String, String)| {
            CompletionCandidate::new(number).help(Some(help.into()))
        };
        begun.take(CAPTURES_MAX).map(offered).collect()
    }

    /// The profiles of the configuration.
    pub(super) fn profiles(&self, typed: &OsStr) -> Vec<CompletionCandidate> {
        let named = self
            .0
            .as_ref()
            .as_ref()
            .and_then(|settings| config::File::load(&settings.paths).ok()?.profiles().ok());
        let named = named.unwrap_or_default();
        let default = settings::PROFILE_DEFAULT;
        let rest = named.iter().map(String::as_str).filter(|name| *name != default);
        beginning(typed, [default].into_iter().chain(rest))
    }

    /// The names of settings, with those of profiles once one was begun.
    pub(super) fn settings(&self, typed: &OsStr) -> Vec<CompletionCandidate> {
        let typed = typed.to_string_lossy();
        let mut found = Vec::new();
        for setting in SETTINGS {
            let help = || Some(setting.about.into());
            if setting.scope.top() && setting.name.starts_with(&*typed) {
                found.push(CompletionCandidate::new(setting.name).help(help()));
            }
            // All settings of all profiles at once would be a wall.
            for profile in self.profiles(OsStr::new("")).iter().filter(|_| !typed.is_empty()) {
                let name = profile.get_value().to_string_lossy();
                let name = format!("profiles.{name}.{}", setting.name);
                if setting.scope.profile() && name.starts_with(&*typed) {
                    found.push(CompletionCandidate::new(name).help(help()));
                }
            }
        }
        found
    }
}

/// Returns the newest captures of a folder: the number, and the event or verdict with the time.
fn newest(folder: &Path) -> Option<Vec<(String, String)>> {
    let captures = CaptureStore::open_existing(folder).ok()??;
    let runtime = tokio::runtime::Builder::new_current_thread().build().ok()?;
    let query = CaptureQuery { limit: Some(CAPTURES_READ), ..CaptureQuery::default() };
    let listed = runtime.block_on(captures.list(query)).ok()?;
    let zone = when::zone();
    let described = listed.into_iter().filter_map(|listed| {
        let at = listed.received_at.to_zoned(zone.clone());
        let at = at.strftime("%Y-%m-%d %H:%M:%S").to_string();
        let code = listed.verdict.code;
        let name = listed.names.event.unwrap_or_else(|| code.row().name.to_owned());
        Some((listed.number?.to_string(), format!("{name}, {at}")))
    });
    Some(described.collect())
}

#[cfg(feature = "sandbox")]
fn demo_forms(typed: &OsStr) -> Vec<CompletionCandidate> {
    beginning(typed, crate::sandbox::FORM_NAMES)
}

#[cfg(not(feature = "sandbox"))]
fn demo_forms(_: &OsStr) -> Vec<CompletionCandidate> {
    Vec::new()
}

/// Only ids that every shell takes as they are: an id is chosen by whoever runs the service, and
/// what it is completed to runs when the person presses Enter. A title, which anybody may choose,
/// is never more than a description.
fn candidates(typed: &OsStr, forms: &[Known]) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let begun = typed.to_lowercase();
    let offered = |id: &str| is_plain(id) && !id.starts_with(['-', '=', '@', '%']);
    let mut found = Vec::new();
    for form in forms {
        let by_id = !typed.is_empty() && form.id.starts_with(&*typed);
        let by_name = form.public_id.starts_with(&*typed)
            || !typed.is_empty() && form.title.to_lowercase().starts_with(&begun);
        let ids = [(by_name, &form.public_id), (by_id, &form.id)];
        // A form whose public id cannot be offered may have an id that can.
        let hidden = by_name && !offered(&form.public_id);
        for (_, id) in ids.iter().filter(|(meant, id)| (*meant || hidden) && offered(id)) {
            let help = (!form.title.is_empty()).then(|| form.title.clone().into());
            found.push(CompletionCandidate::new(id.as_str()).help(help));
        }
    }
    found
}

fn fetch(settings: &Settings, base_url: String, key: &SecretString) -> Option<Vec<Form>> {
    let limits = Timeouts::new().attempt(NETWORK_MAX).connect(NETWORK_MAX);
    let client = Client::builder()
        .base_url(base_url)
        .api_key(key.expose_secret())
        .timeouts(limits.overall(Some(NETWORK_MAX)))
        .network(settings.network(&env::of_process).ok()?)
        .rate_limit(RateLimit::off())
        .build()
        .ok()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let forms = runtime.block_on(client.forms()).ok()?;
    Some(forms.into_inner().into_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(typed: &str, forms: &[(&str, &str, &str)]) -> Vec<String> {
        let forms: Vec<Known> = forms
            .iter()
            .map(|(id, public_id, title)| Known {
                id: (*id).to_owned(),
                public_id: (*public_id).to_owned(),
                title: (*title).to_owned(),
            })
            .collect();
        let found = candidates(OsStr::new(typed), &forms);
        found.iter().map(|found| found.get_value().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn forms_are_found_by_public_id_id_and_title() {
        let forms = [("frm_1", "penguins", "Palmer penguins"), ("frm_2", "survey", "Survey")];
        assert_eq!(offered("", &forms), ["penguins", "survey"]);
        assert_eq!(offered("frm", &forms), ["frm_1", "frm_2"]);
        assert_eq!(offered("palm", &forms), ["penguins"]);
        assert!(offered("x", &forms).is_empty());
    }

    #[test]
    fn an_id_that_a_shell_would_run_is_not_offered() {
        let forms = [
            ("frm_1", "$(touch)", "$(touch /tmp/x)"),
            ("`reboot`", ";reboot", "x"),
            ("frm_3", "--help", "x"),
        ];
        assert_eq!(offered("", &forms), ["frm_1", "frm_3"]);
        assert_eq!(offered("$", &forms), ["frm_1"]);
    }
}
