//! Bodies as the service sends them.

/// The time of row `n`: a second older per row.
pub(crate) fn time(n: u32) -> String {
    let seconds = 59 - n % 60;
    let minutes = 59 - n / 60 % 60;
    let hours = 23 - n / 3600;
    format!("2026-01-31T{hours:02}:{minutes:02}:{seconds:02}.000Z")
}

/// A row with its own time.
pub(crate) fn row(n: u32) -> String {
    row_at(n, &time(n))
}

pub(crate) fn row_at(n: u32, time: &str) -> String {
    format!(r#"{{"id":"sub_{n}","data":{{"Number": {n}.50}},"created_at":"{time}"}}"#)
}

/// A page of rows given as JSON.
pub(crate) fn page_of(rows: &[String], next: Option<&str>, has_more: bool) -> String {
    let next = next.map_or("null".to_owned(), |next| format!(r#""{next}""#));
    let rows = rows.join(",");
    format!(r#"{{"data":[{rows}],"pagination":{{"next_cursor":{next},"has_more":{has_more}}}}}"#)
}

/// A page that is followed by another.
pub(crate) fn page(rows: impl IntoIterator<Item = u32>, next: &str) -> String {
    page_of(&rows.into_iter().map(row).collect::<Vec<_>>(), Some(next), true)
}

/// The last page.
pub(crate) fn last(rows: impl IntoIterator<Item = u32>) -> String {
    page_of(&rows.into_iter().map(row).collect::<Vec<_>>(), None, false)
}

pub(crate) const USER: &str = r#"{"id":"usr_1","email":"ada@example.org","name":"Ada","plan":"x"}"#;

pub(crate) const FORMS: &str = r#"{"data":[{"id":"frm_1","public_id":"p1","title":"T",
    "status":"archived","created_at":"2026-01-31T09:30:00.120Z",
    "updated_at":"2026-01-31T09:30:00.120Z","url":"/f/p1","new":1}]}"#;

pub(crate) fn error(code: &str, message: &str) -> String {
    format!(r#"{{"error":{{"code":"{code}","message":"{message}"}}}}"#)
}
