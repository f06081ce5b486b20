//! `formsvc api`

mod paged;
mod target;

use std::io::Write;

use clap::Args;
use formsvc_client::{Error, ErrorCode, ErrorKind, PAGE_SIZE_MAX};
use http::{HeaderMap, StatusCode};

use crate::context::Context;
use crate::error::CliError;
use crate::output::OutputFormat;
use crate::output::pretty;
use crate::settings::Json;
use crate::settings::args::whole;

/// Send a GET request to the service and print the answer
///
/// The body comes as the service sent it, laid out on a terminal alone; the body of an error comes too,
/// and the exit code says what it was. The request carries the API key, so it goes below the address of
/// the service and nowhere else.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo api me\n  formsvc --demo api /api/v1/forms --include\n  formsvc --demo api me -f verbose=1\n  formsvc api forms/frm_1/submissions --paginate --output ndjson"
)]
pub(crate) struct Api {
    /// The path below the service's address: `/api/v1/forms`, `forms` for short, or a whole address there
    path: String,
    /// Add to the query; can be repeated
    #[arg(short = 'f', long = "field", value_name = "KEY=VALUE", value_parser = pair)]
    fields: Vec<(String, String)>,
    /// Write the status and the headers as well
    #[arg(short, long)]
    include: bool,
    /// Follow the cursors of a list: one JSON array of all items, or one a line with `--output ndjson`;
    /// an array that ends without its bracket is not complete. `--jq` and `--template` see that array,
    /// which memory has to hold then, or with `--output ndjson` each item by itself
    #[arg(long, conflicts_with = "include")]
    paginate: bool,
    /// How many items at most
    #[arg(short = 'L', long, value_name = "N", requires = "paginate", value_parser = whole::<u64>(1..=u64::MAX))]
    limit: Option<u64>,
    /// In a list of submissions, keep the other items where more share a second or a millisecond than a
    /// page can show, list these times and end with exit 9
    #[arg(long, requires = "paginate")]
    allow_incomplete: bool,
}

impl Api {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        if cx.settings.json.fields.is_some() {
            let error = CliError::usage("`--json` picks fields that this command does not know");
            return Err(error.hint("`--jq` takes what is wanted out of any JSON"));
        }
        // With a line an item, each is a document by itself.
        let is_one_array = self.paginate && cx.settings.json.format != Some(OutputFormat::Ndjson);
        cx.output.check_program(is_one_array.then_some(&["items"]))?;
        let client = cx.client().await?;
        let path = target::path(&self.path, client.base_url())?;
        let mut query: Vec<(&str, &str)> =
            self.fields.iter().map(|(name, value)| (&**name, &**value)).collect();
        if self.paginate {
            let size = self
                .limit
                .map_or(u64::from(PAGE_SIZE_MAX), |limit| limit.min(u64::from(PAGE_SIZE_MAX)));
            let size = size.to_string();
            if target::takes_page_size(&path, &query) {
                query.push(("limit", &size));
            }
            let shown = paged::Shown::new(cx);
            return paged::Paged {
                client,
                path: &path,
                fields: &self.fields,
                query,
                limit: self.limit,
                allow_incomplete: self.allow_incomplete,
                shown,
            }
            .run(cx)
            .await;
        }
        match client.get_raw(&path, &query).await {
            Ok(answer) => self.show(cx, answer.status(), answer.meta().headers(), &answer),
            Err(error) => {
                if let (Some(status), Some(headers), Some(body)) =
                    (error.status(), error.headers(), error.body())
                {
                    self.show(cx, status, headers, body)?;
                }
                Err(failed(error))
            }
        }
    }

    fn show(
        &self,
        cx: &Context,
        status: StatusCode,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<(), CliError> {
        let mut out = Vec::new();
        if self.include {
            head(&mut out, status, headers);
        }
        if let (Json { jq: Some(_), .. } | Json { template: Some(_), .. }, Ok(body)) =
            (&cx.settings.json, std::str::from_utf8(body))
        {
            cx.output.exactly(&out)?;
            return cx.output.document(body.trim_start_matches('\u{feff}'));
        }
        let laid_out = cx.settings.terminal.stdout.then(|| pretty(body)).flatten();
        out.extend_from_slice(laid_out.as_deref().map_or(body, str::as_bytes));
        if cx.settings.terminal.stdout && !out.ends_with(b"\n") {
            out.push(b'\n');
        }
        cx.output.exactly(&out)
    }
}

/// Status and headers, as HTTP/1.1 spells them.
fn head(out: &mut Vec<u8>, status: StatusCode, headers: &HeaderMap) {
    let sure = "writing to memory succeeds";
    writeln!(out, "HTTP/1.1 {status}").expect(sure);
    for (name, value) in headers {
        write!(out, "{name}: ").expect(sure);
        out.extend_from_slice(value.as_bytes());
        out.push(b'\n');
    }
    out.push(b'\n');
}

/// The error, with a hint that fits a path.
fn failed(error: Error) -> CliError {
    let hint = match (error.kind(), error.code()) {
        (ErrorKind::Config, _) => Some(target::HINT),
        (_, Some(ErrorCode::NotFound)) => Some(target::NO_SUCH),
        (_, Some(ErrorCode::FormNotFound)) => Some(target::BY_ID),
        _ => None,
    };
    let error = CliError::from(error);
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

fn pair(text: &str) -> Result<(String, String), &'static str> {
    let (name, value) = text.split_once('=').ok_or("expected KEY=VALUE, such as limit=2")?;
    if name.is_empty() { Err("the key is empty") } else { Ok((name.to_owned(), value.to_owned())) }
}
