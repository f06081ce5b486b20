//! `formsvc me` and `formsvc forms …`

use crate::support::{Canned, answer, one_form, run, succeed};

#[test]
fn me_shows_the_account_of_the_key() {
    let said = succeed(&["--demo", "me", "--output", "json"]);
    let user: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(user["email"], "sandbox@formsvc.invalid");
    assert!(user["id"].as_str().unwrap().starts_with("usr_"));
}

#[test]
fn forms_list_is_newest_first_in_every_format() {
    let tsv = succeed(&["--demo", "forms", "list"]);
    let ids: Vec<&str> = tsv.lines().map(|line| line.split('\t').nth(1).unwrap()).collect();
    assert_eq!(ids, ["randhie", "anes96", "penguins", "naughty", "contact"]);
    let json = succeed(&["--demo", "forms", "list", "--output", "json"]);
    let forms: Vec<serde_json::Value> = serde_json::from_str(&json).unwrap();
    assert_eq!(forms[2]["url"], "/f/penguins");
    let ndjson = succeed(&["--demo", "forms", "list", "--output", "ndjson"]);
    assert_eq!(ndjson.lines().count(), 5);
    let csv = succeed(&["--demo", "forms", "list", "--output", "csv"]);
    assert!(
        csv.starts_with("id,public_id,title,status,created_at,updated_at,web_address\nfrm_"),
        "{csv}"
    );
    let table = succeed(&["--demo", "forms", "list", "--output", "table"]);
    let headings: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(headings[..4], ["ID", "PUBLIC_ID", "TITLE", "STATUS"], "{table}");
}

#[test]
fn list_of_200_forms_warns_that_older_forms_may_be_missing() {
    for (count, warns) in [(199, false), (200, true)] {
        let form = |n: u32| {
            format!(
                r#"{{"id":"frm_{n}","public_id":"f{n}","title":"T","status":"draft","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z","url":"/f/f{n}"}}"#
            )
        };
        let forms: Vec<String> = (0..count).map(form).collect();
        let list = answer("200 OK", "", &format!(r#"{{"data":[{}]}}"#, forms.join(",")));
        let said = Canned::start(vec![list]).run(&["forms", "list", "-L", "1"]);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let warning = "warning: the service lists only its newest 200 forms";
        assert_eq!(said.stderr.contains(warning), warns, "{count}: {}", said.stderr);
    }
}

#[test]
fn form_is_found_by_id_title_or_prefix() {
    let guessed = run(&["--demo", "forms", "view", "peng"]);
    assert_eq!(guessed.stderr, "`peng` is the form penguins (Palmer penguins)\n");
    for name in ["penguins", "Palmer penguins", "peng"] {
        let view = succeed(&["--demo", "forms", "view", name, "--output", "ndjson"]);
        assert!(view.contains(r#""public_id":"penguins""#), "{view}");
    }
    let unknown = run(&["--demo", "forms", "view", "nothing"]);
    assert_eq!(unknown.code, Some(3));
    assert_eq!(
        unknown.stderr,
        "error: no form `nothing`\nhint: `formsvc forms list` shows the forms this key can read\n"
    );
    let ambiguous = run(&["--demo", "forms", "view", "frm_"]);
    assert_eq!(ambiguous.code, Some(2));
    assert!(ambiguous.stderr.contains("`frm_` could be any of 5 forms"), "{}", ambiguous.stderr);
}

#[test]
fn forms_list_status_and_limit_select_forms() {
    let list = ["--demo", "forms", "list"];
    let two = succeed(&[&list[..], &["--limit", "2"]].concat());
    assert_eq!(two.lines().count(), 2);
    let published = succeed(&[&list[..], &["--status", "published"]].concat());
    assert_eq!(published.lines().count(), 5);
    let none = run(&[&list[..], &["--status", "x\u{1b}[2J"]].concat());
    assert_eq!((none.code, &*none.stdout), (Some(0), ""));
    assert_eq!(none.stderr, "no forms with the status `x[2J`\n");
    let empty = Canned::start(vec![answer("200 OK", "", r#"{"data":[]}"#)]);
    let empty = empty.run(&["forms", "list", "--status", "draft"]);
    assert_eq!((empty.code, &*empty.stderr), (Some(0), "no forms with the status `draft`\n"));
}

#[test]
fn web_address_is_absolute_unless_it_is_another_host() {
    let service = Canned::start(vec![one_form()]);
    let view = service.run(&["forms", "view", "survey", "--json", "web_address,url"]);
    let expected =
        format!("{{\"web_address\":\"{}/f/survey\",\"url\":\"/f/survey\"}}\n", service.base_url);
    assert_eq!(view.stdout, expected, "{}", view.stderr);
    for evil in ["//evil.example/f", "https://evil.example", "javascript:alert(1)"] {
        let form = one_form()
            .map(|form| form.split_once("\r\n\r\n").unwrap().1.replace("/f/survey", evil));
        let service = Canned::start(vec![answer("200 OK", "", &form.unwrap())]);
        let view = service.run(&["forms", "view", "survey", "--json", "web_address"]);
        assert_eq!(view.stdout, "{\"web_address\":null}\n", "{}", view.stderr);
    }
}

#[test]
fn form_name_with_a_dash_needs_a_double_dash() {
    let form =
        one_form().map(|form| form.split_once("\r\n\r\n").unwrap().1.replace("survey", "-rf"));
    let service = Canned::start(vec![answer("200 OK", "", &form.unwrap())]);
    let view = service.run(&["forms", "view", "--json", "id", "--", "-rf"]);
    assert_eq!((view.code, &*view.stdout), (Some(0), "{\"id\":\"frm_1\"}\n"), "{}", view.stderr);
    assert_eq!(service.run(&["forms", "view", "-rf"]).code, Some(2));
}

#[test]
fn title_in_another_normal_form_is_found() {
    let form = one_form().map(|form| {
        form.split_once("\r\n\r\n").unwrap().1.replace("\"Survey\"", "\"Cafe\u{301}\"")
    });
    let service = Canned::start(vec![answer("200 OK", "", &form.unwrap())]);
    let view = service.run(&["forms", "view", "Caf\u{e9}", "--json", "id"]);
    assert_eq!((view.code, &*view.stdout), (Some(0), "{\"id\":\"frm_1\"}\n"), "{}", view.stderr);
}
