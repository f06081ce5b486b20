//! `--paginate`: prints the items of all pages of a list, unchanged.

use formsvc_client::list::RawPages;
use formsvc_client::{Client, Error, ErrorKind, PAGE_SIZE_MAX};

use super::target;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{OutputFormat, check_list_size};
use crate::settings::repeat_command;

/// A request for all pages of a list.
pub(super) struct Paged<'a> {
    pub(super) cx: &'a Context,
    pub(super) client: &'a Client,
    pub(super) path: &'a str,
    /// The query parameters from the command line (`--field`).
    pub(super) fields: &'a [(&'a str, &'a str)],
}

impl Paged<'_> {
    /// Prints the items as elements of one array, or as lines of NDJSON.
    pub(super) async fn run(&self) -> Result<(), CliError> {
        let size = PAGE_SIZE_MAX.to_string();
        let mut query = self.fields.to_vec();
        if target::takes_page_size(self.path, &query) {
            query.push(("limit", &size));
        }
        let json = &self.cx.settings.output.json;
        let has_program = json.jq.is_some() || json.template.is_some();
        let as_lines = json.format == Some(OutputFormat::Ndjson);
        let mut pages = self.client.raw_pages(self.path, &query);
        // With an expression or a template, the buffer collects the complete array.
        let (mut array, mut is_empty) = (String::new(), true);
        while let Some(items) =
            pages.try_next().await.map_err(|error| self.unfinished(error, &pages))?
        {
            for item in &items {
                if as_lines && has_program {
                    self.cx.output.document(item)?;
                } else if as_lines {
                    // Line breaks are only between tokens: JSON strings escape them.
                    array.push_str(&(item.replace(['\n', '\r'], " ") + "\n"));
                } else {
                    array.push_str(if is_empty { "[\n" } else { ",\n" });
                    array.push_str(item);
                }
                is_empty = false;
            }
            if has_program {
                check_list_size(array.len())?;
            } else {
                self.cx.output.exactly(std::mem::take(&mut array).as_bytes())?;
            }
        }
        // Only a complete array gets its closing bracket.
        let end = if is_empty { "[]\n" } else { "\n]\n" };
        match (as_lines, has_program) {
            (true, _) => Ok(()),
            (false, true) => self.cx.output.document(&(array + end)).map_err(|error| {
                let is_of_jq = json.jq.is_some() && error.exit == Exit::Usage;
                let hint = "`--paginate` prints one array: read its items, as in `.[].id`";
                if is_of_jq { error.hint(hint) } else { error }
            }),
            (false, false) => self.cx.output.exactly(end.as_bytes()),
        }
    }

    /// Converts an error of the client, and adds the command that continues after the printed items.
    fn unfinished(&self, error: Error, pages: &RawPages) -> CliError {
        let error = match error.kind() {
            ErrorKind::Decode => {
                let message = format!("the response to `{}` is not a list with `data`", self.path);
                CliError::new(Exit::Service, message)
                    .hint("without --paginate the response is printed unchanged")
            }
            ErrorKind::TieOverflow => CliError::from(error).hint(
                "`formsvc submissions export --allow-incomplete` keeps the other submissions",
            ),
            _ => target::failed(error, self.path),
        };
        let Some(cursor) = pages.next_cursor() else { return error };
        let command = ["api", self.path, "--paginate"];
        let mut line = repeat_command::CommandLine::new(&self.cx.settings, &command);
        for (name, value) in self.fields.iter().filter(|(name, _)| *name != "cursor") {
            line.flag("--field", &format!("{name}={value}"));
        }
        error.continued_by(line.flag("--field", &format!("cursor={cursor}")).shown())
    }
}
