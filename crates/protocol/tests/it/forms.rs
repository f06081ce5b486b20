//! Compares the data sets with their README.

use sha2::{Digest, Sha256};

use crate::fixtures;

/// One row of the README's table.
struct Row {
    file: String,
    records: usize,
    sha256: String,
}

fn rows() -> Vec<Row> {
    fixtures::text("forms/README.md")
        .lines()
        .filter_map(|line| {
            let cells: Vec<_> = line.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
            let [_, file, records, _, _, sha256, _] = cells.as_slice() else { return None };
            let records = records.parse().ok()?;
            Some(Row { file: (*file).to_owned(), records, sha256: (*sha256).to_owned() })
        })
        .collect()
}

#[test]
fn data_set_hash_and_count_match_readme() {
    let rows = rows();
    assert_eq!(rows.len(), 4, "the README's table has four rows");
    for Row { file, records, sha256 } in rows {
        let bytes = fixtures::bytes(&format!("forms/{file}"));
        assert_eq!(hex::encode(Sha256::digest(&bytes)), sha256, "{file}");
        // No data set has a line feed inside a record.
        let found = match serde_json::from_slice::<Vec<String>>(&bytes) {
            Ok(elements) => elements.len(),
            Err(_) => {
                bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count() - 1
            }
        };
        assert_eq!(found, records, "{file}");
    }
}

#[test]
fn readme_lists_each_data_set() {
    let mut found: Vec<_> = std::fs::read_dir(fixtures::path("forms"))
        .expect("fixtures/forms exists")
        .map(|entry| entry.expect("is readable").file_name().into_string().expect("is UTF-8"))
        .filter(|name| name != "README.md" && name != "licenses")
        .collect();
    let mut stated: Vec<_> = rows().into_iter().map(|row| row.file).collect();
    found.sort();
    stated.sort();
    assert_eq!(found, stated);
}
