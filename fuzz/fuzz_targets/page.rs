//! A page of submissions: the client and serde's derived code parse the same rows, or both refuse the page.

#![no_main]

use std::collections::HashSet;

use bytes::Bytes;
use formsvc_client::{Cursor, ErrorKind, SubmissionPage};
use formsvc_fuzz::{Service, block_on, is_id, members, nanos};
use libfuzzer_sys::fuzz_target;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct RawPage {
    data: Vec<Box<RawValue>>,
    pagination: Box<RawValue>,
}

struct Page {
    data: Vec<Row>,
    pagination: Pagination,
}

#[derive(Deserialize)]
struct Row {
    id: String,
    data: Box<RawValue>,
    created_at: String,
}

#[derive(Deserialize)]
struct Pagination {
    #[serde(default)]
    next_cursor: Option<String>,
    has_more: bool,
}

impl Row {
    fn micros(&self) -> i128 {
        nanos(&self.created_at).expect("the time was checked").div_euclid(1_000)
    }

    fn is_good(&self) -> bool {
        is_id(&self.id) && nanos(&self.created_at).is_some() && self.data.get().starts_with('{')
    }
}

/// Parses an object. Serde's derived code alone would also accept an array of the members.
fn object<T: DeserializeOwned>(text: &str) -> Option<T> {
    let text = text.trim_start();
    if text.starts_with('{') { serde_json::from_str(text).ok() } else { None }
}

fn plain(body: &[u8]) -> Option<Page> {
    let text = std::str::from_utf8(body).ok()?;
    let page: RawPage = object(text.strip_prefix('\u{feff}').unwrap_or(text))?;
    let rows = page.data.iter().map(|row| object::<Row>(row.get()));
    let (data, pagination) = (rows.collect::<Option<Vec<_>>>()?, page.pagination);
    let pagination: Pagination = object(pagination.get())?;
    let cursor = pagination.next_cursor.as_ref().map_or(0, String::len);
    let is_good = data.len() <= 100 && cursor <= 1024 && data.iter().all(Row::is_good);
    is_good.then_some(Page { data, pagination })
}

/// Returns the rows without duplicates; `None` if a row is newer than the row before it.
fn in_order(rows: Vec<Row>) -> Option<Vec<Row>> {
    let (mut ids, mut kept) = (HashSet::new(), Vec::<Row>::new());
    for row in rows {
        if ids.contains(&row.id) {
            continue;
        }
        if kept.last().is_some_and(|last| row.micros() > last.micros()) {
            return None;
        }
        ids.insert(row.id.clone());
        kept.push(row);
    }
    Some(kept)
}

fn same(found: &SubmissionPage, rows: &[Row], pagination: &Pagination) {
    assert_eq!(found.has_more(), pagination.has_more);
    let next = pagination.next_cursor.as_deref().filter(|next| !next.is_empty());
    assert_eq!(found.next_cursor().map(Cursor::as_str), next);
    assert_eq!(found.len(), rows.len());
    for (row, plain) in found.iter().zip(rows) {
        assert_eq!(row.id.as_str(), plain.id);
        assert_eq!(row.created_at.as_str(), plain.created_at);
        assert_eq!(i128::from(row.created_at.unix_micros()), plain.micros());
        assert_eq!(row.data.as_json(), plain.data.get());
        // A label with a lone surrogate cannot be a `String`.
        let Some(members) = members(plain.data.get()) else { continue };
        let fields = row.data.fields();
        assert_eq!(fields.len(), members.len());
        for ((label, answer), (name, value)) in fields.into_iter().zip(members) {
            assert_eq!((&*label, answer.as_json()), (&*name, value.get()));
        }
    }
}

fuzz_target!(|body: &[u8]| {
    let answer = Bytes::copy_from_slice(body);
    let service = Service::new(move |_| Some(answer.clone()));
    let list = service.client().form("frm_1").submissions();
    let found = block_on(list.page());
    assert_eq!(service.asked(), [None]);
    let Some(Page { data, pagination }) = plain(body) else {
        let error = found.expect_err("the reference parser refuses the page");
        assert_eq!(error.kind(), ErrorKind::Decode);
        assert!(!error.to_string().chars().any(char::is_control), "{error}");
        return;
    };
    match in_order(data) {
        Some(rows) => {
            let found = found.expect("the reference parser accepts the page");
            same(&found, &rows, &pagination);
        }
        None => {
            assert_eq!(found.expect_err("the rows are out of order").kind(), ErrorKind::Pagination)
        }
    }
});
