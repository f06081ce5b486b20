//! The receivers of `docs/receivers`, which pass every check, and twins of them with one mistake each,
//! which fail exactly the checks that the mistake breaks.
//!
//! A twin is the documented receiver with some lines changed ([`twins`]), so the tests cover the code that
//! users copy. Missing runtimes are skipped, unless `FORMSVC_REQUIRE_RUNTIMES=1` requires those of `.ci/run`.

mod mistakes;
mod process;
mod run;
mod rust;
mod twins;

use std::time::Duration;

use formsvc_contract::receiver::RECEIVER_CHECKS;
use formsvc_protocol::limits::DELIVERY_TIMEOUT;
use futures_util::{StreamExt, stream};

use mistakes::Mistake;
use process::{Language, Process};
use run::check;

/// Time limit of a twin that is too slow.
const SHORT: Duration = Duration::from_millis(500);

/// Twins that are checked at the same time: a check mostly waits.
const TWINS_AT_ONCE: usize = 4;

/// Returns the time limit of an answer: short only for the slow twin, because a busy machine must not fail
/// the tests of the others.
fn timeout(mistake: Mistake) -> Duration {
    if mistake == Mistake::Slow { SHORT } else { DELIVERY_TIMEOUT }
}

async fn assert_passes(language: Language) {
    let Some(process) = Process::start(language, &[]) else { return };
    let found = check(&process.url, DELIVERY_TIMEOUT).await;
    assert!(found.is_clean(), "{language:?}: {found:#?}\n{}", process.output());
}

async fn assert_twins_fail(language: Language) {
    let assert_fails = async |twin: &twins::Twin| {
        let Some(process) = Process::start(language, twin.changes) else { return };
        let found = check(&process.url, timeout(twin.mistake)).await;
        let (mistake, output) = (twin.mistake, process.output());
        assert_eq!(found.failed(), twin.fails, "{language:?} {mistake:?}: {found:#?}\n{output}");
    };
    stream::iter(twins::of(language)).for_each_concurrent(TWINS_AT_ONCE, assert_fails).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rust_receiver_passes_and_its_twins_fail() {
    assert_passes(Language::Rust).await;
    let assert_fails = async |(mistake, fails): &(Mistake, &[&str])| {
        let twin = rust::Twin::start(*mistake).await;
        let found = check(&twin.url, timeout(*mistake)).await;
        assert_eq!(found.failed(), *fails, "{mistake:?}: {found:#?}");
    };
    stream::iter(rust::TWINS).for_each_concurrent(TWINS_AT_ONCE, assert_fails).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn python_receiver_passes_and_its_twins_fail() {
    assert_passes(Language::Python).await;
    assert_twins_fail(Language::Python).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn node_receiver_passes_and_its_twins_fail() {
    assert_passes(Language::Node).await;
    assert_twins_fail(Language::Node).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn go_receiver_passes_and_its_twins_fail() {
    assert_passes(Language::Go).await;
    assert_twins_fail(Language::Go).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn php_receiver_passes_and_its_twins_fail() {
    assert_passes(Language::Php).await;
    assert_twins_fail(Language::Php).await;
}

#[test]
fn readme_names_all_checks() {
    let readme = include_str!("../../../../../docs/receivers/README.md");
    let rules =
        readme.lines().filter(|line| line.starts_with("| ") && line.matches('|').count() == 4);
    let named = rules.filter_map(|line| line.rsplit('|').nth(1));
    let ids: Vec<&str> = named.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    let checks: Vec<&str> = RECEIVER_CHECKS.iter().map(|check| check.id).collect();
    for id in &ids {
        assert!(checks.contains(id), "there is no check `{id}`");
    }
    let missing: Vec<_> = checks.iter().filter(|id| !ids.contains(id)).collect();
    assert!(missing.is_empty(), "checks without a rule: {missing:?}");
    for mistake in Mistake::ALL {
        assert!(mistake.fails().iter().all(|id| checks.contains(id)), "{mistake:?}");
    }
}

/// Without `FORMSVC_INBOX`, the receivers store events below the home directory. Their output has short lines.
#[tokio::test(flavor = "multi_thread")]
async fn receivers_write_no_files_into_the_working_directory() {
    for language in [Language::Rust, Language::Python, Language::Node, Language::Go] {
        let Some(process) = Process::start_without_inbox_path(language) else { continue };
        let found = check(&process.url, DELIVERY_TIMEOUT).await;
        assert!(found.is_clean(), "{language:?}: {found:#?}\n{}", process.output());
        let longest = process.output().lines().map(str::len).max();
        assert!(longest.is_some_and(|length| length < 1000), "{language:?}: {longest:?}");
        assert_eq!(process.files_in_working_directory(), Vec::<String>::new(), "{language:?}");
    }
}

#[test]
fn each_language_has_a_twin_of_each_mistake() {
    for mistake in Mistake::ALL {
        for language in Language::SCRIPTED {
            let count = twins::of(language).filter(|twin| twin.mistake == mistake).count();
            assert_eq!(count, 1, "{mistake:?} in {language:?}");
        }
        assert!(rust::TWINS.iter().any(|(twin, _)| *twin == mistake), "{mistake:?} in Rust");
    }
}
