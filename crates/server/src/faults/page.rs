//! What faults do to a page of submissions. Pure: what was asked and what was answered go in, what
//! is asked or answered instead comes out.

use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use formsvc_protocol::{Cursor, FormInstant, Pagination, paths};
use http::Uri;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Fraction digits of a cursor that an empty page has handed out. The service never issues so many,
/// and reads them all the same: whoever sends them gets the page.
const AFTER_EMPTY_DIGITS: usize = 9;

/// A request for a page, as far as faults look at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    /// The cursor it sends.
    pub(super) cursor: Option<String>,
    one_row: bool,
}

/// What is wrong with a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) empty: bool,
    pub(super) stuck: bool,
    pub(super) millis: bool,
}

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow)]
    data: &'a RawValue,
    pagination: Pagination,
}

impl Asked {
    /// What a request asks; `None` when it is not for a page.
    pub(super) fn of(uri: &Uri) -> Option<Self> {
        let (before, after) = paths::SUBMISSIONS.around_form_id()?;
        uri.path().strip_prefix(before)?.strip_suffix(after)?;
        let mut asked = Self { cursor: None, one_row: false };
        for (name, value) in form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
            match &*name {
                "cursor" => asked.cursor = Some(value.into_owned()),
                "limit" => asked.one_row = value == "1",
                _ => {}
            }
        }
        Some(asked)
    }

    /// The request for a page that begins with the row the one before ended with; `None` when there
    /// was none before. A page of one row would be the same for ever.
    pub(super) fn with_the_last_row_again(&self, uri: &Uri) -> Option<Uri> {
        let cursor = self.cursor.as_deref().filter(|_| !self.one_row)?;
        let instant = FormInstant::parse_cursor(cursor).ok()?;
        let earlier = instant.plus(Duration::from_micros(1)).to_cursor();
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
            let value = if name == "cursor" { earlier.as_str() } else { &value };
            query.append_pair(&name, value);
        }
        format!("{}?{}", uri.path(), query.finish()).parse().ok()
    }

    /// What is answered instead of a page; `None` when it stays as it is.
    pub(super) fn spoil(&self, body: &[u8], wrong: Wrong) -> Option<Bytes> {
        let page: Page<'_> = serde_json::from_slice(body).ok()?;
        let sent = self.cursor.as_deref();
        if let (true, Some(sent)) = (wrong.empty, sent.and_then(after_an_empty_page)) {
            return Some(print("[]", &more(&sent)));
        }
        let mut pagination = page.pagination.clone();
        if let (true, Some(sent)) = (wrong.stuck, sent) {
            pagination = more(sent);
        } else if wrong.millis {
            pagination.next_cursor = pagination.next_cursor.map(|cursor| cut_to_millis(&cursor));
        }
        (pagination != page.pagination).then(|| print(page.data.get(), &pagination))
    }
}

fn more(cursor: &str) -> Pagination {
    Pagination { next_cursor: Some(Cursor::new(cursor)), has_more: true }
}

