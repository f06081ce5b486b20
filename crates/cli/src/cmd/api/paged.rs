//! `--paginate`: every item of a list, exactly as it came, while the service says there is more.

use std::collections::HashSet;

use formsvc_client::{
    Client, Cursor, FallbackReason, PAGE_SIZE_MAX, PageNext, PageWalk, Timestamp,
};
use formsvc_export::LeftOut;
use formsvc_protocol::Pagination;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::failed;
use crate::again;
use crate::args::OutputFormat;
use crate::cmd::submissions::{incomplete, larger_pages};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// A request whose list is followed to its end.
pub(super) struct Paged<'a> {
    pub(super) client: &'a Client,
    pub(super) path: &'a str,
    /// What was given to add to the query.
    pub(super) fields: &'a [(String, String)],
    pub(super) query: Vec<(&'a str, &'a str)>,
    pub(super) limit: Option<u64>,
    pub(super) shown: Shown<'a>,
    /// Whether to keep the other items where some may be missing.
    pub(super) allow_incomplete: bool,
}

/// How the pages of a list are followed.
enum Follow {
    /// A list of submissions: no item that shares a time with another is lost. `oldest` is the time of the
    /// last item so far.
    Submissions { walk: Box<PageWalk>, oldest: Option<i64> },
    /// Any other list: by its cursors, which must not repeat.
    Cursors { cursor: Option<String>, sent: HashSet<String> },
}

/// An item of a list of submissions, as far as the walk needs it.
#[derive(Deserialize)]
struct Item {
    id: String,
    created_at: Timestamp,
}

/// A page, as far as it is looked at. A list without pages has no pagination.
#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow)]
    data: Vec<&'a RawValue>,
    #[serde(default)]
    pagination: Option<Pagination>,
}

/// What becomes of items: elements of one array, or lines.
pub(super) struct Shown<'a> {
    cx: &'a Context,
    as_lines: bool,
    /// Whether an expression or a template makes something of the items.
    is_made: bool,
    /// The whole array, where something is made of it.
    kept: Option<String>,
    count: u64,
}

impl<'a> Shown<'a> {
    pub(super) fn new(cx: &'a Context) -> Self {
        let json = &cx.settings.json;
        let is_made = json.jq.is_some() || json.template.is_some();
        let as_lines = json.format == Some(OutputFormat::Ndjson);
        let kept = (is_made && !as_lines).then(String::new);
        Self { cx, as_lines, is_made, kept, count: 0 }
    }

    fn items(&mut self, items: &[&RawValue]) -> Result<(), CliError> {
        if self.is_made && self.as_lines {
            self.count += items.len() as u64;
            return items.iter().try_for_each(|item| self.cx.output.document(item.get()));
        }
        let mut out = String::new();
        for item in items {
            if self.as_lines {
                out.push_str(&on_one_line(item.get()));
                out.push('\n');
            } else {
                out.push_str(if self.count == 0 { "[\n" } else { ",\n" });
                out.push_str(item.get());
            }
            self.count += 1;
        }
        match &mut self.kept {
            Some(kept) => {
                kept.push_str(&out);
                Ok(())
            }
            None => self.cx.output.exactly(out.as_bytes()),
        }
    }

    /// Warns once that items could be missing.
    fn warn(&self, fallback: Option<FallbackReason>) {
        if let Some(reason) = fallback {
            self.cx.warn_of_fallback(reason);
        }
    }

    /// Only a list that came to its end is closed: what was cut short must not look whole.
    fn end(&self) -> Result<(), CliError> {
        let end = if self.count == 0 { "[]\n" } else { "\n]\n" };
        match &self.kept {
            Some(kept) => self.cx.output.document(&format!("{kept}{end}")),
            None if self.as_lines => Ok(()),
            None => self.cx.output.exactly(end.as_bytes()),
        }
    }
}

