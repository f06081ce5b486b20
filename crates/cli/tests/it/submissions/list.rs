//! `formsvc submissions list`

use crate::support::{run, succeed};

#[test]
fn the_newest_come_first_and_no_more_than_asked_for() {
    let said =
        succeed(&["--demo", "submissions", "list", "randhie", "-L", "205", "--output", "ndjson"]);
    let rows: Vec<serde_json::Value> =
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 205);
    let times: Vec<&str> = rows.iter().map(|row| row["created_at"].as_str().unwrap()).collect();
    assert!(times.is_sorted_by(|newer, older| newer >= older));
}

#[test]
fn answers_stand_under_their_labels() {
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
fn a_list_goes_on_before_a_given_instant() {
    let all =
        succeed(&["--demo", "submissions", "list", "penguins", "--before", "1970-01-01T00:00:00Z"]);
    assert_eq!(all, "");
}

#[test]
fn a_table_of_nothing_has_no_heading() {
    let said = run(&["--demo", "submissions", "list", "contact", "--output", "table"]);
    assert_eq!((said.code, &*said.stdout, &*said.stderr), (Some(0), "", "no submissions\n"));
}
