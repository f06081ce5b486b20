//! Judges whether answers fulfil a statement. Pure: exchanges in, a judgement out.
//!
//! A judge that needs a well-formed answer skips a malformed one if another check fails because of it.

use std::collections::HashSet;
use std::time::Duration;

use formsvc_protocol::Timestamp;
use formsvc_protocol::limits::{FORMS_LISTED_MAX, PAGE_SIZE_MAX, RATE_LIMIT};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use serde_json::{Map, Value};

use super::probe::Exchange;
use super::session::{CURSOR_MAX, OTHER_LIMIT, PAGES_MAX};
use crate::judgement::{Judgement, Problem, fail, is_wire_time, require, skip};

/// Size of a page, in bytes, that a service may limit instead of the number of rows.
const LARGE_PAGE: usize = 1 << 20;

/// A page of submissions.
pub(super) struct Page<'a> {
    pub(super) rows: &'a [Value],
    pub(super) has_more: Option<bool>,
    pub(super) next_cursor: Option<&'a str>,
}

impl<'a> Page<'a> {
    /// Returns the defect as an error if the answer is not 200 with `data` and `pagination`.
    pub(super) fn of(exchange: &'a Exchange) -> Result<Self, String> {
        let rows = data(exchange)?;
        let pagination = object(exchange)?.get("pagination").and_then(Value::as_object);
        let pagination = pagination.ok_or("`pagination` is not an object")?;
        let has_more = pagination.get("has_more").and_then(Value::as_bool);
        let next_cursor = pagination.get("next_cursor").and_then(Value::as_str);
        Ok(Self { rows, has_more, next_cursor })
    }

    fn ids(&self) -> Vec<&'a str> {
        let ids = self.rows.iter();
        ids.map(|row| row.get("id").and_then(Value::as_str).unwrap_or_default()).collect()
    }
}

fn object(exchange: &Exchange) -> Result<&Map<String, Value>, String> {
    match exchange.json.as_deref() {
        Some(Value::Object(object)) if exchange.status() == Some(200) => Ok(object),
        _ => Err(unexpected(exchange, "200 with a JSON object")),
    }
}

fn unexpected(exchange: &Exchange, wanted: &str) -> String {
    match &exchange.outcome {
        Ok(_) => format!("{}, not {wanted}", exchange.describe()),
        Err(error) => error.to_string(),
    }
}

fn data(exchange: &Exchange) -> Result<&[Value], String> {
    let data = object(exchange)?.get("data").and_then(Value::as_array);
    data.map(Vec::as_slice).ok_or_else(|| "`data` is not an array".to_owned())
}

/// Skips every answer but a page: `submissions` fails because of it.
fn page(exchange: &Exchange) -> Result<Page<'_>, Problem> {
    Page::of(exchange).map_err(skip)
}

fn pages(exchanges: &[Exchange]) -> Result<Vec<Page<'_>>, Problem> {
    exchanges.iter().map(page).collect()
}

/// Fails for every answer but 200, for parameters that no other check sends.
fn answered_pages(exchanges: &[Exchange]) -> Result<Vec<Page<'_>>, Problem> {
    let refused = exchanges.iter().position(|exchange| exchange.status() != Some(200));
    match refused {
        Some(at) => Err(Problem::Fail(at, unexpected(&exchanges[at], "200"))),
        None => pages(exchanges),
    }
}

pub(super) fn json_object(exchanges: &[Exchange]) -> Judgement {
    object(&exchanges[0]).map(drop).map_err(fail)
}

pub(super) fn list(exchanges: &[Exchange]) -> Judgement {
    data(&exchanges[0]).map(drop).map_err(fail)
}

/// The first page is well-formed, and so is every other page that is answered 200.
pub(super) fn page_shape(exchanges: &[Exchange]) -> Judgement {
    let is_judged = |at: usize, one: &Exchange| at == 0 || one.status() == Some(200);
    let mut judged = exchanges.iter().enumerate().filter(|(at, one)| is_judged(*at, one));
    judged.try_for_each(|(at, exchange)| {
        Page::of(exchange).map(drop).map_err(|found| Problem::Fail(at, found))
    })
}

/// Every answer with a JSON body has its media type.
pub(super) fn media_type(exchanges: &[Exchange]) -> Judgement {
    for (at, exchange) in exchanges.iter().enumerate() {
        let found = exchange.header(&CONTENT_TYPE).unwrap_or_default();
        let essence = found.split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case("application/json") {
            return Err(Problem::Fail(at, format!("the Content-Type is `{found}`")));
        }
    }
    Ok(())
}

