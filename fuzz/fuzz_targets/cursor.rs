//! A cursor: the service parses the same time as chrono, and the client sends the cursor back unchanged.

#![no_main]

use bytes::Bytes;
use formsvc_client::{Cursor, ErrorKind};
use formsvc_fuzz::{Service, block_on, nanos};
use formsvc_protocol::FormInstant;
use libfuzzer_sys::fuzz_target;

fn page(next: Option<&str>) -> Bytes {
    let row =
        |id| serde_json::json!({"id": id, "data": {}, "created_at": "2026-01-31T09:30:00.120Z"});
    let id = if next.is_some() { "sub_2" } else { "sub_1" };
    let pagination = serde_json::json!({"next_cursor": next, "has_more": next.is_some()});
    serde_json::json!({"data": [row(id)], "pagination": pagination}).to_string().into()
}

fn reads_as_an_instant(text: &str) {
    let found = FormInstant::parse_cursor(text);
    let plain = nanos(text).map(|nanos| -((-nanos).div_euclid(1_000)));
    assert_eq!(found.as_ref().ok().map(|instant| i128::from(instant.micros())), plain);
    if let Ok(instant) = found {
        let printed = instant.to_cursor();
        let instant = instant.clamp(FormInstant::MIN, FormInstant::MAX);
        assert_eq!(FormInstant::parse_cursor(printed.as_str()), Ok(instant));
    }
}

fn goes_back_as_it_came(text: &str) {
    let next = text.to_owned();
    let service = Service::new(move |cursor| Some(page(cursor.is_none().then_some(&next))));
    let form = service.client().form("frm_1");
    let mut pages = form.submissions().pages();
    let (first, second) = block_on(async {
        let first =
            pages.try_next().await.expect("the page is valid").expect("the list has a page");
        let token = pages.resume_token();
        if !text.is_empty() {
            assert_eq!(token.cursor().map(Cursor::as_str), Some(text));
        }
        (first, pages.try_next().await)
    });
    assert!(first.has_more());
    if text.is_empty() {
        assert!(first.next_cursor().is_none());
        assert_eq!(
            second.expect_err("an empty cursor ends the list").kind(),
            ErrorKind::Pagination
        );
        return;
    }
    assert_eq!(first.next_cursor().map(Cursor::as_str), Some(text));
    let asked = service.asked();
    // If the cursor is the time of the row, the client may replace it by a later one.
    let is_time = FormInstant::parse_cursor(text).is_ok();
    if !is_time {
        assert_eq!(
            second.expect("the page is valid").expect("the list has a second page").len(),
            1
        );
        assert_eq!(asked, [None, Some(text.to_owned())]);
    }
    assert!(asked.len() >= 2);
}

fuzz_target!(|text: &str| {
    reads_as_an_instant(text);
    goes_back_as_it_came(text);
});
