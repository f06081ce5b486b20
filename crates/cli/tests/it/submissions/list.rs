//! `formsvc submissions list`

use std::process::Stdio;

use crate::support::{Canned, Said, formsvc, one_form, page, run, signal, succeed};
use crate::terminal::Terminal;

#[test]
fn list_is_newest_first_and_limited() {
    let said =
        succeed(&["--demo", "submissions", "list", "randhie", "-L", "205", "--output", "ndjson"]);
    let rows: Vec<serde_json::Value> =
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 205);
    let times: Vec<&str> = rows.iter().map(|row| row["created_at"].as_str().unwrap()).collect();
    assert!(times.is_sorted_by(|newer, older| newer >= older));
}

#[test]
fn answers_are_in_columns_of_their_labels() {
    let csv = succeed(&["--demo", "submissions", "list", "penguins", "-L", "2", "--output", "csv"]);
    let mut lines = csv.lines();
    let header = "id,created_at,species,island,bill_length_mm,bill_depth_mm,flipper_length_mm,\
                  body_mass_g,sex,year";
    assert_eq!(lines.next(), Some(header));
    assert!(
        lines.next().unwrap().ends_with(",Chinstrap,Dream,50.2,18.7,198,3775,female,2009"),
        "{csv}"
    );
}

#[test]
fn before_limits_the_list_to_older_submissions() {
    let all =
        succeed(&["--demo", "submissions", "list", "penguins", "--before", "1970-01-01T00:00:00Z"]);
    assert_eq!(all, "");
}

#[test]
fn empty_table_has_no_heading() {
    let said = run(&["--demo", "submissions", "list", "contact", "--output", "table"]);
    assert_eq!((said.code, &*said.stdout, &*said.stderr), (Some(0), "", "no submissions\n"));
}

