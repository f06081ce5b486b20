//! `--paginate`: prints the items of all pages of a list, unchanged.

use formsvc_client::list::RawPages;
use formsvc_client::{Client, Error, ErrorKind, PAGE_SIZE_MAX};
use formsvc_export::LeftOut;

use super::failed;
use crate::cmd::submissions::{incomplete, larger_pages};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{OutputFormat, check_list_size};
use crate::settings::repeat_command;

/// A request for all pages of a list.
pub(super) struct Paged<'a> {
    pub(super) client: &'a Client,
    pub(super) path: &'a str,
    /// The fields from the command line.
    pub(super) fields: &'a [(String, String)],
    pub(super) query: Vec<(&'a str, &'a str)>,
    pub(super) limit: Option<u64>,
    pub(super) shown: Shown<'a>,
    /// True if a list with missing items is not an error.
    pub(super) allow_incomplete: bool,
}

/// Prints items as elements of one array or as lines.
pub(super) struct Shown<'a> {
    cx: &'a Context,
    as_lines: bool,
    /// True if an expression or a template reads the items.
    is_made: bool,
    /// The complete array for an expression or a template.
    kept: Option<String>,
    count: u64,
}

impl<'a> Shown<'a> {
    pub(super) fn new(cx: &'a Context) -> Self {
        let json = &cx.settings.output.json;
        let is_made = json.jq.is_some() || json.template.is_some();
        let as_lines = json.format == Some(OutputFormat::Ndjson);
        let kept = (is_made && !as_lines).then(String::new);
        Self { cx, as_lines, is_made, kept, count: 0 }
    }

    fn items(&mut self, items: &[String]) -> Result<(), CliError> {
        if self.is_made && self.as_lines {
            self.count += items.len() as u64;
            return items.iter().try_for_each(|item| self.cx.output.document(item));
        }
        let mut out = String::new();
        for item in items {
            if self.as_lines {
                out.push_str(&on_one_line(item));
                out.push('\n');
            } else {
                out.push_str(if self.count == 0 { "[\n" } else { ",\n" });
                out.push_str(item);
            }
            self.count += 1;
        }
        match &mut self.kept {
            Some(kept) => {
                kept.push_str(&out);
                check_list_size(kept.len())
            }
            None => self.cx.output.exactly(out.as_bytes()),
        }
    }

    /// Closes the array. An incomplete array has no bracket at its end.
    fn end(&self) -> Result<(), CliError> {
        let end = if self.count == 0 { "[]\n" } else { "\n]\n" };
        match &self.kept {
            Some(kept) => self.cx.output.document(&format!("{kept}{end}")),
            None if self.as_lines => Ok(()),
            None => self.cx.output.exactly(end.as_bytes()),
        }
    }
}

/// Returns JSON on one line. Strings in JSON have no line breaks.
fn on_one_line(json: &str) -> String {
    json.replace(['\n', '\r'], " ")
}

impl Paged<'_> {
    pub(super) async fn run(mut self, cx: &Context) -> Result<(), CliError> {
        let pages = self.client.raw_pages(self.path, &self.query);
        let mut pages = pages.allow_incomplete(self.allow_incomplete);
        loop {
            match pages.try_next().await {
                Ok(Some(items)) if self.show(&items)? => break,
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => {
                    let error = self.failed(error).hint_larger_pages(self.larger_pages());
                    return Err(self.unfinished(cx, error, &pages));
                }
            }
        }
        self.shown.end()?;
        incomplete(&LeftOut::new(pages.tie_overflows(), &[], 0))
            .map_err(|error| error.hint_larger_pages(self.larger_pages()))
    }

    /// Advice to request larger pages, if the size of the pages is known and not the largest.
    fn larger_pages(&self) -> Option<String> {
        let size = self.query.iter().rfind(|(name, _)| *name == "limit");
        let size = size.and_then(|(_, size)| size.parse().ok())?;
        larger_pages(size, &format!("--field limit={PAGE_SIZE_MAX}"))
    }

    /// Prints items up to the limit. Returns true if it is reached.
    fn show(&mut self, items: &[String]) -> Result<bool, CliError> {
        let left = self.limit.map(|limit| limit.saturating_sub(self.shown.count));
        let wanted = left.and_then(|left| usize::try_from(left).ok()).unwrap_or(usize::MAX);
        self.shown.items(&items[..items.len().min(wanted)])?;
        Ok(self.limit.is_some_and(|limit| self.shown.count >= limit))
    }

    fn failed(&self, error: Error) -> CliError {
        if error.kind() != ErrorKind::Decode {
            return failed(error);
        }
        let what = format!("the response to `{}` is not a list with `data`", self.path);
        CliError::new(Exit::Service, what)
            .hint("without --paginate the response is printed unchanged")
    }

    /// Adds the command that continues after the printed items.
    fn unfinished(&self, cx: &Context, error: CliError, pages: &RawPages) -> CliError {
        let Some(cursor) = pages.next_cursor() else { return error };
        let mut line =
            repeat_command::CommandLine::new(&cx.settings, &["api", self.path, "--paginate"]);
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
