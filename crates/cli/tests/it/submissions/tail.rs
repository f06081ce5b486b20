//! `formsvc submissions tail`

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use crate::support::{Between, Canned, Said, Sandbox, answer, one_form, page, run, signal};
use crate::terminal::Terminal;

/// Returns a row that was created at this millisecond of a fixed minute.
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
fn tail_prints_each_submission_once_in_order() {
    let sandbox = Sandbox::start(&["--submit-every", "4ms", "--rate-limit", "off"]);
    let args = ["submissions", "tail", "contact", "-n", "0", "--count", "120"];
    // More submissions than fit on a page are new at each request.
    let slow = ["--interval", "200ms", "--max-rate", "off"];
    let said = sandbox.run(&[&args[..], &slow].concat());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let shown = ids(&said.stdout);
    let export = sandbox.run(&["submissions", "export", "contact", "--format", "ndjson"]).stdout;
    let mut all = ids(&export);
    all.reverse();
    let begin = all.iter().position(|id| *id == shown[0]).unwrap();
    assert!(shown[..] == all[begin..begin + 120], "lost, repeated or out of order");
    // The output equals the JSON of the service.
    let lines: HashSet<&str> = export.lines().collect();
    assert!(said.stdout.lines().all(|line| lines.contains(line)));
}

