//! Prints items one by one, for commands that continue.

use std::cell::{Cell as Slot, RefCell};

use serde::Serialize;

use super::answer_columns::IN_FILES;
use super::following::{self, Clock};
use super::template::Shape;
use super::{Field, Output, OutputFormat, Program, formats, written};
use crate::error::CliError;

/// Prints each item on a line, at once. JSON is NDJSON, because an array would never end. The members of an object
/// have no columns, because the labels of later items are unknown: a terminal shows them one after the other,
/// and CSV and TSV have one cell with JSON.
pub(crate) struct Stream<'a> {
    output: &'a Output,
    fields: &'static [Field],
    program: Option<Program>,
    has_header: Slot<bool>,
    clock: RefCell<Option<Clock>>,
}

impl Output {
    /// Returns the stream of items with these fields. Call it before the first request, like [`Self::listing`].
    pub(crate) fn stream(&self, fields: &'static [Field]) -> Result<Stream<'_>, CliError> {
        self.listing(fields)?;
        let program = self.program(None)?;
        let clock = self.zone.clone().map(Clock::new);
        Ok(Stream {
            output: self,
            fields,
            program,
            has_header: Slot::new(false),
            clock: RefCell::new(clock),
        })
    }
}

impl Stream<'_> {
    /// Prints an item.
    pub(crate) fn show(&self, item: &impl Serialize) -> Result<(), CliError> {
        let mut listing = self.output.listing(self.fields)?;
        listing.push(item);
        listing.objects_have_columns();
        if let Some(program) = &self.program {
            let item = listing.json().next().unwrap_or_default();
            return self.output.run(program, &item, Shape::Item);
        }
        let (screen, format) = (&self.output.screen, self.output.format);
        let header = !self.has_header.replace(true);
        if format == OutputFormat::Table {
            let (mut lines, mut clock) = (Vec::new(), self.clock.borrow_mut());
            let (grid, view) = (listing.grid(IN_FILES), self.output.view());
            written(following::write(&mut lines, &grid, view, clock.as_mut()))?;
            return screen.unpaged(&lines);
        }
        screen.data(true, |out| {
            written(match format {
                OutputFormat::Csv => formats::csv(out, &listing.grid(IN_FILES), header),
                OutputFormat::Tsv => formats::tsv(out, &listing.grid(IN_FILES)),
                _ => formats::ndjson(out, &listing),
            })
        })
    }
}
