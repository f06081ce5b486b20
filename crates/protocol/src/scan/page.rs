//! A page of the submissions list (SPEC §4), found in its text in one pass.

use std::ops::Range;

use super::json::{blank, items, members, string, value};
use super::{AnswerPlace, Place, answers};
use crate::Pagination;

/// Bytes of a page that an answer takes, roughly, and how many room is made for at first.
const ANSWER_BYTES: usize = 40;
const ANSWERS_AT_FIRST: usize = 2_000;

/// Where the parts of a page stand in its text: the rows newest first, and the answers of all rows,
/// one row after the other.
#[derive(Clone, Debug)]
pub struct PagePlaces {
    /// The submissions.
    pub rows: Vec<RowPlaces>,
    /// Their answers.
    pub answers: Vec<AnswerPlace>,
    /// Where the list goes on.
    pub pagination: Pagination,
}

/// Where the parts of one submission stand. They are JSON of the right type; the rules of ids and
/// times are not checked.
#[derive(Clone, Debug)]
pub struct RowPlaces {
    /// The submission itself, an object.
    pub object: Place,
    /// The text of the identifier.
    pub id: Place,
    /// The text of the time it was made.
    pub created_at: Place,
    /// The object of answers.
    pub data: Place,
    /// Which of the page's answers are of this row.
    pub answers: Range<usize>,
}

impl PagePlaces {
    /// Finds the parts of a page. It never takes for a page what is none; `None` also for pages that
    /// only a parser can judge: names, ids or times with escapes, members that stand twice.
    pub fn of(page: &str) -> Option<Self> {
        let text = page.as_bytes();
        let (mut rows, mut open) = (None, Vec::new());
        let mut found = Vec::with_capacity(ANSWERS_AT_FIRST.min(page.len() / ANSWER_BYTES));
        let mut pagination = None;
        let end = members(text, blank(text, 0), |name, start| match &text[name.start..name.end] {
            b"\"data\"" => {
                let rows = once(&mut rows, Vec::new())?;
                items(text, start, |at| row(text, at, rows, &mut found, &mut open))
            }
            // A parser takes an array of its members as well.
            b"\"pagination\"" if text.get(start) != Some(&b'{') => None,
            b"\"pagination\"" => {
                let end = value(text, start, &mut open)?.at;
                once(&mut pagination, serde_json::from_str(&page[start..end]).ok()?)?;
                Some(end)
            }
            name => skip(text, name, start, &mut open),
        })?;
        let whole = blank(text, end) == text.len();
        Some(Self { rows: rows?, answers: found, pagination: pagination? }).filter(|_| whole)
    }
}

fn row(
    text: &[u8],
    at: usize,
    rows: &mut Vec<RowPlaces>,
    found: &mut Vec<AnswerPlace>,
    open: &mut Vec<u8>,
) -> Option<usize> {
    let (mut id, mut created_at, mut data) = (None, None, None);
    let first = found.len();
    let end = members(text, at, |name, start| match &text[name.start..name.end] {
        b"\"id\"" => plain_string(text, start, &mut id),
        b"\"created_at\"" => plain_string(text, start, &mut created_at),
        b"\"data\"" => {
            let end = answers(text, start, found, open)?;
            once(&mut data, Place::new(start, end)?)?;
            Some(end)
        }
        name => skip(text, name, start, open),
    })?;
    let (object, answers) = (Place::new(at, end)?, first..found.len());
    rows.push(RowPlaces { object, id: id?, created_at: created_at?, data: data?, answers });
    Some(end)
}

/// A member that is not known; one whose name has escapes might be.
fn skip(text: &[u8], name: &[u8], start: usize, open: &mut Vec<u8>) -> Option<usize> {
    if name.contains(&b'\\') { None } else { Some(value(text, start, open)?.at) }
}

/// Sets what was not set before.
fn once<T>(slot: &mut Option<T>, value: T) -> Option<&mut T> {
    slot.is_none().then(|| slot.insert(value))
}

