//! Columns of views: new labels, odd labels, odd answers, too many labels.

use proptest::prelude::*;

use super::database::{Database, texts};
use super::{service_with, sync};

#[tokio::test]
async fn new_label_adds_a_column_and_keeps_views_on_top() {
    for database in Database::all().await {
        let service = service_with(&[r#"{"a":"1","b":"2"}"#, "{}"]);
        let store = database.open().await;
        let view = sync(&store, &service).await.unwrap().view;
        let name = database.table(&view);
        let mine = database.table("mine");
        database.execute(&format!("CREATE VIEW {mine} AS SELECT id, b FROM {name}")).await;
        let newer = service_with(&[r#"{"a":"1","b":"2"}"#, r#"{"c":"3","b":"4"}"#]);
        let summary = sync(&store, &newer).await.unwrap();
        assert_eq!((&summary.view, &*summary.changes.new_columns), (&view, &["c".to_owned()][..]));
        let columns = database.columns(&view).await;
        assert_eq!(columns[3..], ["a", "b", "c"]);
        let rows = database.query(&format!("SELECT id, b FROM {mine} ORDER BY id")).await;
        assert_eq!(rows, [texts(&["sub_000", "2"]), texts(&["sub_001", "4"])]);
    }
}

#[tokio::test]
async fn odd_labels_and_answers_break_no_view() {
    for database in Database::all().await {
        let deep = format!(r#"{{"deep":{}{}}}"#, "[".repeat(5_000), "]".repeat(5_000));
        let long = format!(r#"{{"long":"{}","{}":1}}"#, "x".repeat(1 << 20), "l".repeat(300));
        let odd = [
            r#"{"a":"x\u0000y","A":1,"a":2,"\u0000":3,"":4,"  ":5,"\ud800":"\ud800z\udc00"}"#,
            r#"{"xmin":1,"select":2,"\"q\"":3,"a%b?:[]'`":4,"id":5,"created_at":6,"other_answers":7}"#,
            r#"{"n":123456789012345678901234567890,"t\nl\t\u0001":"\u0001","rtl":"\u202eabc","na!e":1,"na%e":2}"#,
            &deep,
            &long,
            r#"{"a":"later","emoji":"\ud83d\ude00","a (2)":"x"}"#,
        ];
        let service = service_with(&odd);
        let store = database.open().await;
        let summary = sync(&store, &service).await.unwrap();
        assert_eq!((summary.pull.new, summary.changes.cleaned_rows), (6, 1));
        for (row, data) in database.rows().await.iter().zip(odd) {
            assert_eq!(row[2].as_deref(), Some(data));
        }
        let view = database.table(&summary.view);
        let rows = database.query(&format!("SELECT * FROM {view} ORDER BY id")).await;
        let columns = database.columns(&summary.view).await;
        let cell = |row: usize, column: &str| {
            let at = columns.iter().position(|name| name == column);
            rows[row][at.unwrap_or_else(|| panic!("{column} of {columns:?}"))].clone().unwrap()
        };
        assert_eq!(cell(0, "a"), "x\u{fffd}y");
        assert_eq!((cell(0, "A (2)"), cell(0, "a (3)")), ("1".into(), "2".into()));
        assert_eq!(cell(0, "\u{fffd}"), "3");
        assert_eq!(cell(0, "\u{fffd} (2)"), "\u{fffd}z\u{fffd}");
        assert_eq!((cell(0, "unnamed"), cell(0, "unnamed (2)")), ("4".into(), "5".into()));
        assert_eq!((cell(1, "xmin"), cell(1, "\"q\"")), ("1".into(), "3".into()));
        assert_eq!((cell(1, "a%b?:[]'`"), cell(1, "id (2)")), ("4".into(), "5".into()));
        assert_eq!(cell(2, "n"), "123456789012345678901234567890");
        assert_eq!(cell(2, "t\nl\t\u{1}"), "\u{1}");
        assert_eq!(cell(3, "deep").len(), 10_000);
        assert_eq!(cell(4, "long").len(), 1 << 20);
        assert_eq!(cell(5, "emoji"), "😀");
        let folded: std::collections::HashSet<_> =
            columns.iter().map(|name| name.to_lowercase()).collect();
        assert_eq!(folded.len(), columns.len());
    }
}

#[tokio::test]
async fn flood_of_labels_fills_no_more_than_half_of_the_columns() {
    for database in Database::all().await {
        let flood: Vec<String> = (0..60)
            .map(|row| {
                let labels = (0..100).map(|n| format!(r#""made up {row} {n}":"{n}""#));
                format!(r#"{{"Name":"n{row}",{}}}"#, labels.collect::<Vec<_>>().join(","))
            })
            .collect();
        let service = service_with(&flood.iter().map(String::as_str).collect::<Vec<_>>());
        let store = database.open().await;
        let summary = sync(&store, &service).await.unwrap();
        let half = if database.target.is_postgres() { 750 } else { 950 };
        assert_eq!(summary.changes.new_columns.len(), half);
        let view = database.table(&summary.view);
        let others = format!("SELECT other_answers FROM {view} WHERE id = 'sub_059'");
        let others = database.query(&others).await[0][0].clone().unwrap();
        assert!(others.starts_with(r#"{"made up 59 0":"0","made up 59 1":"1""#), "{others:.99}");
        // A real question is added when two rows of a page have it.
        let newer: Vec<_> = (0..60)
            .map(|row| match row {
                0 | 1 => r#"{"Question":"yes"}"#,
                row => &flood[row],
            })
            .collect();
        let summary = sync(&store, &service_with(&newer)).await.unwrap();
        assert_eq!(summary.changes.new_columns, ["Question"]);
        let size = format!(
            "SELECT max(length(cast(cells AS text))) FROM {}",
            database.table("submissions")
        );
        let size: u64 = database.query(&size).await[0][0].as_ref().unwrap().parse().unwrap();
        assert!(size < 20_000, "{size}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Any labels and answers: rows are exact, and the view has the text of each answer.
    #[test]
    fn view_has_the_text_of_every_answer(
        rows in prop::collection::vec(prop::collection::vec(("\\PC{0,4}", ".{0,6}"), 0..5), 1..6),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let answers: Vec<String> = rows
                .iter()
                .map(|row| {
                    let fields = row.iter().map(|(label, text)| {
                        let [label, text] = [label, text].map(|text| serde_json::Value::from(&**text));
                        format!("{label}:{text}")
                    });
                    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
                })
                .collect();
            for database in Database::all().await {
                let service = service_with(&answers.iter().map(String::as_str).collect::<Vec<_>>());
                let store = database.open().await;
                let summary = sync(&store, &service).await.unwrap();
                let view = database.table(&summary.view);
                let stored = database.query(&format!("SELECT * FROM {view} ORDER BY id")).await;
                for (stored, row) in stored.iter().zip(&rows) {
                    let mut found: Vec<_> = stored[3..].iter().flatten().cloned().collect();
                    let mut expected: Vec<_> =
                        row.iter().map(|(_, text)| text.replace('\0', "\u{fffd}")).collect();
                    found.sort();
                    expected.sort();
                    prop_assert_eq!(found, expected);
                }
                for (row, data) in database.rows().await.iter().zip(&answers) {
                    prop_assert_eq!(row[2].as_ref(), Some(data));
                }
            }
            Ok(())
        })?;
    }
}