/// Returns a row that was created at this second of a fixed minute.
fn row(id: &str, second: u32) -> String {
    format!(r#"{{"id":"{id}","data":{{"A":1}},"created_at":"2026-01-01T00:00:{second:02}.000Z"}}"#)
}

pub(super) fn rows(rows: &[(&str, u32)]) -> String {
    rows.iter().map(|(id, second)| row(id, *second)).collect::<Vec<_>>().join(",")
}

#[test]
fn range_is_half_open_and_requests_no_older_page() {
    let list = page(&rows(&[("e", 5), ("d", 4), ("c", 3), ("b", 2), ("a", 1)]), Some("more"));
    // The page contains a row older than the range, so that there is no second request.
    let service = Canned::start(vec![one_form(), list, Some(String::new())]);
    let since = ["--since", "2026-01-01T00:00:02Z", "--until", "2026-01-01T00:00:04+00:00"];
    let said = service.run(&[&["submissions", "list", "survey"], &since[..]].concat());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let ids: Vec<&str> = said.stdout.lines().map(|line| &line[..1]).collect();
    assert_eq!(ids, ["c", "b"]);
}

#[test]
fn list_requests_no_more_than_it_shows() {
    let pages = [
        page(&rows(&[("d", 4)]), Some("2026-01-01T00:00:04.000Z")),
        page(&rows(&[("d", 4), ("c", 3), ("b", 2)]), Some("2026-01-01T00:00:02.000Z")),
    ];
    let mut answers = vec![one_form()];
    answers.extend(pages);
    let service = Canned::start(answers);
    let said = service.run(&["submissions", "list", "survey", "--limit", "3"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(said.stdout.lines().count(), 3);
    let asked: Vec<String> = (0..3).map(|_| service.request()).collect();
    assert!(asked[1].contains("limit=3 "), "{}", asked[1]);
    // The next request starts a second later, so that no row of the last second is lost.
    assert!(asked[2].contains("limit=3&cursor=2026-01-01T00%3A00%3A05.000Z"), "{}", asked[2]);
}

#[test]
fn newer_rows_are_skipped_in_whole_pages() {
    let answers = || {
        let newer = page(&rows(&[("g", 9), ("f", 8)]), Some("2026-01-01T00:00:08.000Z"));
        let mixed = [("f", 8), ("e", 5), ("d", 4), ("c", 3), ("b", 2)];
        let mixed = page(&rows(&mixed), Some("2026-01-01T00:00:02.000Z"));
        let again = page(&rows(&[("e", 5), ("d", 4), ("c", 3)]), Some("2026-01-01T00:00:03.000Z"));
        vec![one_form(), newer, mixed, again]
    };
    let list = ["submissions", "list", "survey", "-L", "2", "--until", "2026-01-01T00:00:05Z"];
    let service = Canned::start(answers());
    let said = service.run(&list);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let ids: Vec<&str> = said.stdout.lines().map(|line| &line[..1]).collect();
    assert_eq!(ids, ["d", "c"]);
    let asked: Vec<String> = (0..3).map(|_| service.request()).collect();
    assert!(asked[1..].iter().all(|asked| asked.contains("limit=100")), "{asked:?}");
    assert!(service.asked_nothing());
    // On a terminal, the command that lists the next rows needs no request.
    let service = Canned::start(answers());
    let mut terminal = Terminal::start(service.formsvc(&list), (200, 24));
    assert_eq!(terminal.finish(), Some(0));
    let screen = terminal.screen();
    assert!(screen.contains("--before 2026-01-01T00:00:04.000Z --after c"), "{screen}");
}

#[test]
fn invalid_number_error_names_the_range() {
    for (args, rule) in [
        (&["submissions", "list", "x", "-L", "0"][..], "expected a whole number from 1 up"),
        (&["submissions", "tail", "x", "-n", "some"], "expected a whole number from 0 up"),
        (&["submissions", "export", "x", "--max-columns", "0"], "from 1 to 100000"),
        (&["forms", "list", "-L", "1.5"], "expected a whole number from 1 up"),
        (&["sandbox", "--port", "65536"], "expected a whole number from 0 to 65535"),
    ] {
        let said = run(args);
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        assert!(said.stderr.contains(rule), "{args:?}: {}", said.stderr);
    }
}

#[test]
fn date_is_local_and_reported() {
    let at = |zone: &str| {
        let mut command =
            formsvc(&["--demo", "submissions", "list", "contact", "--since", "2026-03-01"]);
        let said = Said::from(command.env("TZ", zone).output().unwrap());
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        said.stderr
    };
    assert!(at("UTC").contains("--since is 2026-03-01 00:00:00 +00:00 (local time)\n"));
    assert!(at("<+03>-3").contains("--since is 2026-03-01 00:00:00 +03:00 (local time)\n"));
}

#[test]
fn empty_range_or_invalid_time_is_exit_2() {
    let list = ["--demo", "submissions", "list", "penguins"];
    for (flags, told) in [
        (&["--since", "1d", "--until", "2d"][..], "is not before `--until`"),
        (&["--since", "soon"], "expected a time such as 2026-03-01T09:30:00Z"),
        (&["--since", "9000y"], "the time of `--since`"),
    ] {
        let said = run(&[&list[..], flags].concat());
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        assert!(said.stderr.contains(told), "{}", said.stderr);
    }
}

#[test]
fn list_on_a_terminal_shows_the_next_command() {
    let first = || page(&rows(&[("b", 2), ("a", 1)]), Some("2026-01-01T00:00:01.000123Z"));
    let shown = |answers: Vec<Option<String>>, flags: &[&str]| {
        let service = Canned::start(answers);
        let list =
            [&["submissions", "list", "survey", "--since", "2025-01-01T00:00:00Z"], flags].concat();
        let mut terminal = Terminal::start(service.formsvc(&list), (200, 24));
        assert_eq!(terminal.finish(), Some(0));
        terminal.screen()
    };
    let more = "more: formsvc submissions list survey --limit 2 --since 2025-01-01T00:00:00.000Z \
                --before 2026-01-01T00:00:02.000Z --after a";
    let some = shown(vec![one_form(), first()], &["--limit", "2"]);
    assert!(some.contains(more), "{some}");
    let all = shown(vec![one_form(), page(&rows(&[("b", 2), ("a", 1)]), None)], &["--limit", "2"]);
    assert!(!all.contains("more:"), "{all}");
    // A pipe gets no such command.
    let service = Canned::start(vec![one_form(), first()]);
    let said = service.run(&["submissions", "list", "survey", "--limit", "2"]);
    assert_eq!((said.code, &*said.stderr), (Some(0), ""));
}

#[test]
fn list_continues_after_id_without_losing_its_second() {
    // Three rows share the second in which the first list ended.
    let tied = [("d", 4), ("c", 3), ("b", 3), ("a", 3)];
    let list = ["submissions", "list", "survey", "--before", "2026-01-01T00:00:04Z", "--after"];
    for (after, shown) in [("c", &["b", "a"][..]), ("gone", &["c", "b", "a"][..])] {
        let service = Canned::start(vec![one_form(), page(&rows(&tied[1..]), None)]);
        let said = service.run(&[&list[..], &[after]].concat());
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let ids: Vec<&str> = said.stdout.lines().map(|line| &line[..1]).collect();
        assert_eq!(ids, shown);
    }
}

#[test]
fn interrupted_list_reports_how_much_was_read() {
    let first = page(&rows(&[("b", 2)]), Some("2026-01-01T00:00:02.000Z"));
    let service = Canned::start(vec![one_form(), first, None]);
    let mut list = service.formsvc(&["submissions", "list", "survey", "--output", "json"]);
    let child = list.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    (0..3).for_each(|_| drop(service.request()));
    signal(&child, "INT");
    let said: Said = child.wait_with_output().unwrap().into();
    assert_eq!((said.code, &*said.stdout), (Some(130), ""), "{}", said.stderr);
    assert!(said.stderr.contains("hint: 1 submission read, none stored"), "{}", said.stderr);
}
