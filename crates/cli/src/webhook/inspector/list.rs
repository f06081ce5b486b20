//! The list on the page: what is asked for, and what it is given.

use serde::Serialize;

use super::Desk;
use super::feed::EventNumber;
use super::reply::{Problem, beginning};
use super::row::Row;
use crate::webhook::statuses::Statuses;
use crate::webhook::store::Query;
use crate::webhook::verdict::{VERDICTS, VerdictCode};

/// Rows of one answer, at most.
const ROWS_MAX: usize = 200;
/// Longest text to filter by, in bytes.
const TEXT_MAX: usize = 1000;

/// Rows, newest first.
#[derive(Debug, Serialize)]
pub(super) struct List {
    rows: Vec<Row>,
    /// Whether there are no older ones.
    done: bool,
    /// What had happened before they were read: the stream goes on from there.
    last: EventNumber,
}

/// What a list can be asked with.
const PARTS: &str = "text, verdict, status, before or limit";

/// Reads what is asked for: [`PARTS`].
fn query(parameters: &[(String, String)]) -> Result<Query, Problem> {
    let mut query = Query { limit: Some(ROWS_MAX), ..Query::default() };
    for (name, value) in parameters {
        let not = |rule: &str| Problem::not(name, value, rule);
        match name.as_str() {
            "text" if value.len() <= TEXT_MAX => query.text = Some(value.clone()),
            "text" => return Err(not(&format!("{TEXT_MAX} bytes at most"))),
            "verdict" => {
                let code = VerdictCode::of_name(value).ok_or_else(|| not(&verdicts()))?;
                query.verdict = Some(code.row().name);
            }
            "status" => query.status = Some(statuses(value).ok_or_else(|| not(STATUSES))?),
            "before" => query.before = Some(value.parse().map_err(|_| not(NUMBER))?),
            "limit" => {
                let limit: usize = value.parse().map_err(|_| not(NUMBER))?;
                query.limit = Some(limit.clamp(1, ROWS_MAX));
            }
            _ => {
                let name = beginning(name);
                return Err(Problem::bad(format!(
                    "A list cannot be asked with “{name}”: {PARTS}."
                )));
            }
        }
    }
    Ok(query)
}

const NUMBER: &str = "a number, 0 or more";
const STATUSES: &str = "ok, failed, the first digit of a status (1 to 5), or a status (100 to 599)";

fn verdicts() -> String {
    let names: Vec<_> = VERDICTS.iter().map(|row| row.name).collect();
    format!("one of {}", names.join(", "))
}

/// The page says a class by its digit.
fn statuses(text: &str) -> Option<Statuses> {
    if text.len() == 1 { format!("{text}xx").parse().ok() } else { text.parse().ok() }
}

pub(super) async fn list(desk: &Desk, parameters: &[(String, String)]) -> Result<List, Problem> {
    let query = query(parameters)?;
    let limit = query.limit.unwrap_or(ROWS_MAX);
    let last = desk.feed.last();
    // One more than is shown tells whether there are older ones.
    let asked = Query { limit: Some(limit + 1), ..query };
    let mut listed = desk.inspected.store.list(asked).await?;
    let done = listed.len() <= limit;
    listed.truncate(limit);
    let row = |listed| Row::of(listed, desk.inspected.reveal);
    Ok(List { rows: listed.into_iter().map(row).collect(), done, last })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Query> {
        let pairs: Vec<_> = url::form_urlencoded::parse(text.as_bytes()).into_owned().collect();
        query(&pairs).ok()
    }

    #[test]
    fn every_part_of_the_filter_is_read() {
        let read =
            read("text=a%25b&verdict=signature_mismatch&status=4&before=17&limit=50").unwrap();
        assert_eq!(read.text.as_deref(), Some("a%b"));
        assert_eq!(read.verdict, Some("signature_mismatch"));
        assert_eq!(read.status, Some(Statuses::Class(4)));
        assert_eq!((read.before, read.limit), (Some(17), Some(50)));
        for (text, statuses) in
            [("ok", Statuses::Ok), ("failed", Statuses::Failed), ("503", Statuses::One(503))]
        {
            assert_eq!(super::statuses(text), Some(statuses));
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_value_and_the_rule() {
        let long = "x".repeat(5_000);
        for (name, value, told) in [
            ("status", "6", "`status` is “6”, and has to be ok, failed, the first digit"),
            ("verdict", "good", "`verdict` is “good”, and has to be one of valid, unchecked, "),
            ("before", "-1", "`before` is “-1”, and has to be a number, 0 or more."),
            ("text", &long, "x…”, and has to be 1000 bytes at most."),
            ("number", "1", "A list cannot be asked with “number”: text, verdict, status"),
        ] {
            let what = query(&[(name.to_owned(), value.to_owned())]).unwrap_err().what;
            assert!(what.contains(told) && what.len() < 300, "{what}");
        }
    }

    #[test]
    fn an_answer_is_bounded_and_what_is_not_understood_is_refused() {
        assert_eq!(read("").unwrap().limit, Some(ROWS_MAX));
        assert_eq!(read("limit=1000000").unwrap().limit, Some(ROWS_MAX));
        assert_eq!(read("limit=0").unwrap().limit, Some(1));
        for bad in [
            "verdict=good",
            "status=0",
            "status=6",
            "status=1000",
            "status=-1",
            "before=x",
            "before=-1",
            "limit=",
            "number=17",
            &format!("text={}", "x".repeat(TEXT_MAX + 1)),
        ] {
            assert!(read(bad).is_none(), "{bad}");
        }
    }
}
