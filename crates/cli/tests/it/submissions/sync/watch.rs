//! `sync --watch`.

use super::*;

#[test]
fn watch_stores_new_submissions_until_a_signal() {
    let answers = vec![one_form(), page(OLDER, None), both()];
    let (service, database) = (Canned::start(answers), Database::new());
    let watch = ["sync", "survey", "--watch", "--interval", "50ms"];
    let child = database.command(&service, &watch).stderr(Stdio::piped()).spawn().unwrap();
    (0..5).for_each(|_| drop(service.request()));
    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let stderr = String::from_utf8(output.stderr).unwrap();
    let first = "looking for new submissions → sqlite:";
    assert!(stderr.starts_with(first) && stderr.contains("; Ctrl-C stops it\n"), "{stderr}");
    assert_eq!(stderr.matches("Survey: 1 new submission").count(), 2, "{stderr}");
    let last = stderr.lines().last().unwrap();
    let rounds = last.strip_prefix("hint: stopped after ").and_then(|rest| rest.split(' ').next());
    assert!(rounds.and_then(|rounds| rounds.parse::<u64>().ok()) >= Some(2), "{stderr}");
    let end = " rounds with 2 new submissions; the same command continues";
    assert!(last.ends_with(end), "{stderr}");
    assert_eq!(database.status(&service)[0]["submissions"], 2);
}

#[test]
fn watch_total_counts_pages_before_a_failure() {
    let answers = vec![one_form(), page(NEWER, CURSOR), broken(), both()];
    let (service, database) = (Canned::start(answers), Database::new());
    let watch = ["sync", "survey", "--watch", "--interval", "50ms"];
    let child = database.command(&service, &watch).stderr(Stdio::piped()).spawn().unwrap();
    (0..6).for_each(|_| drop(service.request()));
    signal(&child, "INT");
    let said = Said::from(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(130), "{}", said.stderr);
    assert!(said.stderr.contains("warning: Survey: "), "{}", said.stderr);
    let end = " rounds with 2 new submissions; the same command continues\n";
    assert!(said.stderr.ends_with(end), "{}", said.stderr);
}

#[test]
fn interrupted_watch_counts_earlier_rounds() {
    let answers = vec![one_form(), page(OLDER, None), page(NEWER, CURSOR), None];
    let (service, database) = (Canned::start(answers), Database::new());
    let watch = ["sync", "survey", "--watch", "--interval", "50ms"];
    let child = database.command(&service, &watch).stderr(Stdio::piped()).spawn().unwrap();
    (0..4).for_each(|_| drop(service.request()));
    signal(&child, "INT");
    let said = Said::from(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(130), "{}", said.stderr);
    let stored = "hint: 2 new submissions stored; the same command continues";
    assert!(said.stderr.contains(stored), "{}", said.stderr);
}

#[test]
fn watch_continues_after_a_round_that_met_a_lock() {
    let answers = vec![one_form(), page(NEWER, CURSOR), None, both()];
    let (service, database) = (Canned::start(answers), Database::new());
    let mut first = database.command(&service, &["sync", "survey"]).spawn().unwrap();
    (0..3).for_each(|_| drop(service.request()));
    let watch = ["sync", "frm_1", "--watch", "--interval", "50ms"];
    let mut watch = database.command(&service, &watch).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watch.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("locked by another run")));
    signal(&first, "KILL");
    first.wait().unwrap();
    assert!(lines.any(|line| line.contains("1 new submission")));
    signal(&watch, "INT");
    assert_eq!(watch.wait().unwrap().code(), Some(130));
}

#[test]
fn watch_with_an_output_is_a_usage_error() {
    let (service, database) = (Canned::start(vec![one_form()]), Database::new());
    for output in [&["--output", "ndjson"][..], &["--json", "form"]] {
        let said = database.run(&service, &[&["sync", "survey", "--watch"], output].concat());
        assert_eq!(said.code, Some(2), "{}", said.stderr);
    }
    assert!(service.asked_nothing());
}
