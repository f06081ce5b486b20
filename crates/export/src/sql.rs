//! Names and expressions in SQL.

use std::borrow::Cow;

use formsvc_table::ColumnType;
use sha2::{Digest, Sha256};

/// Characters of the title in a name.
const TITLE_MAX: usize = 40;

/// Returns the name of a form's view: a part of the title and a hash of the service and the form. It is
/// at most 63 bytes long, as PostgreSQL requires.
pub(crate) fn view_name(title: Option<&str>, origin: &str, form_id: &str) -> String {
    let mut slug = String::new();
    for c in title.unwrap_or_default().chars().take(TITLE_MAX) {
        match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() => slug.push(c),
            _ if slug.is_empty() || slug.ends_with('_') => {}
            _ => slug.push('_'),
        }
    }
    let slug = slug.trim_end_matches('_');
    // A name that starts with a digit needs quotation marks.
    let is_plain = slug.starts_with(|c: char| c.is_ascii_alphabetic());
    let slug = if is_plain { slug.to_owned() } else { format!("form_{slug}") };
    format!("{}_{}", slug.trim_end_matches('_'), &form_hash(origin, form_id)[..8])
}

/// Returns a hash of a form, in hexadecimal digits.
pub(crate) fn form_hash(origin: &str, form_id: &str) -> String {
    hex::encode(Sha256::digest(format!("{origin}\n{form_id}")))
}

/// Returns an identifier in quotation marks. A NUL would end the statement.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", without_nul(name).replace('"', "\"\""))
}

/// Replaces NUL, which PostgreSQL refuses and which SQLite's functions treat as the end of a text.
pub(crate) fn without_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text.into() }
}

/// Returns the expression of a column of an SQLite view: the text at a position of `cells`, with its
/// type.
pub(crate) fn typed_cell(column_type: ColumnType, position: impl std::fmt::Display) -> String {
    let text = format!("json_extract(cells, '$[{position}]')");
    match column_type {
        ColumnType::Integer => format!("CAST({text} AS INTEGER)"),
        ColumnType::Real => format!("CAST({text} AS REAL)"),
        ColumnType::Boolean => format!("({text} = 'true')"),
        ColumnType::Text | ColumnType::Time => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn view_name_is_short_plain_and_stable() {
        let name = |title| view_name(title, "https://forms.example", "frm_1");
        let hash = &form_hash("https://forms.example", "frm_1")[..8];
        assert_eq!(name(Some("Wedding: RSVP 2026!")), format!("wedding_rsvp_2026_{hash}"));
        assert_eq!(name(Some("2026")), format!("form_2026_{hash}"));
        assert_eq!(name(Some("Привет")), format!("form_{hash}"));
        assert_eq!(name(None), format!("form_{hash}"));
        let long = "x".repeat(500);
        let longest = view_name(Some(&long), "o", "f");
        assert!(longest.len() <= 63, "{longest}");
        let other = view_name(None, "https://forms.example", "frm_2");
        assert_ne!(other, name(None));
    }
}
