//! Any list of the API, page by page, as JSON texts.

use bytes::Bytes;
use formsvc_protocol::{Cursor, Pagination, Timestamp};
use serde::Deserialize;

use super::page::walk_rows;
use super::report::walk_error;
use super::walk::{CIRCLE, NO_CURSOR, NextStep, PagingError, PagingWarning, Walk};
use crate::completeness::{Completeness, TieOverflow};
use crate::decode::{Broken, RawList, json};
use crate::error::Error;
use crate::row_key::RowKey;
use crate::{Client, ResponseMeta};

/// The pages of a list of the API, as the JSON texts of its items: for lists that have no call of their own,
/// and for exact copies. Created by [`Client::raw_pages`].
///
/// Submissions are read by the rules of [`SubmissionPages`](super::SubmissionPages), so none is lost because it
/// shares its time with others. Any other list is read by the cursors of the service; a repeated cursor is an error.
/// A list without `pagination` has one page.
///
/// ```no_run
/// # async fn example(client: formsvc_client::Client) -> Result<(), formsvc_client::Error> {
/// let mut pages = client.raw_pages("/api/v1/forms/frm_1/submissions", &[("limit", "100")]);
/// while let Some(items) = pages.try_next().await? {
///     items.iter().for_each(|json| println!("{json}"));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "lists do nothing unless they are read"]
pub struct RawPages {
    client: Client,
    path: String,
    query: Vec<(String, String)>,
    /// `None` once the first page shows that the items are not like submissions.
    walk: Option<Box<Walk>>,
    /// The cursors of such a list so far.
    cursors: Vec<Cursor>,
    is_first: bool,
    /// The cursor that continues after the pages that were returned.
    next_cursor: Option<Cursor>,
    error: Option<Error>,
    done: bool,
    is_finished: bool,
}

/// A page. A list without pages has no pagination.
struct Page {
    items: Vec<Item>,
    pagination: Option<Pagination>,
}

struct Item {
    json: String,
    key: RowKey,
    /// In microseconds since 1970; `None` if the item is not like a submission.
    time: Option<i64>,
}

impl Client {
    /// Returns the pages of a list at this path, with these parameters: see [`RawPages`]. The rules of the
    /// path are those of [`get_raw`](Self::get_raw). Sends nothing.
    pub fn raw_pages(&self, path: &str, query: &[(&str, &str)]) -> RawPages {
        let query: Vec<_> =
            query.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let start = find(&query, "cursor").map(Cursor::new);
        RawPages {
            client: self.clone(),
            path: path.to_owned(),
            query,
            next_cursor: start.clone(),
            walk: Some(Box::new(Walk::new(start))),
            cursors: Vec::new(),
            is_first: true,
            error: None,
            done: false,
            is_finished: false,
        }
    }
}

impl RawPages {
    /// Continues where submissions that share a time may be missing, instead of ending with an error.
    pub fn allow_incomplete(mut self, allow: bool) -> Self {
        if let Some(walk) = &mut self.walk {
            walk.set_allow_incomplete(allow);
        }
        self
    }

    /// Returns the items of the next page, without those that an earlier page had; `None` at the end. Cancel
    /// safe: a dropped call loses nothing.
    pub async fn try_next(&mut self) -> Result<Option<Vec<String>>, Error> {
        loop {
            if let Some(error) = self.error.take() {
                self.done = true;
                return Err(error);
            }
            if self.done {
                return Ok(None);
            }
            match self.request().await {
                Ok((page, meta)) => {
                    let items = self.accept(page, &meta);
                    self.next_cursor = self.cursor().cloned();
                    if items.is_some() {
                        return Ok(items);
                    }
                }
                Err(error) => match self.walk.as_mut().and_then(|walk| walk.refused(&error)) {
                    Some(outcome) => self.report(outcome.warning),
                    None => self.error = Some(error),
                },
            }
        }
    }

    /// Returns the cursor of the next request, which continues the list after the pages so far. After an
    /// error, this is the request that failed.
    pub fn next_cursor(&self) -> Option<&str> {
        self.next_cursor.as_ref().map(Cursor::as_str)
    }

    /// Returns true when the list has ended with its last page. False before, and for ever after an error.
    pub fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Returns whether a submission can be missing in the pages so far. Other lists are as complete as their
    /// cursors.
    pub fn completeness_so_far(&self) -> Completeness {
        self.walk.as_ref().map_or(Completeness::Proven, |walk| walk.completeness())
    }