pub(super) fn user_fields(exchanges: &[Exchange]) -> Judgement {
    let user = exchanges[0].json.as_deref().unwrap_or(&Value::Null);
    strings(user, &["id", "email", "name"]).map_err(fail)
}

pub(super) fn form_fields(exchanges: &[Exchange]) -> Judgement {
    let names = ["id", "public_id", "title", "status", "created_at", "updated_at", "url"];
    each(data(&exchanges[0]).map_err(skip)?, |form| strings(form, &names))
}

pub(super) fn form_times(exchanges: &[Exchange]) -> Judgement {
    let forms = data(&exchanges[0]).map_err(skip)?;
    each(forms, |form| is_time(form, "created_at").and_then(|()| is_time(form, "updated_at")))
}

pub(super) fn form_url(exchanges: &[Exchange]) -> Judgement {
    each(data(&exchanges[0]).map_err(skip)?, |form| {
        let (url, public_id) = (text(form, "url")?, text(form, "public_id")?);
        let wanted = format!("/f/{public_id}");
        if url == wanted { Ok(()) } else { Err(format!("`url` is `{url}`, not `{wanted}`")) }
    })
}

pub(super) fn forms_count(exchanges: &[Exchange]) -> Judgement {
    let count = data(&exchanges[0]).map_err(skip)?.len();
    require(count <= FORMS_LISTED_MAX, || format!("the list has {count} forms"))
}

pub(super) fn forms_order(exchanges: &[Exchange]) -> Judgement {
    newest_first(data(&exchanges[0]).map_err(skip)?.iter())
}

pub(super) fn row_fields(exchanges: &[Exchange]) -> Judgement {
    each(page(&exchanges[0])?.rows, |row| {
        strings(row, &["id", "created_at"])?;
        let is_object = row.get("data").is_some_and(Value::is_object);
        if is_object { Ok(()) } else { Err("`data` is not an object".to_owned()) }
    })
}

pub(super) fn row_times(exchanges: &[Exchange]) -> Judgement {
    each(page(&exchanges[0])?.rows, |row| is_time(row, "created_at"))
}

/// Newest first on each page and from page to page.
pub(super) fn rows_order(exchanges: &[Exchange]) -> Judgement {
    newest_first(pages(exchanges)?.iter().flat_map(|page| page.rows))
}

pub(super) fn pagination_fields(exchanges: &[Exchange]) -> Judgement {
    for (at, page) in pages(exchanges)?.iter().enumerate() {
        if page.has_more.is_none() {
            return Err(Problem::Fail(at, "`has_more` is not a boolean".to_owned()));
        }
        if page.has_more == Some(true) && page.next_cursor.is_none() {
            let found = "`has_more` is true, but `next_cursor` is not a string";
            return Err(Problem::Fail(at, found.to_owned()));
        }
    }
    Ok(())
}

pub(super) fn cursor_is_time(exchanges: &[Exchange]) -> Judgement {
    let page = page(&exchanges[0])?;
    let cursor = page.next_cursor.ok_or_else(|| skip("the page has no `next_cursor`"))?;
    let is_time = cursor.parse::<Timestamp>().is_ok();
    require(is_time, || format!("`next_cursor` is `{cursor}`"))
}

/// A page that is not the last has exactly `limit` rows, and the last has at most as many.
pub(super) fn exact_limit(exchanges: &[Exchange], limit: usize) -> Judgement {
    let page = &answered_pages(&exchanges[..1])?[0];
    let count = page.rows.len();
    let fits = if page.has_more == Some(true) { count == limit } else { count <= limit };
    if count < limit && exchanges[0].size > LARGE_PAGE {
        return Err(skip("a page of large submissions may end early"));
    }
    require(fits, || format!("the page has {count} submissions, not {limit}"))
}

/// Refused or capped.
pub(super) fn limit_over_max(exchanges: &[Exchange]) -> Judgement {
    if exchanges[0].status() == Some(400) {
        return Ok(());
    }
    let count = answered_pages(exchanges)?[0].rows.len();
    require(count <= PAGE_SIZE_MAX as usize, || format!("the page has {count} submissions"))
}

/// The newest four rows, then the same rows on two pages of two.
pub(super) fn pages_continue(exchanges: &[Exchange]) -> Judgement {
    let ids: Vec<Vec<&str>> = answered_pages(exchanges)?.iter().map(Page::ids).collect();
    at_most(&ids, |at| if at == 0 { 4 } else { 2 })?;
    let [four, first, second] = &ids[..] else {
        return Err(skip("the first page of two has no `next_cursor`, or `has_more` is false"));
    };
    if first.len() != 2 || first[..] != four[..2] {
        return Err(skip("submissions arrived or were deleted during the check"));
    }
    require(second[..] == four[2..4], || {
        format!("the second page has {second:?}, not {:?}", &four[2..4])
    })
    .map_err(|problem| problem.at(2))
}