impl Page<'_> {
    /// Id and time of each item of a page of submissions; `None` if the page has another shape. An item
    /// without either is known by its text, and counts as made at the time of the item before it; the first
    /// one at `oldest`, the time of the last item of the page before.
    fn submissions(&self, oldest: Option<i64>) -> Option<Vec<(String, i64)>> {
        self.pagination.as_ref()?;
        let items = self.data.iter().map(|item| serde_json::from_str::<Item>(item.get()).ok());
        let items: Vec<_> = items.collect();
        let time = |item: &Item| item.created_at.unix_micros();
        let first = || items.iter().flatten().next().map(time);
        let mut before = oldest.or_else(first).or(self.data.is_empty().then_some(0))?;
        let rows = items.into_iter().zip(&self.data).map(|(item, text)| match item {
            Some(item) => {
                before = time(&item);
                (item.id, before)
            }
            None => (text.get().to_owned(), before),
        });
        Some(rows.collect())
    }
}

impl Follow {
    /// Returns the items of a page of submissions, and keeps the time of the last one.
    fn items(&mut self, page: &Page<'_>) -> Option<Vec<(String, i64)>> {
        let Self::Submissions { oldest, .. } = self else { return None };
        let items = page.submissions(*oldest)?;
        *oldest = items.last().map(|(_, time)| *time).or(*oldest);
        Some(items)
    }
}

/// JSON text on one line: outside of strings a line break is nothing but space, and strings have none.
fn on_one_line(json: &str) -> String {
    json.replace(['\n', '\r'], " ")
}

