//! Columns of stored rows.

use std::collections::HashSet;

use formsvc_table::{
    Column, ColumnCollector, ColumnPlan, ColumnType, ListStyle, MissingColumn, StoredRow,
    TableOptions, Value,
};
use proptest::prelude::*;
use serde_json::Value as Json;

fn row<'a>(data: &'a str, extra: &'a str) -> StoredRow<'a> {
    let created_at = "2026-07-01T22:30:00.120Z";
    StoredRow { id: "sub_1", created_at, instant: 1_782_945_000_120_000, data, extra }
}

fn plan<S: AsRef<str>>(rows: &[S], options: TableOptions) -> ColumnPlan {
    let mut collector = ColumnCollector::new(options);
    for data in rows {
        collector.observe(&row(data.as_ref(), ""));
    }
    collector.finish()
}

fn headings(plan: &ColumnPlan) -> Vec<&str> {
    plan.columns().iter().map(|column| &*column.heading).collect()
}

/// Returns heading and text of each cell with text, without id and time.
fn cells(plan: &mut ColumnPlan, data: &str) -> Vec<(String, String)> {
    let texts: Vec<String> =
        plan.cells(&row(data, "")).iter().map(|cell| cell.text().to_owned()).collect();
    assert_eq!(texts.len(), plan.columns().len());
    let headings = plan.columns().iter().map(|column| column.heading.clone());
    let pairs = headings.zip(texts).filter(|(_, text)| !text.is_empty());
    pairs.filter(|(heading, _)| heading != "id" && heading != "created_at").collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(heading, text)| ((*heading).into(), (*text).into())).collect()
}

fn max_columns(max_columns: usize) -> TableOptions {
    TableOptions { max_columns, ..TableOptions::default() }
}