/// The newest four rows, then the first page of two: more rows follow it.
pub(super) fn more_rows_follow(exchanges: &[Exchange]) -> Judgement {
    let pages = pages(exchanges)?;
    if pages[1].has_more == Some(false) {
        let found = "`has_more` is false on a page that older submissions follow";
        return Err(Problem::Fail(1, found.to_owned()));
    }
    Ok(())
}

fn at_most(pages: &[Vec<&str>], limit: impl Fn(usize) -> usize) -> Judgement {
    let too_long = pages.iter().enumerate().find(|(at, page)| page.len() > limit(*at));
    too_long.map_or(Ok(()), |(at, page)| {
        let found = format!("the page has {} submissions, not {}", page.len(), limit(at));
        Err(Problem::Fail(at, found))
    })
}

/// All pages, and all pages with another limit: both show the same submissions, and each once.
pub(super) fn pages_agree(exchanges: &[Exchange]) -> Judgement {
    let pages = pages(exchanges)?;
    let end = pages.iter().position(|page| page.has_more == Some(false));
    let end = end.ok_or_else(|| skip("the end of the list was not read"))? + 1;
    let ids: Vec<Vec<&str>> = pages.iter().map(Page::ids).collect();
    at_most(&ids, |at| if at < end { PAGE_SIZE_MAX as usize } else { OTHER_LIMIT })?;
    let (first, second) = (ids[..end].concat(), ids[end..].concat());
    for (list, at) in [(&first, end - 1), (&second, ids.len() - 1)] {
        let mut seen = HashSet::new();
        if let Some(id) = list.iter().find(|id| !seen.insert(**id)) {
            return Err(Problem::Fail(at, format!("the list has `{id}` twice")));
        }
    }
    if second.is_empty() {
        return Ok(());
    }
    let lost = |list: &[&str], other: &[&str]| {
        let known: HashSet<&str> = other.iter().copied().collect();
        list.iter().find(|id| !known.contains(*id)).map(|id| (*id).to_owned())
    };
    // Those before the newest one of the first walk arrived during the check.
    let newest = second.iter().position(|id| first.first() == Some(id)).unwrap_or_default();
    let lost = lost(&first, &second).or_else(|| lost(&second[newest..], &first));
    lost.map_or(Ok(()), |id| {
        let found = format!("`{id}` is in the list with one `limit`, but not with another");
        Err(Problem::Fail(ids.len() - 1, found))
    })
}

/// All pages: no cursor repeats, and the last page has `has_more: false`.
pub(super) fn list_ends(exchanges: &[Exchange]) -> Judgement {
    if exchanges[0].status() == Some(400) {
        return Err(skip("`limit=100` is refused"));
    }
    let pages = answered_pages(exchanges)?;
    let repeats = pages.windows(2).position(|two| two[0].next_cursor == two[1].next_cursor);
    if let Some(at) = repeats.filter(|at| pages[*at].has_more == Some(true)) {
        return Err(Problem::Fail(at + 1, "`next_cursor` is that of the page before".to_owned()));
    }
    let last = &pages[pages.len() - 1];
    match last.has_more {
        Some(false) => Ok(()),
        _ if last.next_cursor.is_some_and(|cursor| cursor.len() > CURSOR_MAX) => {
            let found = format!("`next_cursor` is longer than {CURSOR_MAX} bytes");
            Err(Problem::Fail(pages.len() - 1, found))
        }
        _ if exchanges.len() < PAGES_MAX => {
            Err(skip("the list is too large, or too slow, to read all pages"))
        }
        _ => Err(skip(format!("the list has more than {} pages", pages.len()))),
    }
}

/// The status and code of an error answer.
pub(super) fn error(exchange: &Exchange, status: u16, code: &str) -> Judgement {
    let is = exchange.status() == Some(status) && exchange.code() == Some(code);
    require(is, || unexpected(exchange, &format!("{status} `{code}`")))
}

/// Every error answer has the error shape.
pub(super) fn error_shape(exchanges: &[Exchange]) -> Judgement {
    let errors = exchanges.iter().enumerate();
    for (at, exchange) in errors.filter(|(_, exchange)| exchange.status() != Some(200)) {
        let json = exchange.json.as_deref().unwrap_or(&Value::Null);
        let error = json.get("error").unwrap_or(&Value::Null);
        strings(error, &["code", "message"])
            .map_err(|found| Problem::Fail(at, format!("{}: {found}", exchange.describe())))?;
    }
    Ok(())
}

