//! `formsvc me` and `formsvc forms …`

use crate::support::{run, succeed};

#[test]
fn me_says_whose_key_it_is() {
    let said = succeed(&["--demo", "me", "--output", "json"]);
    let user: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(user["email"], "sandbox@formsvc.invalid");
    assert!(user["id"].as_str().unwrap().starts_with("usr_"));
}

#[test]
fn forms_are_listed_newest_first_in_every_format() {
    let tsv = succeed(&["--demo", "forms", "list"]);
    let ids: Vec<&str> = tsv.lines().map(|line| line.split('\t').next().unwrap()).collect();
    assert_eq!(ids, ["randhie", "anes96", "penguins", "naughty", "contact"]);
    let json = succeed(&["--demo", "forms", "list", "--output", "json"]);
    let forms: Vec<serde_json::Value> = serde_json::from_str(&json).unwrap();
    assert_eq!(forms[2]["url"], "/f/penguins");
    let ndjson = succeed(&["--demo", "forms", "list", "--output", "ndjson"]);
    assert_eq!(ndjson.lines().count(), 5);
    let csv = succeed(&["--demo", "forms", "list", "--output", "csv"]);
    assert!(
        csv.starts_with("public_id,title,status,id,created_at,updated_at,url\nrandhie,"),
        "{csv}"
    );
    let table = succeed(&["--demo", "forms", "list", "--output", "table"]);
    assert!(table.starts_with("PUBLIC_ID  TITLE"), "{table}");
}

#[test]
fn a_form_is_found_by_any_of_its_names() {
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
