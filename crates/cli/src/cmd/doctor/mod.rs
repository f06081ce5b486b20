//! `formsvc doctor`

mod clock;
mod network;
mod service;

use clap::Args;

use crate::base::paths::Paths;
use crate::checks::{self, Check};
use crate::context::Context;
use crate::error::CliError;
use crate::settings::{KeySource, Service};

/// Check the configuration, the API key, the network and the service
///
/// Checks the config file, the API key, the proxy, the trusted certificates, the connection to the service,
/// its response, the clock of this machine and the cache folder. Sends at most two requests. A failed check
/// does not stop the others. Prints no key and no password. Exits with 1 if a check fails.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo doctor\n  formsvc doctor\n  formsvc --demo doctor --output json"
)]
pub(crate) struct Doctor {}

impl Doctor {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let listing = cx.output.listing(checks::FIELDS)?;
        let mut checks = vec![version()];
        checks.extend(match &cx.settings.service {
            Service::Demo => check_demo(cx).await,
            Service::At { base_url, key } => check(cx, base_url.as_deref(), key.as_ref()).await,
        });
        checks.extend([cache_folder(&cx.settings.paths), terminal(cx)]);
        checks::print(cx, listing, &checks, &checks)?;
        checks::result(&checks, None)
    }
}

fn version() -> Check {
    let sandbox = if cfg!(feature = "sandbox") { "with" } else { "without" };
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    let version = env!("CARGO_PKG_VERSION");
    Check::passed("version", format!("formsvc {version}, {os} {arch}, {sandbox} the sandbox"))
}

async fn check_demo(cx: &Context) -> Vec<Check> {
    let client = match cx.client().await {
        Ok(client) => client,
        Err(error) => return vec![Check::error("service", &error)],
    };
    let mut checks = vec![Check::passed("key", "created by the sandbox of `--demo`")];
    checks.extend(network::checks(cx, Some(client.base_url())));
    checks.extend(service::checks(cx, client, true).await);
    checks
}

/// Checks the service of the settings.
async fn check(cx: &Context, base_url: Option<&str>, source: Option<&KeySource>) -> Vec<Check> {
    let (mut checks, key) = checks::keys(cx, base_url, source).await;
    checks.extend(network::checks(cx, base_url));
    let Some(base_url) = base_url else {
        checks.push(Check::skipped("service", "not checked: no base URL is set"));
        return checks;
    };
    if cx.check_network(base_url).is_err() {
        checks.push(Check::skipped("service", "not checked: the network settings are not usable"));
        return checks;
    }
    let has_key = key.is_some();
    // The service refuses this key, but its response shows that the connection works.
    let key = key.unwrap_or_else(|| "no-key".to_owned().into());
    match cx.client_at(base_url, &key) {
        Ok(client) => checks.extend(service::checks(cx, &client, has_key).await),
        Err(error) => checks.push(Check::error("service", &error)),
    }
    checks
}

/// Checks that shell completion can store its cache.
fn cache_folder(paths: &Paths) -> Check {
    const NAME: &str = "cache folder";
    let Some(folder) = &paths.cache else {
        return Check::warning(NAME, "no folder: neither HOME nor XDG_CACHE_HOME is set")
            .hint(Some("set HOME or XDG_CACHE_HOME"));
    };
    let shown = folder.display();
    let existing = folder.ancestors().find(|path| path.exists()).unwrap_or(folder);
    match tempfile::tempfile_in(existing) {
        Ok(_) if existing == folder => Check::passed(NAME, format!("`{shown}` is writable")),
        Ok(_) => Check::passed(NAME, format!("`{shown}` does not exist yet and can be created")),
        Err(error) => {
            let existing = existing.display();
            Check::warning(NAME, format!("`{existing}` is not writable: {error}"))
                .hint(Some("make it writable, so that shell completion can remember your forms"))
        }
    }
}

/// Shows which standard streams are a terminal.
fn terminal(cx: &Context) -> Check {
    const NAME: &str = "terminal";
    let streams = cx.settings.terminal;
    let names = [(streams.stdin, "input"), (streams.stdout, "output"), (streams.stderr, "error")];
    let names: Vec<&str> = names.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect();
    if names.is_empty() {
        return Check::passed(NAME, "no terminal: lists are TSV, prompts are disabled");
    }
    let width = terminal_size::terminal_size()
        .map_or(String::new(), |(width, _)| format!("; {} columns", width.0));
    Check::passed(NAME, format!("standard {}{width}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::checks::Outcome;

    #[test]
    fn cache_folder_is_checked_without_creating_it() {
        let folder = tempfile::tempdir().unwrap();
        let check =
            |path: &Path| cache_folder(&Paths { cache: Some(path.to_owned()), ..Paths::default() });
        assert!(check(folder.path()).found.ends_with("is writable"));
        let missing = folder.path().join("a/b");
        assert!(check(&missing).found.ends_with("can be created"));
        assert!(!missing.exists());
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert_eq!(check(&file).outcome, Outcome::Warning);
        assert_eq!(check(&file.join("below")).outcome, Outcome::Warning);
        let unset = cache_folder(&Paths::default());
        assert_eq!(unset.outcome, Outcome::Warning);
        assert!(unset.hint.unwrap().contains("XDG_CACHE_HOME"));
    }
}
