//! Lists: tables for people, a line of JSON each for programs.

use super::receiver::Receiver;
use super::{PATIENCE, Site};

const FAULT: &[u8] = b"HTTP/1.1 500 Oops\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
const PATH: &str = "a/long/way/to/the/hook/of/the/contact/form/of/the/parish/of/st-mary";

fn text(site: &Site, args: &[&str]) -> Vec<String> {
    let run = site.run(&[args, &["--output", "text"]].concat()).succeeded();
    let lines: Vec<_> = run.stdout.lines().map(str::to_owned).collect();
    // No terminal is asked for its width here: 80.
    for line in &lines {
        assert!(line.chars().count() <= 80, "{line}");
    }
    lines
}

#[test]
fn a_person_reads_each_delivery_in_one_line_with_what_came_of_it() {
    let receiver = Receiver::answering(&[FAULT]);
    let site = Site::with_free_form();
    let url = format!("{}{PATH}", receiver.url());
    site.run(&["webhook", "add", "contact", &url, "--profile", "dev"]).succeeded();
    let serving = site.serve(&["--profile", "dev", "--retry-base", "10m"]);
    serving.submit("contact", "{}");
    let began = std::time::Instant::now();
    let retrying = loop {
        let list = ["deliveries", "list", "contact", "--state", "retrying"];
        let run = site.run(&list).succeeded();
        if !run.stdout.is_empty() {
            break run;
        }
        assert!(began.elapsed() < PATIENCE);
    };
    assert!(retrying.stdout.starts_with(r#"{"id":"dlv_"#), "{}", retrying.stdout);
    let record = retrying.json();
    assert_eq!(
        (&record["last_status"], &record["last_error"]),
        (&500.into(), &"status_not_2xx".into())
    );

    let lines = text(&site, &["deliveries", "list", "contact"]);
    assert_eq!(lines.len(), 2, "{lines:?}");
    let headings: Vec<_> = lines[0].split_whitespace().collect();
    assert_eq!(headings, ["STATE", "ATTEMPTS", "LAST", "NEXT", "URL", "ID"]);
    assert!(lines[1].starts_with("retrying 1        500  "), "{lines:?}");
    assert!(lines[1].ends_with(record["id"].as_str().unwrap()), "{lines:?}");
    assert!(lines[1].contains(" min ") && lines[1].contains('…'), "{lines:?}");
    // A pipe gets JSON, as does whoever asks for it.
    let asked = site.run(&["deliveries", "list", "contact", "--output", "json"]).succeeded();
    assert_eq!(asked.lines().len(), 1);

    let show = ["deliveries", "show", record["id"].as_str().unwrap()];
    assert!(site.run(&show).succeeded().stdout.starts_with(r#"{"id":"dlv_"#));
    let endpoints = text(&site, &["webhook", "list", "contact"]);
    let endpoint = record["endpoint_id"].as_str().unwrap();
    assert!(endpoints[1].starts_with("enabled  127.0.0.1:"), "{endpoints:?}");
    assert!(endpoints[1].ends_with(endpoint), "{endpoints:?}");
}

#[test]
fn users_keys_and_forms_are_tables_as_well() {
    let site = Site::with_free_form();
    site.run(&["user", "add", "--email", "b@b.c", "--name", &"漢字".repeat(60)]).succeeded();
    let made = site.run(&["key", "create", "--user", "a@b.c", "--name", "laptop"]).succeeded();
    let users = text(&site, &["user", "list"]);
    assert_eq!(users.len(), 3);
    assert!(users[1].starts_with("a@b.c") && users[2].starts_with("b@b.c"), "{users:?}");
    let users = site.run(&["user", "list"]).succeeded();
    assert!(users.stdout.starts_with(r#"{"id":"usr_"#), "{}", users.stdout);
    assert_eq!(users.lines().len(), 2);
    let keys = text(&site, &["key", "list", "--user", "a@b.c"]);
    assert!(keys[1].starts_with("active") && keys[1].contains(" laptop "), "{keys:?}");
    assert!(keys[1].contains(&made.line()[..10]) && !keys[1].contains(made.line()), "{keys:?}");
    let forms = text(&site, &["form", "list", "--user", "a@b.c"]);
    assert!(forms[1].starts_with("published") && forms[1].ends_with("contact"), "{forms:?}");
    let none = ["webhook", "list", "contact", "--output", "text"];
    let none = site.run(&none).succeeded();
    assert_eq!((&none.stdout[..], &none.stderr[..]), ("", "there are none\n"));
    for list in [&["user", "list"][..], &["form", "list", "--user", "a@b.c"]] {
        let run = site.run(&[list, &["--output", "xml"]].concat());
        run.failed(2, "`--output` cannot be `xml`: it must be text or json");
    }
}