/// Malformed parameters: which of them are refused is open, the code of a 400 is not.
pub(super) fn bad_request(exchanges: &[Exchange]) -> Judgement {
    let broken = exchanges.iter().position(|one| one.status().is_none_or(|status| status >= 500));
    if let Some(at) = broken {
        return Err(Problem::Fail(at, unexpected(&exchanges[at], "400 `bad_request`")));
    }
    let mut refused = exchanges.iter().enumerate().filter(|(_, one)| one.status() == Some(400));
    if let Some((at, one)) = refused.clone().find(|(_, one)| one.code() != Some("bad_request")) {
        return Err(Problem::Fail(at, format!("{}, not 400 `bad_request`", one.describe())));
    }
    match refused.next() {
        Some(_) => Ok(()),
        None => Err(skip("no malformed parameter was refused with 400")),
    }
}

pub(super) fn rate_limited(exchanges: &[Exchange]) -> Judgement {
    error(last(exchanges), 429, "rate_limited").map_err(|problem| problem.at(exchanges.len() - 1))
}

/// The limit refuses no request of the first 300 in a minute.
pub(super) fn full_quota(exchanges: &[Exchange]) -> Judgement {
    let recent = refused(exchanges)?.recent;
    require(recent >= RATE_LIMIT as usize, || {
        format!("refused after {recent} requests in a minute (those of other clients count)")
    })
    .map_err(|problem| problem.at(exchanges.len() - 1))
}

pub(super) fn retry_after_seconds(exchanges: &[Exchange]) -> Judgement {
    let value = refused(exchanges)?.header(&RETRY_AFTER);
    let is_seconds = value.and_then(whole_seconds).is_some_and(|wait| !wait.is_zero());
    let value = value.unwrap_or("missing");
    require(is_seconds, || format!("`Retry-After` is {value}, not whole seconds from 1 up"))
        .map_err(|problem| problem.at(exchanges.len() - 1))
}

/// Parses the digits of `Retry-After`.
pub(super) fn whole_seconds(value: &str) -> Option<Duration> {
    let is_digits = value.bytes().all(|byte| byte.is_ascii_digit());
    value.parse::<u32>().ok().filter(|_| is_digits).map(|wait| Duration::from_secs(wait.into()))
}

pub(super) fn admitted_after_wait(exchanges: &[Exchange]) -> Judgement {
    let exchange = last(exchanges);
    require(exchange.status() == Some(200), || {
        format!("{} after the time in `Retry-After`", exchange.describe())
    })
}

fn refused(exchanges: &[Exchange]) -> Result<&Exchange, Problem> {
    let refused = Some(last(exchanges)).filter(|exchange| exchange.is_refused_by_rate_limit());
    refused.ok_or_else(|| skip("the rate limit refused no request"))
}

fn last(exchanges: &[Exchange]) -> &Exchange {
    &exchanges[exchanges.len() - 1]
}

/// Tests each element of a list.
fn each(items: &[Value], test: impl Fn(&Value) -> Result<(), String>) -> Judgement {
    if items.is_empty() {
        return Err(skip("the list is empty"));
    }
    let numbered = items.iter().enumerate();
    let mut tested = numbered.map(|(at, item)| test(item).map_err(|found| (at, found)));
    let result = tested.find_map(Result::err);
    result.map_or(Ok(()), |(at, found)| Err(fail(format!("element {at}: {found}"))))
}

fn strings(object: &Value, names: &[&str]) -> Result<(), String> {
    names.iter().try_for_each(|name| text(object, name).map(drop))
}

fn text<'a>(object: &'a Value, name: &str) -> Result<&'a str, String> {
    let value = object.get(name).ok_or_else(|| format!("`{name}` is missing"))?;
    value.as_str().ok_or_else(|| format!("`{name}` is not a string"))
}

fn is_time(object: &Value, name: &str) -> Result<(), String> {
    let text = text(object, name)?;
    if is_wire_time(text) { Ok(()) } else { Err(format!("`{name}` is `{text}`")) }
}

fn newest_first<'a>(items: impl Iterator<Item = &'a Value>) -> Judgement {
    let time = |item: &Value| item.get("created_at")?.as_str()?.parse::<Timestamp>().ok();
    let times: Option<Vec<Timestamp>> = items.map(time).collect();
    let times = times.ok_or_else(|| skip("an element has no time"))?;
    let wrong = times.windows(2).find(|two| two[0] < two[1]);
    wrong.map_or(Ok(()), |two| Err(fail(format!("{} is before {}", two[0], two[1]))))
}
