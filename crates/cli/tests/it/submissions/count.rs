//! `formsvc submissions count`

use super::list::rows;
use crate::support::{Canned, one_form, page, run};
use crate::terminal::Terminal;

const TIMES: &str = concat!(
    r#"{"id":"c","data":{"Age":40},"created_at":"2026-01-03T08:00:00.000Z"},"#,
    r#"{"id":"b","data":{"Age":20},"created_at":"2026-01-01T23:30:00.000Z"},"#,
    r#"{"id":"a","data":{"Age":50},"created_at":"2026-01-01T08:00:00.000Z"}"#
);

fn service() -> Canned {
    Canned::start(vec![one_form(), page(TIMES, None)])
}

#[test]
fn count_has_number_first_and_last_time() {
    let said = service().run(&["submissions", "count", "survey", "--output", "json"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let expected = concat!(
        r#"{"count":3,"first":"2026-01-01T08:00:00.000Z","#,
        r#""last":"2026-01-03T08:00:00.000Z"}"#
    );
    assert_eq!(said.stdout.trim_end(), expected);
    let demo = run(&["--demo", "submissions", "count", "penguins", "--json", "count"]);
    assert_eq!(demo.stdout.trim_end(), r#"{"count":344}"#, "{}", demo.stderr);
    let empty = run(&["--demo", "submissions", "count", "contact", "--output", "json"]);
    assert_eq!(empty.stdout.trim_end(), r#"{"count":0,"first":null,"last":null}"#);
}

#[test]
fn count_by_day_fills_gaps_in_the_time_zone() {
    let count = ["submissions", "count", "survey", "--by", "day", "--output", "csv"];
    let said = service().run(&count);
    assert_eq!(said.stdout, "period,count\n2026-01-01,2\n2026-01-02,0\n2026-01-03,1\n");
    let said = service().run(&[&count[..], &["--time-zone", "Asia/Tokyo"]].concat());
    assert_eq!(said.stdout, "period,count\n2026-01-01,1\n2026-01-02,1\n2026-01-03,1\n");
    let json =
        service().run(&["submissions", "count", "survey", "--by", "month", "--output", "json"]);
    assert_eq!(json.stdout.trim_end(), "[\n{\"period\":\"2026-01\",\"count\":3}\n]");
}

#[test]
fn bars_are_on_a_terminal_only() {
    let count = ["submissions", "count", "survey", "--by", "day"];
    let piped = service().run(&[&count[..], &["--output", "table"]].concat());
    assert!(!piped.stdout.contains('█') && piped.stdout.contains("2026-01-02"), "{}", piped.stdout);
    let service = service();
    let mut terminal = Terminal::start(service.formsvc(&count), (100, 24));
    assert_eq!(terminal.finish(), Some(0));
    let screen = terminal.screen();
    let bar =
        |day: &str| screen.lines().find(|line| line.contains(day)).unwrap().matches('█').count();
    assert_eq!([bar("2026-01-01"), bar("2026-01-02"), bar("2026-01-03")], [40, 0, 20], "{screen}");
}

#[test]
fn range_selects_counted_submissions() {
    let count = ["submissions", "count", "survey", "--json", "count"];
    for (flags, expected) in
        [(&["--since", "2026-01-01T12:00:00Z"][..], 2), (&["--until", "2026-01-02T00:00:00Z"], 2)]
    {
        let said = service().run(&[&count[..], flags].concat());
        assert_eq!(said.stdout.trim_end(), format!("{{\"count\":{expected}}}"), "{}", said.stderr);
    }
    let no_period = run(&["--demo", "submissions", "count", "penguins", "--time-zone", "UTC"]);
    assert_eq!(no_period.code, Some(2), "{}", no_period.stderr);
}

#[test]
fn incomplete_list_is_counted_and_is_exit_9() {
    let invalid = r#"{"id":"d","data":null,"created_at":"2026-01-04T08:00:00.000Z"}"#;
    let service = Canned::start(vec![one_form(), page(&format!("{invalid},{TIMES}"), None)]);
    let said = service.run(&["submissions", "count", "survey", "--json", "count"]);
    assert_eq!((said.code, said.stdout.trim_end()), (Some(9), r#"{"count":3}"#));
    assert!(said.stderr.contains("1 submission violates the API"), "{}", said.stderr);
}

#[test]
fn count_of_a_database_makes_no_request() {
    let folder = tempfile::tempdir().unwrap();
    let to = format!("sqlite:{}", folder.path().join("rows.db").display());
    let service = service();
    let run = |args: &[&str]| {
        let mut command = service.formsvc(&[&["submissions"], args].concat());
        crate::support::Said::from(
            command.env("FORMSVC_STATE_DIR", folder.path()).output().unwrap(),
        )
    };
    assert_eq!(run(&["sync", "survey", "--to", &to]).code, Some(0));
    service.pending();
    let count = ["count", "survey", "--from", &to];
    let said = run(&[&count[..], &["--since", "2026-01-01T12:00:00Z", "--json", "count"]].concat());
    assert_eq!(said.stdout.trim_end(), r#"{"count":2}"#, "{}", said.stderr);
    let said = run(&[&count[..], &["--by", "month", "--output", "csv"]].concat());
    assert_eq!(said.stdout, "period,count\n2026-01,3\n", "{}", said.stderr);
    let view = ["view", "survey", "b", "--from", &to];
    assert!(run(&view).stdout.starts_with(r#"{"id":"b","data":{"Age":20}"#));
    assert_eq!(run(&["view", "survey", "gone", "--from", &to]).code, Some(3));
    assert!(service.asked_nothing());
}

#[test]
fn interrupted_count_is_no_result() {
    let first = page(&rows(&[("b", 2)]), Some("2026-01-01T00:00:02.000Z"));
    let service = Canned::start(vec![one_form(), first, None]);
    let said = service.run(&["submissions", "count", "survey", "--max-time", "300ms"]);
    assert_eq!((said.code, &*said.stdout), (Some(8), ""), "{}", said.stderr);
    assert!(said.stderr.contains("hint: 1 submission read, none stored"), "{}", said.stderr);
}