#[test]
fn optional_labels_keep_the_order_of_the_form() {
    let rows = [
        r#"{"a":1,"c":1}"#,
        r#"{"b":1,"c":1}"#,
        r#"{"a":1,"b":1,"c":1,"d":1}"#,
        r#"{"z":1,"a":1}"#,
    ];
    let columns = plan(&rows, TableOptions::default());
    assert_eq!(headings(&columns)[2..], ["z", "b", "a", "c", "d"]);
    let rows = [r#"{"a":1,"b":1}"#, r#"{"x":1,"y":1}"#, r#"{"b":1,"c":1}"#];
    assert_eq!(headings(&plan(&rows, TableOptions::default()))[2..], ["a", "b", "c", "x", "y"]);
}

#[test]
fn repeated_reserved_and_blank_labels_get_unique_headings() {
    let data = r#"{"q":1,"q":2,"id":3,"q (2)":4,"":5," ":6,"other_answers":7}"#;
    let mut columns = plan(&[data], TableOptions::default());
    let expected = [
        ("q", "1"),
        ("q (2)", "2"),
        ("id (2)", "3"),
        ("q (2) (2)", "4"),
        ("unnamed", "5"),
        ("unnamed (2)", "6"),
        ("other_answers (2)", "7"),
    ];
    assert_eq!(cells(&mut columns, data), pairs(&expected));
    let options = TableOptions { ignore_case: true, ..TableOptions::default() };
    let columns = plan(&[r#"{"Ärger":1,"ärger":2,"ID":3}"#], options);
    assert_eq!(headings(&columns)[2..], ["Ärger", "ärger (2)", "ID (2)"]);
    let options = TableOptions { heading_bytes: 10, ..TableOptions::default() };
    let columns = plan(&[r#"{"0123456789":1,"0123456789x":2,"012345678é":3}"#], options);
    assert_eq!(headings(&columns)[2..], ["0123456789", "012345 (2)", "012345678"]);
}

#[test]
fn rare_labels_share_one_json_cell() {
    let rows = [r#"{"rare":1,"a":1,"b":[ 1 ]}"#, r#"{"a":2,"\u00e9":3}"#, r#"{"b":4,"a":5}"#];
    let mut columns = plan(&rows, max_columns(2));
    assert_eq!(headings(&columns)[2..], ["a", "b", "other_answers"]);
    assert_eq!(columns.left_out(), 2);
    let expected = [("a", "1"), ("b", "[ 1 ]"), ("other_answers", r#"{"rare":1}"#)];
    assert_eq!(cells(&mut columns, rows[0]), pairs(&expected));
    let expected = [("a", "2"), ("other_answers", r#"{"\u00e9":3}"#)];
    assert_eq!(cells(&mut columns, rows[1]), pairs(&expected));
    // Of labels that are equally rare, the one that was submitted first has a column.
    assert_eq!(headings(&plan(&rows, max_columns(3)))[2..], ["a", "é", "b", "other_answers"]);
    assert_eq!(headings(&plan(&rows, max_columns(4))).len(), 6);
}

#[test]
fn flood_of_labels_keeps_the_real_questions() {
    let flood = |row: usize| {
        let labels = (0..200).map(|label| format!("\"made up {row} {label}\":1"));
        format!("{{{}}}", labels.collect::<Vec<_>>().join(","))
    };
    let mut collector = ColumnCollector::new(max_columns(10));
    for number in 0..1_000 {
        collector.observe(&row(&flood(number), ""));
        if number % 20 == 0 {
            collector.observe(&row(r#"{"name":"Ada","mail":"a@example.org"}"#, ""));
        }
    }
    let mut columns = collector.finish();
    let names = headings(&columns);
    assert!(names.contains(&"name") && names.contains(&"mail"), "{names:?}");
    assert_eq!(names.len(), 2 + 10 + 1);
    let is_number = |column: &&Column| column.column_type == ColumnType::Integer;
    assert_eq!(columns.columns().iter().filter(is_number).count(), 0);
    assert!(columns.left_out() >= 199_000, "{}", columns.left_out());
    let size: usize = columns.cells(&row(&flood(3), "")).iter().map(|cell| cell.text().len()).sum();
    assert!(size >= 200 * 10, "{size}");
    assert_eq!(columns.unplaced(), 0);
}

#[test]
fn label_forgotten_in_a_flood_returns_as_text() {
    let flood = |row: usize| {
        let labels = (0..10_500).map(|label| format!("\"made up {row} {label}\":1"));
        format!("{{{}}}", labels.collect::<Vec<_>>().join(","))
    };
    let mut rows = vec![r#"{"X":"text"}"#.to_owned()];
    rows.extend((0..3).map(flood));
    rows.extend((0..9).map(|_| r#"{"X":5,"Y":6}"#.to_owned()));
    let mut columns = plan(&rows, max_columns(1));
    let column = &columns.columns()[2];
    assert_eq!((&*column.heading, column.column_type), ("X", ColumnType::Text));
    assert_eq!(cells(&mut columns, &rows[0]), pairs(&[("X", "text")]));
}

#[test]
fn very_long_label_is_no_heading() {
    let label = "x".repeat(5_000);
    let data = format!(r#"{{"a":1,"{label}":2}}"#);
    let mut columns = plan(&[&data], TableOptions::default());
    let other = format!(r#"{{"{label}":2}}"#);
    assert_eq!(cells(&mut columns, &data), pairs(&[("a", "1"), ("other_answers", &other)]));
}

#[test]
fn unknown_members_follow_the_answers() {
    let rows = [row(r#"{"score":"a"}"#, r#"{"score":1.50,"tags":["x"]}"#), row("{}", "")];
    let mut collector = ColumnCollector::new(TableOptions::default());
    for row in &rows {
        collector.observe(row);
    }
    let mut columns = collector.finish();
    assert_eq!(headings(&columns)[2..], ["score", "score (2)", "tags"]);
    let cells = columns.cells(&rows[0]);
    assert_eq!(cells[2..].iter().map(Value::text).collect::<Vec<_>>(), ["a", "1.50", "[\"x\"]"]);
}

#[test]
fn selected_columns_come_in_the_given_order() {
    let rows = [r#"{"a":1,"b":2,"b":3,"c":4}"#, r#"{"c":1}"#];
    let selected = ["b (2)", "created_at", "none", "a", "a"].map(str::to_owned).to_vec();
    let mut columns = plan(&rows, TableOptions { columns: selected, ..max_columns(1) });
    assert_eq!(headings(&columns), ["b (2)", "created_at", "none", "a"]);
    let missing = MissingColumn { heading: "none".into(), similar: None };
    assert_eq!(columns.missing_columns(), [missing]);
    assert_eq!(cells(&mut columns, rows[0]), pairs(&[("b (2)", "3"), ("a", "1")]));
    assert_eq!(columns.unplaced(), 0);
}

#[test]
fn missing_column_names_a_label_of_other_case() {
    let columns = ["NAME", "Age"].map(str::to_owned).to_vec();
    let plan = plan(&[r#"{"Name":1,"Town":2}"#], TableOptions { columns, ..max_columns(9) });
    let missing = plan.missing_columns();
    assert_eq!((&*missing[0].heading, missing[0].similar.as_deref()), ("NAME", Some("Name")));
    assert_eq!((&*missing[1].heading, missing[1].similar.as_deref()), ("Age", None));
}

#[test]
fn column_map_renames_and_merges_labels() {
    let map = [("E-Mail", "mail"), ("Email", "mail"), ("x", "y")];
    let column_map = map.map(|(from, to)| (from.to_owned(), to.to_owned())).into();
    let rows = [r#"{"E-Mail":"new","x":1}"#, r#"{"Email":"old"}"#, r#"{"Email":"1","E-Mail":"2"}"#];
    let mut columns = plan(&rows, TableOptions { column_map, ..TableOptions::default() });
    assert_eq!(cells(&mut columns, rows[0]), pairs(&[("mail", "new"), ("y", "1")]));
    assert_eq!(cells(&mut columns, rows[1]), pairs(&[("mail", "old")]));
    assert_eq!(cells(&mut columns, rows[2]), pairs(&[("mail", "1"), ("mail (2)", "2")]));
}

#[test]
fn list_columns_have_one_column_per_choice() {
    let options = || TableOptions { lists: ListStyle::Columns, ..TableOptions::default() };
    let rows =
        [r#"{"t":["red","blue"],"n":1}"#, r#"{"t":["green"]}"#, r#"{"t":[]}"#, r#"{"t":null}"#];
    let mut columns = plan(&rows, options());
    assert_eq!(headings(&columns)[2..], ["t: red", "t: blue", "t: green", "n"]);
    let expected = [("t: red", "true"), ("t: blue", "true"), ("t: green", "false"), ("n", "1")];
    assert_eq!(cells(&mut columns, rows[0]), pairs(&expected));
    assert_eq!(cells(&mut columns, rows[3]), []);
    // Answers that are no list of different choices keep their text.
    let rows = [r#"{"t":["a"]}"#, r#"{"t":["a","a"]}"#, r#"{"t":"b"}"#, r#"{"t":[["a"]]}"#];
    let mut columns = plan(&rows, options());
    assert_eq!(headings(&columns)[2..], ["t: a", "t"]);
    for (data, text) in [(rows[1], r#"["a","a"]"#), (rows[2], "b"), (rows[3], r#"[["a"]]"#)] {
        assert_eq!(cells(&mut columns, data), pairs(&[("t", text)]));
    }
    // Choices beyond the limits of columns stay in one.
    let many: Vec<String> = (0..101).map(|number| format!("{{\"t\":[{number}]}}")).collect();
    assert_eq!(headings(&plan(&many, options()))[2..], ["t"]);
    let few = TableOptions { max_columns: 2, ..options() };
    assert_eq!(headings(&plan(&[r#"{"t":[1,2],"u":[3,4]}"#], few))[2..], ["t", "u"]);
}

#[test]
fn local_time_has_the_offset_of_its_zone() {
    let zone = jiff::tz::TimeZone::get("Europe/Berlin").unwrap();
    let options = TableOptions { time_zone: Some(zone), ..TableOptions::default() };
    let mut columns = plan(&["{}"], options);
    assert_eq!(headings(&columns), ["id", "created_at", "created_at_local"]);
    let cells = columns.cells(&row("{}", ""));
    assert_eq!(cells[2].text(), "2026-07-02T00:30:00.120+02:00");
}

#[test]
fn column_types_are_those_of_all_values() {
    use ColumnType::{Boolean, Integer, Real, Text};
    let rows =
        [r#"{"i":1,"r":1.5,"b":true,"s":"1","m":1,"n":null}"#, r#"{"m":"x","r":2,"b":null}"#];
    let columns = plan(&rows, TableOptions::default());
    let types: Vec<_> = columns.columns()[2..].iter().map(|column| column.column_type).collect();
    assert_eq!(types, [Integer, Real, Boolean, Text, Text, Text]);
}

#[test]
fn damaged_row_keeps_its_text() {
    let rows = [r#"{"a":1}"#, r#"{"a":1,"#];
    let mut columns = plan(&rows, TableOptions::default());
    assert_eq!(cells(&mut columns, rows[1]), pairs(&[("other_answers", rows[1])]));
}

#[test]
fn nesting_of_any_depth_is_text() {
    let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    for lists in [ListStyle::Json, ListStyle::Join, ListStyle::Columns] {
        let options = TableOptions { lists, ..TableOptions::default() };
        let mut columns = plan(&[&deep], options);
        assert_eq!(cells(&mut columns, &deep)[0].1.len(), 200_000);
    }
}

fn answers() -> impl Strategy<Value = String> {
    let label = prop_oneof!["[a-c]", "id", "a \\(2\\)", "[ ]?", "A", "\\PC{0,3}"];
    let value = prop_oneof![
        "\\PC{0,8}".prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        prop::collection::vec("[a-c;]{0,2}", 0..4).prop_map(Json::from),
    ];
    prop::collection::vec((label, value), 0..6).prop_map(|members| {
        let members: Vec<String> = members
            .iter()
            .map(|(label, value)| format!("{}:{value}", Json::from(label.as_str())))
            .collect();
        format!("{{{}}}", members.join(","))
    })
}

/// Returns the sorted texts of all answers.
fn texts(object: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let parsed = formsvc_table::for_each_field(object, |_, value| {
        texts.push(formsvc_table::cell(value).text.into_owned());
    });
    parsed.unwrap();
    texts.retain(|text| !text.is_empty());
    texts.sort();
    texts
}

/// Returns the items of lists, without the number of a heading, and all other texts, sorted.
fn items(texts: &[String]) -> Vec<String> {
    let plain = |item: &Json| item.as_str().map_or_else(|| item.to_string(), str::to_owned);
    let unnumbered = |text: String| text.split(" (").next().unwrap_or_default().to_owned();
    let list = |text: &String| serde_json::from_str::<Vec<Json>>(text).ok();
    let mut items: Vec<String> = texts
        .iter()
        .flat_map(|text| match list(text) {
            Some(items) => items.iter().map(plain).map(unnumbered).collect(),
            None => vec![text.clone()],
        })
        .collect();
    items.sort();
    items
}

proptest! {
    #[test]
    fn every_answer_is_in_one_cell(
        rows in prop::collection::vec(answers(), 0..12),
        limit in 0_usize..8,
        ignore_case in any::<bool>(),
    ) {
        let options = TableOptions { ignore_case, ..max_columns(limit) };
        let mut columns = plan(&rows, options);
        let mut names = HashSet::new();
        for heading in headings(&columns) {
            let folded = if ignore_case { heading.to_lowercase() } else { heading.to_owned() };
            prop_assert!(names.insert(folded), "{heading} occurs twice");
            prop_assert!(!heading.trim().is_empty());
        }
        let answers = columns.columns().iter().filter(|column| column.is_answer).count();
        prop_assert!(answers <= limit);
        for row in &rows {
            let mut found = Vec::new();
            for (heading, text) in cells(&mut columns, row) {
                if heading == "other_answers" {
                    found.extend(texts(&text));
                } else {
                    found.push(text);
                }
            }
            found.sort();
            prop_assert_eq!(found, texts(row));
        }
        prop_assert_eq!(columns.unplaced(), 0);
    }

    #[test]
    fn choices_and_other_answers_are_complete(
        mut rows in prop::collection::vec(answers(), 0..12),
        limit in 0_usize..20,
    ) {
        // Such labels look like the headings of choices.
        rows.retain(|row| !row.contains(": ") && !row.contains(":\":"));
        let options = TableOptions { lists: ListStyle::Columns, ..max_columns(limit) };
        let mut columns = plan(&rows, options);
        prop_assert!(columns.columns().iter().filter(|column| column.is_answer).count() <= limit);
        for row in &rows {
            let mut found = Vec::new();
            for (heading, text) in cells(&mut columns, row) {
                match heading.rsplit_once(": ") {
                    _ if heading == "other_answers" => found.extend(texts(&text)),
                    Some(_) if text == "false" => {}
                    Some((_, choice)) => found.push(format!("[{}]", Json::from(choice))),
                    None => found.push(text),
                }
            }
            prop_assert_eq!(items(&found), items(&texts(row)), "{}", row);
        }
        prop_assert_eq!(columns.unplaced(), 0);
    }
}
