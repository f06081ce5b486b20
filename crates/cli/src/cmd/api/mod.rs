//! `formsvc api`

mod paged;
mod target;

use std::io::Write;

use clap::Args;
use http::{HeaderMap, StatusCode};

use crate::context::Context;
use crate::error::CliError;
use crate::output::{OutputFormat, pretty};
use crate::settings::Json;

/// Send a GET request to the service and print the response
///
/// Prints the body unchanged in a pipe and indented on a terminal. The body of an error is printed as
/// well; the exit code depends on the error.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo api me\n  formsvc --demo api /api/v1/forms --include\n  formsvc --demo api me -f verbose=1\n  formsvc api forms/frm_1/submissions --paginate --output ndjson"
)]
pub(crate) struct Api {
    /// The path below the base URL: `/api/v1/forms`, or `forms` for short
    path: String,
    /// Add a parameter to the query; repeatable
    #[arg(short = 'f', long = "field", value_name = "KEY=VALUE", value_parser = pair)]
    fields: Vec<(String, String)>,
    /// Print the status and the headers before the body
    #[arg(short, long)]
    include: bool,
    /// Request all pages of a list and print one array
    ///
    /// With `--output ndjson`, prints one item per line. An array without its closing bracket is
    /// incomplete. `--jq` and `--template` read the complete array, or with `--output ndjson` each item.
    #[arg(long, conflicts_with = "include")]
    paginate: bool,
}

impl Api {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        // With NDJSON, each item is a document.
        let is_one_array =
            self.paginate && cx.settings.output.json.format != Some(OutputFormat::Ndjson);
        cx.output.check_program(is_one_array.then_some(&["items"]))?;
        let client = cx.client().await?;
        let path = target::path(&self.path)?;
        let query: Vec<_> = self.fields.iter().map(|(name, value)| (&**name, &**value)).collect();
        if self.paginate {
            return paged::Paged { cx, client, path: &path, fields: &query }.run().await;
        }
        match client.get_raw(&path, &query).await {
            Ok(response) => self.show(cx, response.status(), response.meta().headers(), &response),
            Err(error) => {
                if let (Some(status), Some(headers), Some(body)) =
                    (error.status(), error.headers(), error.body())
                {
                    self.show(cx, status, headers, body)?;
                }
                Err(target::failed(error, &path))
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
            (&cx.settings.output.json, std::str::from_utf8(body))
        {
            cx.output.exactly(&out)?;
            return cx.output.document(body.trim_start_matches('\u{feff}'));
        }
        let indented = cx.settings.terminal.stdout.then(|| pretty(body)).flatten();
        out.extend_from_slice(indented.as_deref().map_or(body, str::as_bytes));
        if cx.settings.terminal.stdout && !out.ends_with(b"\n") {
            out.push(b'\n');
        }
        cx.output.exactly(&out)
    }
}

/// Writes the status and the headers in the format of HTTP/1.1.
fn head(out: &mut Vec<u8>, status: StatusCode, headers: &HeaderMap) {
    let sure = "a write to memory succeeds";
    writeln!(out, "HTTP/1.1 {status}").expect(sure);
    for (name, value) in headers {
        write!(out, "{name}: ").expect(sure);
        out.extend_from_slice(value.as_bytes());
        out.push(b'\n');
    }
    out.push(b'\n');
}

fn pair(text: &str) -> Result<(String, String), &'static str> {
    let (name, value) = text.split_once('=').ok_or("expected KEY=VALUE, such as limit=2")?;
    if name.is_empty() { Err("the key is empty") } else { Ok((name.to_owned(), value.to_owned())) }
}