impl Paged<'_> {
    pub(super) async fn run(mut self, cx: &Context) -> Result<(), CliError> {
        let start = self.query.iter().rfind(|(name, _)| *name == "cursor");
        let walk = PageWalk::new(start.map(|(_, cursor)| Cursor::new(*cursor)));
        let walk = Box::new(walk.allow_incomplete(self.allow_incomplete));
        let mut follow = Follow::Submissions { walk, oldest: None };
        let mut is_first = true;
        loop {
            let cursor = match &follow {
                Follow::Submissions { walk, .. } => {
                    walk.cursor().map(|cursor| cursor.as_str().to_owned())
                }
                Follow::Cursors { cursor, .. } => cursor.clone(),
            };
            match self.page(&mut follow, cursor.as_deref(), is_first).await {
                Ok(true) => is_first = false,
                Ok(false) => break,
                Err(error) => {
                    let error = error.hint_larger_pages(self.larger_pages());
                    return Err(self.unfinished(cx, error, cursor.as_deref()));
                }
            }
        }
        self.shown.end()?;
        match &follow {
            Follow::Submissions { walk, .. } => {
                incomplete(&LeftOut::new(walk.tie_overflows(), &[], 0))
                    .map_err(|error| error.hint_larger_pages(self.larger_pages()))
            }
            Follow::Cursors { .. } => Ok(()),
        }
    }

    /// Advice to request larger pages, if the size of the pages is known and not the largest.
    fn larger_pages(&self) -> Option<String> {
        let size = self.query.iter().rfind(|(name, _)| *name == "limit");
        let size = size.and_then(|(_, size)| size.parse().ok())?;
        larger_pages(size, &format!("--field limit={PAGE_SIZE_MAX}"))
    }

    /// Requests a page and shows its new items. Returns whether the list continues.
    async fn page(
        &mut self,
        follow: &mut Follow,
        cursor: Option<&str>,
        is_first: bool,
    ) -> Result<bool, CliError> {
        let mut query = self.query.clone();
        if let Some(cursor) = cursor {
            query.retain(|(name, _)| *name != "cursor");
            query.push(("cursor", cursor));
        }
        let rows = query.iter().rfind(|(name, _)| *name == "limit");
        let rows = rows.and_then(|(_, rows)| rows.parse().ok());
        let enough = match (&*follow, rows) {
            (Follow::Submissions { walk, .. }, Some(rows)) => {
                Some(walk.rows_to_request(rows)).filter(|enough| *enough != rows)
            }
            _ => None,
        };
        let enough = enough.map(|rows| rows.to_string());
        if let Some(enough) = &enough {
            query.retain(|(name, _)| *name != "limit");
            query.push(("limit", enough));
        }
        let body = match self.client.get_raw(self.path, &query).await {
            Ok(body) => body,
            Err(error) => {
                if let Follow::Submissions { walk, .. } = follow
                    && let Some(step) = walk.refused(&error)
                {
                    self.shown.warn(step.fallback());
                    return Ok(true);
                }
                return Err(failed(error));
            }
        };
        let json = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&body);
        // serde would accept an array of the members in order, too.
        if !json.trim_ascii_start().starts_with(b"{") {
            return Err(self.no_list());
        }
        let mut reader = serde_json::Deserializer::from_slice(json);
        let page = Page::deserialize(&mut reader).and_then(|page| reader.end().map(|()| page));
        let page = page.map_err(|_| self.no_list())?;
        let items = follow.items(&page);
        if is_first && items.is_none() {
            *follow = Follow::Cursors { cursor: None, sent: HashSet::new() };
        }
        match follow {
            Follow::Submissions { walk, .. } => {
                let (Some(items), Some(pagination)) = (items, &page.pagination) else {
                    return Err(self.no_list());
                };
                let rows = items.iter().map(|(id, time)| (&**id, *time));
                let step = walk.accept(rows, pagination);
                self.shown.warn(step.fallback());
                let new: Vec<_> = step.new_rows.iter().map(|at| page.data[*at]).collect();
                let is_enough = self.show(&new)?;
                match step.next {
                    PageNext::Retry => Ok(true),
                    PageNext::Continue => Ok(!is_enough),
                    PageNext::Failed(error) if !is_enough => Err(failed(error.into())),
                    _ => Ok(false),
                }
            }
            Follow::Cursors { cursor, sent } => {
                let is_enough = self.show(&page.data)?;
                match page.pagination {
                    Some(Pagination { has_more: true, .. }) if is_enough => Ok(false),
                    Some(Pagination { has_more: true, next_cursor: Some(next) }) => {
                        *cursor = Some(next.as_str().to_owned());
                        if sent.insert(next.as_str().to_owned()) {
                            return Ok(true);
                        }
                        let what = "the service gave the same cursor twice: the list has no end";
                        Err(CliError::new(Exit::Service, what))
                    }
                    Some(Pagination { has_more: true, next_cursor: None }) => {
                        let what = "the list has more, but no `next_cursor`";
                        Err(CliError::new(Exit::Service, what))
                    }
                    Some(Pagination { has_more: false, .. }) | None => Ok(false),
                }
            }
        }
    }

    /// Shows items up to the limit. Returns whether it is reached.
    fn show(&mut self, items: &[&RawValue]) -> Result<bool, CliError> {
        let left = self.limit.map(|limit| limit.saturating_sub(self.shown.count));
        let wanted = left.and_then(|left| usize::try_from(left).ok()).unwrap_or(usize::MAX);
        self.shown.items(&items[..items.len().min(wanted)])?;
        Ok(self.limit.is_some_and(|limit| self.shown.count >= limit))
    }

    fn no_list(&self) -> CliError {
        let what = format!("the answer to `{}` is no list with `data`", self.path);
        CliError::new(Exit::Service, what).hint("without --paginate the answer is shown unchanged")
    }

    /// The error, and how to go on after what was written.
    fn unfinished(&self, cx: &Context, error: CliError, cursor: Option<&str>) -> CliError {
        let Some(cursor) = cursor else { return error };
        let mut line = again::Line::of(&cx.settings, &["api", self.path, "--paginate"]);
        let left = self.limit.map(|limit| limit.saturating_sub(self.shown.count));
        line.maybe("--limit", left.map(|left| left.to_string()).as_deref());
        for (name, value) in self.fields.iter().filter(|(name, _)| name != "cursor") {
            line.flag("--field", &format!("{name}={value}"));
        }
        match line.flag("--field", &format!("cursor={cursor}")).shown() {
            Some(go_on) => error.resumed_by(go_on),
            None => error,
        }
    }
}
