//! Items shown one by one as they come, for commands that go on.

use std::cell::Cell as Slot;

use serde::Serialize;

use super::{Field, Listing, Output, OutputFormat, formats, table};
use crate::error::CliError;

/// Items shown as they come: a line each, written at once. JSON is always one object a line here,
/// since an array would never end; an object in a field has no columns of its own, since nobody
/// knows which the next item will need, and stands in its cell as JSON.
pub(crate) struct Stream<'a> {
    output: &'a Output,
    fields: &'static [Field],
    /// Whether the header has been written.
    headed: Slot<bool>,
}

impl Output {
    /// Begins to show items that have these fields as they come. As [`Self::listing`], it is for
    /// before the first request.
    pub(crate) fn stream(&self, fields: &'static [Field]) -> Result<Stream<'_>, CliError> {
        self.listing(fields)?;
        Ok(Stream { output: self, fields, headed: Slot::new(false) })
    }
}

impl Stream<'_> {
    /// Shows the next item.
    pub(crate) fn show(&self, item: &impl Serialize) -> Result<(), CliError> {
        let mut listing: Listing = self.output.listing(self.fields)?;
        listing.push(item);
        listing.objects_have_columns();
        let header = !self.headed.replace(true);
        self.output.write(|out| match self.output.format {
            OutputFormat::Table => table::line(out, &listing.grid(), self.output.width),
            OutputFormat::Json | OutputFormat::Ndjson => formats::ndjson(out, &listing),
            OutputFormat::Csv => formats::csv(out, &listing.grid(), header),
            OutputFormat::Tsv => formats::tsv(out, &listing.grid()),
        })
    }
}
