//! A page: its rows are those that a plain reading by serde_json finds, or both refuse it.

#![no_main]

use std::collections::HashSet;

use bytes::Bytes;
use formsvc_client::{Cursor, ErrorKind, SubmissionPage};
use formsvc_fuzz::{Service, block_on, is_id, nanos};
use libfuzzer_sys::fuzz_target;
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
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
        nanos(&self.created_at).expect("it was checked").div_euclid(1_000)
    }

    fn is_good(&self) -> bool {
        is_id(&self.id) && nanos(&self.created_at).is_some() && self.data.get().starts_with('{')
    }
}

fn plain(body: &[u8]) -> Option<Page> {
    let page: Page = serde_json::from_slice(body).ok()?;
    std::str::from_utf8(body).ok()?;
    page.data.iter().all(Row::is_good).then_some(page)
}

/// The rows of which each is new and none newer than the one before; `None` when one is.
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
    for (row, plain) in found.rows().zip(rows) {
        assert_eq!(row.id(), plain.id);
        assert_eq!(row.created_at(), plain.created_at);
        assert_eq!(i128::from(row.unix_micros()), plain.micros());
        assert_eq!(row.data(), plain.data.get());
        let submission = row.to_submission();
        let fields = submission.data.fields();
        let answers = row.answers();
        assert_eq!(answers.iter().len(), fields.len());
        for ((label, value), (text, raw)) in answers.iter().zip(fields) {
            assert_eq!(formsvc_protocol::decode_string(label), text);
            assert_eq!(value.text, raw.get());
            let inner = value.text.trim_matches('"');
            assert!(!value.plain || !inner.contains(['\\', ',']), "{inner} is plain");
        }
    }
}

fuzz_target!(|body: &[u8]| {
    let answer = Bytes::copy_from_slice(body);
    let service = Service::new(move |_| Some(answer.clone()));
    let list = service.client().form("frm_1".parse().expect("an id")).submissions();
    let found = block_on(list.page());
    assert_eq!(service.asked(), [None]);
    let Some(Page { data, pagination }) = plain(body) else {
        let error = found.expect_err("a plain reading refuses it");
        assert_eq!(error.kind(), ErrorKind::Decode);
        assert!(!error.to_string().chars().any(char::is_control), "{error}");
        return;
    };
    match in_order(data) {
        Some(rows) => {
            let found = found.expect("a plain reading takes it");
            assert_eq!(found.text().as_bytes(), body);
            same(&found, &rows, &pagination);
        }
        None => assert_eq!(found.expect_err("not in order").kind(), ErrorKind::OutOfOrder),
    }
});