    /// Returns the seconds or milliseconds of which submissions may be missing, newest first; empty unless
    /// [`allow_incomplete`](Self::allow_incomplete) is set.
    pub fn tie_overflows(&self) -> &[TieOverflow] {
        self.walk.as_ref().map_or(&[], |walk| walk.tie_overflows())
    }

    /// Returns the cursor of the next request.
    fn cursor(&self) -> Option<&Cursor> {
        match &self.walk {
            Some(walk) => walk.cursor(),
            None => self.cursors.last(),
        }
    }

    async fn request(&self) -> Result<(Page, ResponseMeta), Error> {
        let mut query = self.query.clone();
        let mut set = |name: &str, value: String| {
            query.retain(|(known, _)| known != name);
            query.push((name.to_owned(), value));
        };
        if let Some(cursor) = self.cursor() {
            set("cursor", cursor.as_str().to_owned());
        }
        let size = find(&self.query, "limit").and_then(|size| size.parse().ok());
        if let (Some(walk), Some(size)) = (&self.walk, size) {
            set("limit", walk.rows_to_request(size).to_string());
        }
        let query: Vec<_> = query.iter().map(|(name, value)| (&**name, &**value)).collect();
        self.client.call_raw(&self.path, &query, Page::parse).await
    }

    /// Returns the new items of a page; `None` if it is requested again. If a listener panics, the list has
    /// ended before this page.
    fn accept(&mut self, page: Page, meta: &ResponseMeta) -> Option<Vec<String>> {
        self.done = true;
        let Page { items, pagination } = page;
        if std::mem::take(&mut self.is_first) {
            let is_like_submissions =
                items.is_empty() || items.iter().any(|item| item.time.is_some());
            self.walk.take_if(|_| pagination.is_none() || !is_like_submissions);
        }
        // A list ends with its last page that has a pagination.
        let pagination = pagination.unwrap_or(Pagination { next_cursor: None, has_more: false });
        let (items, next) = if let Some(walk) = &mut self.walk {
            let rows = items.iter().map(|item| (item.key, item.time));
            let rows = walk_rows(rows, walk.position().oldest);
            let outcome = walk.accept_rows(&rows, &pagination);
            self.report(outcome.warning);
            let is_new = |(at, item): (usize, Item)| {
                outcome.new_rows.binary_search(&at).is_ok().then_some(item.json)
            };
            (items.into_iter().enumerate().filter_map(is_new).collect(), outcome.next)
        } else {
            let next = next_of_other(&mut self.cursors, pagination);
            (items.into_iter().map(|item| item.json).collect(), next)
        };
        self.is_finished = next == NextStep::Finished;
        self.done = self.is_finished;
        if let NextStep::Failed(error) = next {
            self.error = Some(walk_error(error, meta));
        }
        (next != NextStep::Retry).then_some(items)
    }

    fn report(&self, warning: Option<PagingWarning>) {
        if let Some(warning) = warning {
            self.client.shared.emit(&warning.into_event(None));
        }
    }
}

/// Takes the next cursor of a list that is not of submissions.
fn next_of_other(cursors: &mut Vec<Cursor>, pagination: Pagination) -> NextStep {
    match pagination.next_cursor {
        _ if !pagination.has_more => NextStep::Finished,
        None => NextStep::Failed(PagingError::Stuck(NO_CURSOR)),
        Some(next) if cursors.contains(&next) => NextStep::Failed(PagingError::Stuck(CIRCLE)),
        Some(next) => {
            cursors.push(next);
            NextStep::Continue
        }
    }
}

impl Page {
    fn parse(body: &Bytes) -> Result<Self, Broken> {
        let RawList { data, pagination } = json(body)?;
        let items = data.into_iter().map(|item| Item::parse(item.get())).collect();
        Ok(Self { items, pagination })
    }
}

impl Item {
    fn parse(json: &str) -> Self {
        #[derive(Deserialize)]
        struct Row {
            id: String,
            created_at: Timestamp,
        }

        let (key, time) = match serde_json::from_str::<Row>(json) {
            Ok(row) => (RowKey::of_id(&row.id), Some(row.created_at.unix_micros())),
            Err(_) => (RowKey::of_item(json), None),
        };
        Self { json: json.to_owned(), key, time }
    }
}

/// Returns the last value of a parameter.
fn find<'q>(query: &'q [(String, String)], name: &str) -> Option<&'q str> {
    query.iter().rfind(|(known, _)| known == name).map(|(_, value)| value.as_str())
}
