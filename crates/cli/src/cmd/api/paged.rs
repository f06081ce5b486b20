//! `--paginate`: every item of a list, exactly as it came, while the service says there is more.

use std::collections::HashSet;

use formsvc_client::Client;
use formsvc_protocol::{Objects, Pagination};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::failed;
use crate::again;
use crate::args::OutputFormat;
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

/// JSON text on one line: outside of strings a line break is nothing but space, and strings have none.
fn on_one_line(json: &str) -> String {
    json.replace(['\n', '\r'], " ")
}

impl Paged<'_> {
    pub(super) async fn run(mut self, cx: &Context) -> Result<(), CliError> {
        let (mut cursor, mut seen): (Option<String>, _) = (None, HashSet::new());
        loop {
            match self.page(cursor.as_deref()).await {
                Ok(None) => return self.shown.end(),
                Ok(Some(next)) if seen.insert(next.clone()) => cursor = Some(next),
                Ok(Some(_)) => {
                    let what = "the service gave the same cursor twice: the list has no end";
                    return Err(CliError::new(Exit::Service, what));
                }
                Err(error) => return Err(self.unfinished(cx, error, cursor.as_deref())),
            }
        }
    }

    /// Shows a page, and gives the cursor of the next.
    async fn page(&mut self, cursor: Option<&str>) -> Result<Option<String>, CliError> {
        let mut query = self.query.clone();
        if let Some(cursor) = cursor {
            query.retain(|(name, _)| *name != "cursor");
            query.push(("cursor", cursor));
        }
        let body = self.client.get_raw(self.path, &query).await.map_err(failed)?;
        let json = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&body);
        let mut reader = serde_json::Deserializer::from_slice(json);
        let page =
            Page::deserialize(Objects(&mut reader)).and_then(|page| reader.end().map(|()| page));
        let page = page.map_err(|_| {
            let what = format!("the answer to `{}` is no list with `data`", self.path);
            CliError::new(Exit::Service, what).hint("without --paginate it is shown as it is")
        })?;
        let left = self.limit.map(|limit| limit.saturating_sub(self.shown.count));
        let wanted = left.and_then(|left| usize::try_from(left).ok()).unwrap_or(usize::MAX);
        self.shown.items(&page.data[..page.data.len().min(wanted)])?;
        let is_enough = self.limit.is_some_and(|limit| self.shown.count >= limit);
        match page.pagination {
            Some(Pagination { has_more: true, .. }) if is_enough => Ok(None),
            Some(Pagination { has_more: true, next_cursor: Some(next) }) => {
                Ok(Some(next.as_str().to_owned()))
            }
            Some(Pagination { has_more: true, next_cursor: None }) => {
                let what = "the service says there is more, but gives no cursor to it";
                Err(CliError::new(Exit::Service, what))
            }
            Some(Pagination { has_more: false, .. }) | None => Ok(None),
        }
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