#[test]
fn tail_starts_with_the_newest_oldest_first() {
    let said = run(&["--demo", "submissions", "tail", "penguins", "-n", "3", "--count", "3"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let list = run(&["--demo", "submissions", "list", "penguins", "-L", "3", "--output", "ndjson"]);
    // The answers of all demos are equal, but each demo is a separate service with other times.
    let answers = |said: &Said| -> Vec<String> {
        let row = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
        said.stdout.lines().map(|line| row(line)["data"].to_string()).collect()
    };
    let mut listed = answers(&list);
    listed.reverse();
    assert_eq!(answers(&said), listed);
}

#[test]
fn ties_and_late_submissions_are_printed_once() {
    let many: Vec<(String, u32)> = (0..30).map(|n| (format!("m{n}"), 9_000 - n)).collect();
    let many: Vec<(&str, u32)> = many.iter().map(|(id, at)| (&**id, *at)).collect();
    let old = [("b", 2_000), ("a", 1_000)];
    let service = Canned::start(vec![
        one_form(),
        page(&rows(&old), None),
        // A submission of the same millisecond, and one that was committed late.
        page(&rows(&[&[("tie", 2_000)][..], &[old[0], ("late", 1_500), old[1]]].concat()), None),
        // More than a page is new, so that the next page is requested.
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
fn outage_is_reported_once_and_loses_nothing() {
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
    let lines: Vec<&str> = said.stderr.lines().collect();
    assert_eq!(lines.len(), 4, "{lines:#?}");
    assert!(
        lines[0].contains("503") && lines[0].ends_with("; retrying until the service responds")
    );
    assert!(
        lines[1].starts_with("the service is back after ") && lines[2].contains("502"),
        "{lines:#?}"
    );
    let shown = ids(&said.stdout);
    let export = sandbox.run(&["submissions", "export", "contact", "--format", "ndjson"]).stdout;
    let mut all = ids(&export);
    all.reverse();
    let begin = all.iter().position(|id| *id == shown[0]).unwrap();
    assert!(shown[..] == all[begin..begin + 150], "lost, repeated or out of order");
}

#[test]
fn walk_continues_where_an_outage_stopped_it() {
    let sandbox = Sandbox::start(&["--rate-limit", "off"]);
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&heads);
    let failing = Between::start(&sandbox.base_url, move |head| {
        let mut seen = seen.lock().unwrap();
        seen.push(head.lines().next().unwrap_or_default().to_owned());
        // The first request is the list of forms, the second is a page.
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
    // Each retry requests the page that failed, and no page is received twice.
    let heads = heads.lock().unwrap();
    assert_eq!(heads[2], heads[3]);
    assert_eq!(heads[4], heads[5]);
    assert!(heads[2].contains("&cursor="), "{heads:#?}");
    let mut once = heads.clone();
    once.dedup();
    assert_eq!(once.len(), heads.len() - 2, "{heads:#?}");
}

#[test]
fn permanent_error_ends_tail_with_its_exit_code() {
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

/// Returns the next line of a running command.
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
fn ctrl_c_is_exit_130_with_the_next_command() {
    let first = page(&rows(&[("b", 2_000), ("a", 2_000)]), None);
    let service = Canned::start(vec![one_form(), first]);
    let args = [&["submissions", "tail", "survey"], &QUICK[..]].concat();
    let (child, mut out) = piped(service.formsvc(&args));
    assert!(next_line(&mut out).contains(r#""id":"a""#));
    assert!(next_line(&mut out).contains(r#""id":"b""#));
    // The next request has begun, so that the position is set.
    (0..3).for_each(|_| drop(service.request()));
    signal(&child, "INT");
    let said = Said::from(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(130));
    let on = "--max-rate off submissions tail survey --since 2026-01-01T00:00:02.000Z --after b \
              --interval 10ms";
    assert_eq!(said.stderr, format!("error: interrupted\nhint: continue with: formsvc {on}\n"));

    // The form has no submission yet, so all later ones follow.
    let service = Canned::start(vec![one_form(), page("", None)]);
    let args = [&["submissions", "tail", "survey", "-n", "0"], &QUICK[..]].concat();
    let child = service.formsvc(&args).stderr(Stdio::piped()).spawn().unwrap();
    (0..3).for_each(|_| drop(service.request()));
    signal(&child, "INT");
    let said = Said::from(child.wait_with_output().unwrap());
    assert!(said.stderr.contains("submissions tail survey --since 1970"), "{}", said.stderr);

    let later = page(&rows(&[("c", 2_000), ("b", 2_000), ("a", 2_000)]), None);
    let service = Canned::start(vec![one_form(), later]);
    let words: Vec<&str> = on.split(' ').collect();
    let said = service.run(&[&words[..], &["--count", "1"]].concat());
    assert_eq!((said.code, ids(&said.stdout)), (Some(0), vec!["c".to_owned()]), "{}", said.stderr);
}

#[test]
fn ctrl_c_before_a_submission_continues_after_the_newest() {
    let service = Canned::start(vec![one_form(), page(&rows(&[("a", 1_000)]), None)]);
    let args = [&["submissions", "tail", "survey", "-n", "0"], &QUICK[..]].concat();
    let (child, _out) = piped(service.formsvc(&args));
    // The request after that for the newest submission has begun.
    (0..3).for_each(|_| drop(service.request()));
    signal(&child, "INT");
    let said = Said::from(child.wait_with_output().unwrap());
    let on = "submissions tail survey --since 2026-01-01T00:00:01.000Z --after a";
    assert!(said.stderr.contains(on), "{}", said.stderr);
}

#[test]
fn closed_pipe_ends_tail_without_new_submissions() {
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
fn max_time_ends_tail() {
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
fn terminal_lines_are_sanitized() {
    let evil = row("a", 1_000).replace("\"A\":1", r#""A":"\u001b[2J\nB""#);
    let service = Canned::start(vec![one_form(), page(&evil, None)]);
    let mut command = service.formsvc(&["submissions", "tail", "survey", "--count", "1"]);
    command.env("TZ", "<+02>-2");
    let mut terminal = Terminal::start(command, (100, 24));
    assert_eq!(terminal.finish(), Some(0));
    let lines = terminal.lines();
    let lines: Vec<&String> = lines.iter().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines, ["2026-01-01 02:00:01  A: [2J B"]);
    assert!(!terminal.raw().windows(3).any(|bytes| bytes == b"\x1b[2"));
}

#[test]
fn invalid_flags_are_exit_2() {
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
fn tail_warns_of_a_failed_expression_and_continues() {
    let numbers = page(&rows(&[("sub_b", 2), ("sub_a", 1)]), None);
    let service = Canned::start(vec![one_form(), numbers]);
    let said = tail(
        &service,
        &["--count", "2", "--jq", "if .id == \"sub_a\" then .data.A|ascii_downcase else .id end"],
    );
    assert_eq!((said.code, &*said.stdout), (Some(0), "sub_b\n"), "{}", said.stderr);
    assert!(
        said.stderr.contains("warning: submission sub_a: the jq expression failed: "),
        "{}",
        said.stderr
    );
}

#[test]
fn warnings_of_a_failing_expression_are_limited() {
    let ids: Vec<String> = (10..35).rev().map(|n| format!("sub_{n}")).collect();
    let newest_first: Vec<_> = ids.iter().zip((10..35).rev()).map(|(id, at)| (&**id, at)).collect();
    let service = Canned::start(vec![one_form(), page(&rows(&newest_first), None)]);
    let said = tail(
        &service,
        &["--since", "1970-01-01", "--count", "25", "--jq", ".data.A|ascii_downcase"],
    );
    assert_eq!((said.code, &*said.stdout), (Some(0), ""), "{}", said.stderr);
    let count = |text| said.stderr.lines().filter(|line| line.starts_with(text)).count();
    assert_eq!(count("warning: submission sub_"), 19, "{}", said.stderr);
    assert_eq!(count("warning: the expression fails on further items"), 1, "{}", said.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn tail_with_a_full_disk_ends_with_an_error() {
    let service = Canned::start(vec![one_form(), page(&rows(&[("sub_a", 1)]), None)]);
    let args = [&["submissions", "tail", "survey"], &QUICK[..], &["--jq", ".id"]].concat();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let said = Said::from(service.formsvc(&args).stdout(full).output().unwrap());
    assert_eq!(said.code, Some(10), "{}", said.stderr);
}
