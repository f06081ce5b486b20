//! The receivers of `docs/receivers`, which pass every check, and twins of them with one mistake each,
//! which fail exactly the checks that the mistake breaks.
//!
//! A twin is the receiver itself with some lines changed ([`twins`]): what is tested is what people copy.
//! Runtimes that are missing are skipped, unless `FORMSVC_REQUIRE_RUNTIMES=1` asks for those of `.ci/run`.

mod mistakes;
mod process;
mod run;
mod rust;
mod twins;

use std::time::Duration;

use formsvc_contract::receiver::{CHECKS, of_id};
use formsvc_protocol::limits::DELIVERY_TIMEOUT;

use mistakes::Mistake;
use process::{Language, Process};
use run::check;

/// The time limit where a twin is too slow for it.
const SHORT: Duration = Duration::from_millis(500);

/// How long an answer may take. Only who is slow is given less than the service gives: nothing here is to
/// fail because the machine is busy.
fn limit(mistake: Mistake) -> Duration {
    if mistake == Mistake::Slow { SHORT } else { DELIVERY_TIMEOUT }
}

async fn passes(language: Language) {
    let Some(process) = Process::start(language, &[]) else { return };
    let found = check(&process.url, DELIVERY_TIMEOUT).await;
    assert!(found.is_clean(), "{language:?}: {found:#?}\n{}", process.said());
}

async fn each_twin_fails_what_it_breaks(language: Language) {
    for twin in twins::of(language) {
        let Some(process) = Process::start(language, twin.changes) else { return };
        let found = check(&process.url, limit(twin.mistake)).await;
        let (mistake, said) = (twin.mistake, process.said());
        assert_eq!(found.failed(), twin.fails, "{language:?} {mistake:?}: {found:#?}\n{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_receiver_in_rust_passes_and_its_twins_fail_what_they_break() {
    passes(Language::Rust).await;
    for (mistake, fails) in rust::TWINS {
        let twin = rust::Twin::start(*mistake).await;
        let found = check(&twin.url, limit(*mistake)).await;
        assert_eq!(found.failed(), *fails, "{mistake:?}: {found:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_receiver_in_python_passes_and_its_twins_fail_what_they_break() {
    passes(Language::Python).await;
    each_twin_fails_what_it_breaks(Language::Python).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_receiver_in_node_passes_and_its_twins_fail_what_they_break() {
    passes(Language::Node).await;
    each_twin_fails_what_it_breaks(Language::Node).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_receiver_in_go_passes_and_its_twins_fail_what_they_break() {
    passes(Language::Go).await;
    each_twin_fails_what_it_breaks(Language::Go).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_receiver_in_php_passes_and_its_twins_fail_what_they_break() {
    passes(Language::Php).await;
    each_twin_fails_what_it_breaks(Language::Php).await;
}

#[test]
fn the_readme_names_the_checks_that_there_are_and_every_mistake_breaks_one() {
    let readme = include_str!("../../../../../docs/receivers/README.md");
    let rules =
        readme.lines().filter(|line| line.starts_with("| ") && line.matches('|').count() == 4);
    let named = rules.filter_map(|line| line.rsplit('|').nth(1));
    let ids: Vec<&str> = named.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    for id in &ids {
        assert!(of_id(id).is_some(), "there is no check `{id}`");
    }
    let missing: Vec<&str> =
        CHECKS.iter().map(|check| check.id).filter(|id| !ids.contains(id)).collect();
    assert!(missing.is_empty(), "no rule says what goes wrong: {missing:?}");
    for mistake in Mistake::ALL {
        assert!(mistake.fails().iter().all(|id| of_id(id).is_some()), "{mistake:?}");
    }
}

/// Where nothing says otherwise, what was kept is in the home of whoever runs it; what is written to a
/// terminal is short.
#[tokio::test(flavor = "multi_thread")]
async fn receivers_litter_no_folder_and_flood_no_terminal() {
    for language in [Language::Rust, Language::Python, Language::Node, Language::Go] {
        let Some(process) = Process::start_at_home(language) else { continue };
        let found = check(&process.url, DELIVERY_TIMEOUT).await;
        assert!(found.is_clean(), "{language:?}: {found:#?}\n{}", process.said());
        let longest = process.said().lines().map(str::len).max();
        assert!(longest.is_some_and(|length| length < 1000), "{language:?}: {longest:?}");
        assert_eq!(process.litter(), Vec::<String>::new(), "{language:?}");
    }
}

#[test]
fn every_mistake_is_made_in_every_language() {
    for mistake in Mistake::ALL {
        for language in Language::SCRIPTED {
            let made = twins::of(language).filter(|twin| twin.mistake == mistake).count();
            assert_eq!(made, 1, "{mistake:?} in {language:?}");
        }
        assert!(rust::TWINS.iter().any(|(made, _)| *made == mistake), "{mistake:?} in Rust");
    }
}
