//! `formsvc submissions tail`

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use crate::support::{Between, Canned, Said, Sandbox, answer, one_form, page, run, signal};
use crate::terminal::Terminal;

/// A row made at a millisecond of one minute.
fn row(id: &str, millis: u32) -> String {
    let (second, millis) = (millis / 1000, millis % 1000);
    format!(
        r#"{{"id":"{id}","data":{{"A":1}},"created_at":"2026-01-01T00:00:{second:02}.{millis:03}Z"}}"#
    )
}

fn rows(rows: &[(&str, u32)]) -> String {
    rows.iter().map(|(id, millis)| row(id, *millis)).collect::<Vec<_>>().join(",")
}

fn ids(stdout: &str) -> Vec<String> {
    let id = |line: &str| -> String {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        row["id"].as_str().unwrap().to_owned()
    };
    stdout.lines().map(id).collect()
}

const QUICK: [&str; 4] = ["--interval", "10ms", "--max-rate", "off"];

fn tail(service: &Canned, args: &[&str]) -> Said {
    service.run(&[&["submissions", "tail", "survey"], &QUICK[..], args].concat())
}

#[test]
fn every_new_submission_of_a_real_service_comes_once_and_in_order() {
    let sandbox = Sandbox::start(&["--submit-every", "4ms", "--rate-limit", "off"]);
    let args = ["submissions", "tail", "contact", "-n", "0", "--count", "120"];
    // Slower than they come: more than a page of them is new at a time.
    let slow = ["--interval", "200ms", "--max-rate", "off"];
    let said = sandbox.run(&[&args[..], &slow].concat());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let shown = ids(&said.stdout);
    let export = sandbox.run(&["submissions", "export", "contact", "--format", "ndjson"]).stdout;
    let mut all = ids(&export);
    all.reverse();
    let begin = all.iter().position(|id| *id == shown[0]).unwrap();
    assert!(shown[..] == all[begin..begin + 120], "lost, repeated or out of order");
    // Exactly as the service has them.
    let lines: HashSet<&str> = export.lines().collect();
    assert!(said.stdout.lines().all(|line| lines.contains(line)));
}

