//! `formsvc submissions list`

use clap::Args;
use formsvc_client::{Cursor, PAGE_SIZE_MAX};
use formsvc_export::LeftOut;

use super::incomplete;
use super::range::Range;
use crate::context::Context;
use crate::error::CliError;
use crate::form_ref;
use crate::output::Field;
use crate::settings::args::whole;
use crate::settings::repeat_command::CommandLine;

/// The fields of a submission; `data` has a column for each label.
pub(in crate::cmd) const FIELDS: [Field; 3] =
    [Field::id("id"), Field::time("created_at"), Field::object("data")];

/// List the newest submissions of a form
///
/// Newest first. On a terminal, the last line is the command that lists more. Each label of the
/// answers is a column: the 200 most common labels in a table, 2,500 in CSV and TSV, where the column
/// `other_answers` has the rest as JSON.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo submissions list penguins\n  formsvc --demo submissions list anes96 --limit 5 --output json\n  formsvc --demo submissions list penguins --since 7d --limit 100"
)]
pub(crate) struct List {
    /// The form: its id, public id (as in /f/ID), exact title, or the beginning of either id
    form: String,
    /// List N submissions at most
    #[arg(short = 'L', long, value_name = "N", default_value_t = 30, value_parser = whole::<u32>(1..=u32::MAX.into()))]
    limit: u32,
    #[command(flatten)]
    range: Range,
    /// Only submissions older than this cursor or RFC 3339 instant
    #[arg(long, value_name = "CURSOR")]
    before: Option<String>,
    /// Leave out submissions that the service cannot list or that violate the API, name them, and end with
    /// exit 9
    #[arg(long)]
    allow_incomplete: bool,
    /// Columns for the answers with these labels only, separated by commas; `\,` is a comma in a label
    #[arg(long, value_name = "LABELS")]
    columns: Option<String>,
}

impl List {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        if self.columns.is_some() && !cx.output.has_columns() {
            let what = "`--columns` selects columns of a table, CSV or TSV";
            return Err(CliError::usage(what)
                .hint("for JSON, use `--json FIELDS`, such as `--json id,data.LABEL`"));
        }
        let mut listing = cx.output.listing(&FIELDS)?;
        listing.lay_out_labels(self.columns.as_deref())?;
        let bounds = self.range.bounds(cx)?;
        let client = cx.client().await?;
        let form = form_ref::resolve(cx, &self.form).await?;
        // If submissions are skipped, more than `--limit` are read, so full pages are requested.
        let has_end = bounds.until.is_some();
        let page_size = if has_end { PAGE_SIZE_MAX } else { self.limit.min(PAGE_SIZE_MAX) };
        let mut list = client.form(form.id.clone()).submissions().page_size(page_size);
        if let Some(before) = &self.before {
            list = list.start_at(Cursor::new(before.clone()));
        }
        let mut items = bounds.limit(list.allow_incomplete(self.allow_incomplete)).items();
        for _ in 0..self.limit {
            let Some(row) = items.try_next().await? else { break };
            listing.try_push(&row)?;
        }
        let left_out = LeftOut::new(items.tie_overflows(), items.skipped(), items.skipped_count());
        if listing.is_empty() {
            cx.progress.remark("no submissions");
        }
        cx.output.list(&listing)?;
        if !items.is_finished() && cx.settings.terminal.stdout {
            let mut line = CommandLine::new(&cx.settings, &["submissions", "list", form.name()]);
            line.flag("--limit", &self.limit.saturating_mul(2).to_string());
            bounds.repeat(&mut line);
            line.maybe("--columns", self.columns.as_deref());
            line.maybe("--before", self.before.as_deref());
            if self.allow_incomplete {
                line.switch("--allow-incomplete");
            }
            if let Some(more) = line.shown() {
                cx.progress.command("more", &more);
            }
        }
        incomplete(&left_out)
    }
}