fn print(data: &str, pagination: &Pagination) -> Bytes {
    let pagination = serde_json::to_vec(pagination).expect("a cursor and a flag");
    let mut body = BytesMut::with_capacity(data.len() + pagination.len() + 32);
    body.put_slice(br#"{"data":"#);
    body.put_slice(data.as_bytes());
    body.put_slice(br#","pagination":"#);
    body.put_slice(&pagination);
    body.put_u8(b'}');
    body.freeze()
}

/// The same place, spelled as only an empty page spells it; `None` when it was spelled so.
fn after_an_empty_page(cursor: &str) -> Option<String> {
    let fraction = |text: &str| {
        let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
        fraction.bytes().take_while(u8::is_ascii_digit).count()
    };
    if fraction(cursor) == AFTER_EMPTY_DIGITS {
        return None;
    }
    let usual = FormInstant::parse_cursor(cursor).ok()?.to_cursor();
    let (rest, fraction) = usual.as_str().trim_end_matches('Z').split_once('.')?;
    Some(format!("{rest}.{fraction:0<AFTER_EMPTY_DIGITS$}Z"))
}

fn cut_to_millis(cursor: &Cursor) -> Cursor {
    match FormInstant::parse_cursor(cursor.as_str()) {
        Ok(instant) => Cursor::new(instant.to_timestamp().as_str()),
        Err(_) => cursor.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINE: &str = "2026-01-01T00:00:00.120001Z";

    fn asked(query: &str) -> (Uri, Asked) {
        let uri: Uri = format!("/api/v1/forms/frm_1/submissions{query}").parse().unwrap();
        let asked = Asked::of(&uri).unwrap();
        (uri, asked)
    }

    fn page(cursor: &str, has_more: bool) -> String {
        format!(
            r#"{{"data":[{{"n":1.50}}],"pagination":{{"next_cursor":"{cursor}","has_more":{has_more}}}}}"#
        )
    }

    #[test]
    fn only_pages_are_touched() {
        for other in ["/api/v1/me", "/api/v1/forms", "/api/v1/forms/frm_1", "/f/x/submissions"] {
            assert_eq!(Asked::of(&other.parse().unwrap()), None, "{other}");
        }
        let wrong = Wrong { empty: true, stuck: true, millis: true };
        assert_eq!(asked("?cursor=2026-01-01T00:00:00Z").1.spoil(b"{}", wrong), None);
    }

    #[test]
    fn a_cursor_is_cut_and_rows_stay_to_the_byte() {
        let wrong = Wrong { millis: true, ..Wrong::default() };
        let spoilt = asked("").1.spoil(page(FINE, true).as_bytes(), wrong).unwrap();
        assert_eq!(spoilt, page("2026-01-01T00:00:00.120Z", true));
        let whole = page("2026-01-01T00:00:00.120Z", true);
        assert_eq!(asked("").1.spoil(whole.as_bytes(), wrong), None);
    }

    #[test]
    fn a_list_gets_stuck_on_its_second_page() {
        let wrong = Wrong { stuck: true, ..Wrong::default() };
        let next = page("2025-01-01T00:00:00.000Z", false);
        assert_eq!(asked("").1.spoil(next.as_bytes(), wrong), None);
        let spoilt = asked(&format!("?cursor={FINE}")).1.spoil(next.as_bytes(), wrong).unwrap();
        assert_eq!(spoilt, page(FINE, true));
    }

    #[test]
    fn an_empty_page_leads_to_the_page_it_stands_before() {
        let wrong = Wrong { empty: true, ..Wrong::default() };
        let next = page("2025-01-01T00:00:00.000Z", true);
        for cursor in [FINE, "2026-01-01T00:00:00.12Z", "2026-01-01T01:00:00%2B01:00"] {
            let spoilt = asked(&format!("?cursor={cursor}")).1.spoil(next.as_bytes(), wrong);
            let spoilt: serde_json::Value = serde_json::from_slice(&spoilt.unwrap()).unwrap();
            assert_eq!(spoilt["data"], serde_json::json!([]));
            assert_eq!(spoilt["pagination"]["has_more"], true);
            let sent = spoilt["pagination"]["next_cursor"].as_str().unwrap();
            let (_, there) = asked(&format!("?cursor={sent}"));
            let here = asked(&format!("?cursor={cursor}")).1.cursor.unwrap();
            let place = |text: &str| FormInstant::parse_cursor(text).unwrap();
            assert_eq!(place(sent), place(&here), "{cursor}");
            assert_eq!(there.spoil(next.as_bytes(), wrong), None, "{sent}");
        }
        assert_eq!(asked("").1.spoil(next.as_bytes(), wrong), None, "the first page");
    }

    #[test]
    fn the_last_row_comes_again_by_a_cursor_just_after_it() {
        let again = |query: &str| {
            let (uri, asked) = asked(query);
            asked.with_the_last_row_again(&uri).map(|uri| uri.query().unwrap().to_owned())
        };
        assert_eq!(again("?limit=5"), None);
        assert_eq!(again("?limit=1&cursor=2026-01-01T00:00:00Z"), None);
        assert_eq!(again("?cursor=yesterday"), None, "the service refuses it");
        assert_eq!(
            again(&format!("?limit=5&cursor={FINE}&x=%26")).unwrap(),
            "limit=5&cursor=2026-01-01T00%3A00%3A00.120002Z&x=%26"
        );
    }
}