#[test]
fn the_newest_come_first_and_oldest_first() {
    let said = run(&["--demo", "submissions", "tail", "penguins", "-n", "3", "--count", "3"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let list = run(&["--demo", "submissions", "list", "penguins", "-L", "3", "--output", "ndjson"]);
    // Each demo is a service of its own: what was answered is the same, and when is not.
    let answers = |said: &Said| -> Vec<String> {
        let row = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
        said.stdout.lines().map(|line| row(line)["data"].to_string()).collect()
    };
    let mut listed = answers(&list);
    listed.reverse();
    assert_eq!(answers(&said), listed);
}

#[test]
fn ties_and_late_ones_and_more_than_a_page_are_neither_lost_nor_repeated() {
    let many: Vec<(String, u32)> = (0..30).map(|n| (format!("m{n}"), 9_000 - n)).collect();
    let many: Vec<(&str, u32)> = many.iter().map(|(id, at)| (&**id, *at)).collect();
    let old = [("b", 2_000), ("a", 1_000)];
    let service = Canned::start(vec![
        one_form(),
        page(&rows(&old), None),
        // One of the same millisecond, and one that is shown late.
        page(&rows(&[&[("tie", 2_000)][..], &[old[0], ("late", 1_500), old[1]]].concat()), None),
        // More than a first page holds: the rest is asked for.
        page(&rows(&many[..25]), Some("2026-01-01T00:00:08.976Z")),
        page(
            &rows(&[&many[24..], &[("tie", 2_000), old[0], ("late", 1_500), old[1]]].concat()),
            None,
        ),
    ]);
    let said = tail(&service, &["--count", "34"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let mut expected: Vec<String> = ["a", "b", "late", "tie"].map(str::to_owned).to_vec();
    expected.extend(many.iter().rev().map(|(id, _)| (*id).to_owned()));
    assert_eq!(ids(&said.stdout), expected);
}

#[test]
fn an_outage_is_said_once_and_loses_nothing() {
    let sandbox = Sandbox::start(&["--submit-every", "5ms", "--rate-limit", "off"]);
    let asked = Arc::new(AtomicU32::new(0));
    let down = Arc::clone(&asked);
    let failing = Between::start(&sandbox.base_url, move |head| {
        match down.fetch_add(1, Ordering::Relaxed) {
            4 => Err(answer("503 Service Unavailable", "", "busy").unwrap()),
            5 => Err(answer("429 Too Many Requests", "retry-after: 0\r\n", "{}").unwrap()),
            // The connection breaks.
            6 | 7 => Err(String::new()),
            12 => Err(answer("502 Bad Gateway", "", "<html>").unwrap()),
            _ => Ok(head),
        }
    });
    let args = ["submissions", "tail", "contact", "-n", "0", "--count", "150"];
    let mut command =
        sandbox.formsvc(&[&args[..], &["--interval", "30ms", "--max-rate", "off"]].concat());
    let said = Said::from(command.env("FORMSVC_BASE_URL", &failing.base_url).output().unwrap());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let told: Vec<&str> = said.stderr.lines().collect();
    assert_eq!(told.len(), 4, "{told:#?}");
    assert!(
        told[0].contains("503") && told[0].ends_with("; asking again until the service answers")
    );
    assert!(
        told[1].starts_with("the service is back after ") && told[2].contains("502"),
        "{told:#?}"
    );
    let shown = ids(&said.stdout);
    let export = sandbox.run(&["submissions", "export", "contact", "--format", "ndjson"]).stdout;
    let mut all = ids(&export);
    all.reverse();
    let begin = all.iter().position(|id| *id == shown[0]).unwrap();
    assert!(shown[..] == all[begin..begin + 150], "lost, repeated or out of order");
}

#[test]
fn a_pass_that_an_outage_cut_short_goes_on_where_it_was() {
    let sandbox = Sandbox::start(&["--rate-limit", "off"]);
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&heads);
    let failing = Between::start(&sandbox.base_url, move |head| {
        let mut seen = seen.lock().unwrap();
        seen.push(head.lines().next().unwrap_or_default().to_owned());
        // The forms are asked for first, and one page of the pass has come.
        match seen.len() {
            3 => Err(answer("503 Service Unavailable", "", "busy").unwrap()),
            5 => Err(String::new()),
            _ => Ok(head),
        }
    });
    let args = ["submissions", "tail", "penguins", "-n", "300", "--count", "300"];
    let mut command = sandbox.formsvc(&[&args[..], &QUICK].concat());
    let said = Said::from(command.env("FORMSVC_BASE_URL", &failing.base_url).output().unwrap());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let export = sandbox.run(&["submissions", "export", "penguins", "--format", "ndjson"]).stdout;
    let mut all = ids(&export);
    all.truncate(300);
    all.reverse();
    assert!(ids(&said.stdout) == all, "lost, repeated or out of order");
    // Each try asks for the page that failed, and no page comes twice.
    let heads = heads.lock().unwrap();
    assert_eq!(heads[2], heads[3]);
    assert_eq!(heads[4], heads[5]);
    assert!(heads[2].contains("&cursor="), "{heads:#?}");
    let mut once = heads.clone();
    once.dedup();
    assert_eq!(once.len(), heads.len() - 2, "{heads:#?}");
}

#[test]
fn what_does_not_pass_ends_it_with_its_code_and_the_way_on() {
    for (status, code, exit) in [
        ("401 Unauthorized", "key_revoked", 4),
        ("404 Not Found", "form_not_found", 3),
        ("403 Forbidden", "later", 5),
        ("400 Bad Request", "bad_request", 2),
    ] {
        let refused =
            answer(status, "", &format!(r#"{{"error":{{"code":"{code}","message":"no"}}}}"#));
        let service = Canned::start(vec![one_form(), page(&rows(&[("a", 1_000)]), None), refused]);
        let said = tail(&service, &[]);
        assert_eq!(
            (said.code, ids(&said.stdout)),
            (Some(exit), vec!["a".to_owned()]),
            "{}",
            said.stderr
        );
        assert!(said.stderr.contains(code), "{}", said.stderr);
    }
    let nonsense = Canned::start(vec![one_form(), answer("200 OK", "", "<html>")]);
    assert_eq!(tail(&nonsense, &[]).code, Some(5));
}

/// The next line of a running command, which is written as soon as it is known.
fn next_line(out: &mut impl BufRead) -> String {
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    line
}

fn piped(mut command: Command) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    (child, out)
}

#[test]
fn ctrl_c_ends_it_with_130_and_the_command_that_goes_on() {
    let first = page(&rows(&[("b", 2_000), ("a", 2_000)]), None);
    let service = Canned::start(vec![one_form(), first]);
    let args = [&["submissions", "tail", "survey"], &QUICK[..]].concat();
    let (child, mut out) = piped(service.formsvc(&args));
    assert!(next_line(&mut out).contains(r#""id":"a""#));
    assert!(next_line(&mut out).contains(r#""id":"b""#));
    // Another pass has begun: what was shown is noted.
    (0..3).for_each(|_| drop(service.request()));
    signal(&child, "INT");
    let said = Said::from(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(130));
    let on = "--max-rate off submissions tail survey --since 2026-01-01T00:00:02.000Z --after b \
              --interval 10ms";
    assert_eq!(said.stderr, format!("error: interrupted\nhint: continue with: formsvc {on}\n"));

    let later = page(&rows(&[("c", 2_000), ("b", 2_000), ("a", 2_000)]), None);
    let service = Canned::start(vec![one_form(), later]);
    let words: Vec<&str> = on.split(' ').collect();
    let said = service.run(&[&words[..], &["--count", "1"]].concat());
    assert_eq!((said.code, ids(&said.stdout)), (Some(0), vec!["c".to_owned()]), "{}", said.stderr);
}

#[test]
fn a_reader_that_leaves_ends_it_though_nothing_comes() {
    let service = Canned::start(vec![one_form(), page(&rows(&[("a", 1_000)]), None)]);
    let (mut child, mut out) =
        piped(service.formsvc(&["submissions", "tail", "survey", "--interval", "1h"]));
    assert!(next_line(&mut out).contains(r#""id":"a""#));
    drop(out);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    // Also while the service is silent.
    let silent = Canned::start(vec![one_form(), None]);
    let (mut child, out) = piped(silent.formsvc(&["submissions", "tail", "survey"]));
    drop(out);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_script_can_bound_it_in_time() {
    let service = || Canned::start(vec![one_form(), page(&rows(&[("a", 1_000)]), None)]);
    let over = tail(&service(), &["--max-time", "300ms"]);
    assert_eq!((over.code, &*over.stderr), (Some(0), ""));
    let short = tail(&service(), &["--max-time", "300ms", "--count", "2"]);
    assert_eq!(short.code, Some(8), "{}", short.stderr);
    assert!(short.stderr.contains("before 1 more arrived"), "{}", short.stderr);
    assert!(
        short.stderr.contains(
            "--since 2026-01-01T00:00:01.000Z --after a --interval 10ms --count 1 --max-time"
        ),
        "{}",
        short.stderr
    );
    let busy = answer("500 Internal Server Error", "", "");
    let gone = Canned::start(vec![one_form(), page(&rows(&[("a", 1_000)]), None), busy]);
    let gone = tail(&gone, &["--max-time", "300ms"]);
    assert_eq!(gone.code, Some(8), "{}", gone.stderr);
}

#[test]
fn a_terminal_gets_a_line_a_submission_that_acts_on_nothing() {
    let evil = row("a", 1_000).replace("\"A\":1", r#""A":"\u001b[2J\nB""#);
    let service = Canned::start(vec![one_form(), page(&evil, None)]);
    let mut command = service.formsvc(&["submissions", "tail", "survey", "--count", "1"]);
    command.env("TZ", "<+02>-2");
    let mut terminal = Terminal::start(command, (100, 24));
    assert_eq!(terminal.finish(), Some(0));
    let lines = terminal.lines();
    let lines: Vec<&String> = lines.iter().filter(|line| !line.is_empty()).collect();
    // The day, since it is not the one the reader knows, and the clock where they are.
    assert_eq!(lines, ["2026-01-01", "02:00:01  a  A: [2J B"]);
    assert!(!terminal.raw().windows(3).any(|bytes| bytes == b"\x1b[2"));
}

#[test]
fn flags_that_make_no_sense_are_exit_2() {
    for flags in [
        &["-n", "3", "--since", "1d"][..],
        &["--after", "x"],
        &["--count", "0"],
        &["--interval", "2"],
    ] {
        let said = run(&[&["--demo", "submissions", "tail", "penguins"], flags].concat());
        assert_eq!((said.code, &*said.stdout), (Some(2), ""), "{flags:?}: {}", said.stderr);
    }
}

#[test]
fn a_service_that_is_down_at_the_start_is_asked_until_it_answers() {
    let busy = || answer("503 Service Unavailable", "", "busy");
    let service =
        Canned::start(vec![busy(), busy(), one_form(), page(&rows(&[("a", 1_000)]), None)]);
    let said = tail(&service, &["--count", "1"]);
    assert_eq!((said.code, ids(&said.stdout)), (Some(0), vec!["a".to_owned()]), "{}", said.stderr);
    let told: Vec<&str> = said.stderr.lines().collect();
    assert!(told[0].ends_with("; asking again until the service answers"), "{told:#?}");
    assert!(told.len() == 2 && told[1].starts_with("the service is back after "), "{told:#?}");
    // Nobody listens, and the time is bounded.
    let args = ["--base-url", "http://127.0.0.1:1", "--max-time", "200ms"];
    let gone = tail(&service, &args);
    assert_eq!(gone.code, Some(8), "{}", gone.stderr);
    assert!(gone.stderr.contains("did not respond before the time was over"), "{}", gone.stderr);
    // What stays as it is ends it at once.
    for (status, exit) in [("401 Unauthorized", 4), ("404 Not Found", 5), ("403 Forbidden", 5)] {
        let refused = tail(&Canned::start(vec![answer(status, "", "{}")]), &[]);
        assert_eq!(refused.code, Some(exit), "{}", refused.stderr);
    }
}