fn plain_string(text: &[u8], start: usize, slot: &mut Option<Place>) -> Option<usize> {
    let end = string(text, start)?;
    if memchr::memchr(b'\\', &text[start..end]).is_some() {
        return None;
    }
    once(slot, Place::new(start + 1, end - 1)?)?;
    Some(end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;
    use crate::{Literals, Objects, PageRef};

    /// What the parser finds, if it and the rule of answers accept the page.
    fn parsed(page: &str) -> Option<PageRef<'_>> {
        let mut reader = serde_json::Deserializer::from_str(page);
        let page = PageRef::deserialize(Objects(&mut reader)).ok()?;
        reader.end().ok()?;
        page.data.iter().all(|row| row.data.get().starts_with('{')).then_some(page)
    }

    /// Whether both find the same, or both nothing.
    fn agree(page: &str) -> bool {
        let (found, parsed) = (PagePlaces::of(page), parsed(page));
        let (Some(found), Some(parsed)) = (&found, &parsed) else {
            return found.is_none() && parsed.is_none();
        };
        assert_eq!(found.pagination, parsed.pagination);
        assert_eq!(found.rows.len(), parsed.data.len());
        for (row, parsed) in found.rows.iter().zip(&parsed.data) {
            let object: crate::SubmissionRef<'_> =
                serde_json::from_str(row.object.within(page)).unwrap();
            assert_eq!(object.id, parsed.id);
            assert_eq!(row.id.within(page), parsed.id);
            assert_eq!(row.created_at.within(page), parsed.created_at);
            assert_eq!(row.data.within(page), parsed.data.get());
            let answers = Literals::new(page, &found.answers[row.answers.clone()]);
            let alone = AnswerPlace::of(parsed.data.get()).unwrap();
            let alone = Literals::new(parsed.data.get(), &alone);
            assert!(answers.iter().eq(alone.iter()));
        }
        true
    }

    const ROW: &str = r#"{"id":"sub_1","data":{"a":[1,{"b":"}"}],"a":null},"created_at":"t"}"#;

    #[test]
    fn pages_as_services_write_them_are_found() {
        for page in [
            String::from(r#"{"data":[],"pagination":{"next_cursor":null,"has_more":false}}"#),
            format!(r#"{{"data":[{ROW},{ROW}],"pagination":{{"has_more":true}}}}"#),
            format!(
                " {{ \"new\" : [ 1 ] , \"pagination\" : {{ \"has_more\" : false }} ,\n\"data\" : [ {ROW} ] }} "
            ),
            r#"{"data":[{"x":{"id":1},"created_at":"t","data":{},"id":"é"}],"pagination":{"has_more":true,"y":[]}}"#.into(),
        ] {
            assert!(PagePlaces::of(&page).is_some(), "{page}");
            assert!(agree(&page), "{page}");
        }
    }

    #[test]
    fn pages_only_a_parser_can_judge_are_left_to_it() {
        for row in [
            r#"{"id":"sub\u005f1","data":{},"created_at":"t"}"#,
            r#"{"\u0069d":"sub_1","data":{},"created_at":"t"}"#,
            r#"{"id":"sub_1","data":{},"created_at":"t","id":"sub_2"}"#,
        ] {
            let page = format!(r#"{{"data":[{row}],"pagination":{{"has_more":true}}}}"#);
            assert!(PagePlaces::of(&page).is_none(), "{page}");
        }
    }

    #[test]
    fn an_array_is_no_page_no_row_and_no_pagination() {
        let row = r#"["sub_1",{},"t"]"#;
        for page in [
            r#"{"data":[],"pagination":["c",true]}"#.to_owned(),
            format!(r#"{{"data":[{row}],"pagination":{{"has_more":true}}}}"#),
            r#"[[],{"has_more":true}]"#.to_owned(),
        ] {
            assert!(PagePlaces::of(&page).is_none() && agree(&page), "{page}");
        }
    }

    /// A part of a page, or what could stand there by mistake.
    fn part() -> impl Strategy<Value = String> {
        let ids = "\"id\":(\"sub_1\"|\"\"|1|null)";
        let data = "\"data\":(\\{\\}|\\{\"a\":1\\}|\\{\"a\":\"\\\\n\",\"b\":\\[\\]\\}|\\[\\]|null|\\{\"a\"\\})";
        let times = "\"created_at\":(\"t\"|0)";
        let rest = "\"[xy]\":(\\{\"id\":[1-9]\\}|\\[true, false\\])";
        prop_oneof![ids, data, times, rest]
    }

    fn page() -> impl Strategy<Value = String> {
        let row = prop_oneof![
            4 => Just(ROW.to_owned()),
            1 => prop::collection::vec(part(), 0..5).prop_map(|parts| format!("{{{}}}", parts.join(","))),
            1 => "1|\\[\\]|\"\"|",
        ];
        let pagination = prop_oneof![
            4 => Just("\"pagination\":{\"next_cursor\":\"c\",\"has_more\":true}".to_owned()),
            1 => "\"pagination\":(\\{\"has_more\":(0|true)\\}|\\{\"next_cursor\":1\\}|\\[null,true\\]|null)",
        ];
        (prop::collection::vec(row, 0..4), pagination).prop_map(|(rows, pagination)| {
            format!("{{\"data\":[{}],{pagination}}}", rows.join(" ,"))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        fn it_finds_what_the_parser_finds(page in page()) {
            prop_assert!(agree(&page), "{}", page);
        }

        #[test]
        fn a_page_that_was_damaged_is_not_taken_for_another(
            page in page(), at in any::<prop::sample::Index>(), with in "[\\[\\]{}\",:\\\\ a1\n]?",
        ) {
            let mut page = page;
            let at = at.index(page.len());
            page.replace_range(at..=at, &with);
            // What it finds, the parser finds too; what it leaves to the parser may still be a page.
            prop_assert!(PagePlaces::of(&page).is_none() || agree(&page), "{}", page);
        }

        #[test]
        fn a_page_cut_short_is_no_page(page in page(), at in any::<prop::sample::Index>()) {
            prop_assert!(PagePlaces::of(&page[..at.index(page.len())]).is_none());
        }
    }
}
