//! The tables of docs/SDK.md contain every kind of error, error code and event.

use formsvc_client::ErrorCode;

const GUIDE: &str = include_str!("../../../../docs/SDK.md");
const ERROR_KINDS: &str = include_str!("../../src/error/kind.rs");
const EVENTS: &str = include_str!("../../src/event.rs");

/// Returns the first column of the table after this heading.
fn first_column(heading: &str) -> Vec<&'static str> {
    let (_, section) = GUIDE.split_once(heading).unwrap();
    let rows = section.lines().skip_while(|line| !line.starts_with('|')).skip(2);
    rows.map_while(|row| row.strip_prefix("| `")?.split_once('`')).map(|(cell, _)| cell).collect()
}

/// Returns the variants of the enum, in their order in the source.
fn variants(source: &'static str, name: &str) -> Vec<&'static str> {
    let (_, rest) = source.split_once(&format!("pub enum {name} {{\n")).unwrap();
    let (body, _) = rest.split_once("\n}").unwrap();
    let items = body.lines().filter_map(|line| line.strip_prefix("    "));
    let variants = items.filter(|item| item.starts_with(char::is_uppercase));
    variants.filter_map(|variant| variant.split([' ', '(', ',']).next()).collect()
}

#[test]
fn guide_lists_every_error_kind() {
    assert_eq!(first_column("\n### Kinds of errors\n"), variants(ERROR_KINDS, "ErrorKind"));
}

#[test]
fn guide_lists_every_event() {
    assert_eq!(first_column("\n## Events and logs\n"), variants(EVENTS, "ClientEvent"));
}

#[test]
fn guide_lists_every_error_code_with_its_status() {
    let codes: Vec<_> = ErrorCode::KNOWN.iter().map(ErrorCode::as_str).collect();
    assert_eq!(first_column("\n### Error codes\n"), codes);
    for code in ErrorCode::KNOWN {
        let row = format!("| `{}` | {} |\n", code.as_str(), code.info().unwrap().status);
        assert!(GUIDE.contains(&row), "{row}");
    }
}
