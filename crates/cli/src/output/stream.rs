//! Items shown one by one as they come, for commands that go on.

use std::cell::{Cell as Slot, RefCell};

use serde::Serialize;

use super::answer_columns::IN_FILES;
use super::following::{self, Clock};
use super::template::Shape;
use super::{Field, Output, OutputFormat, Program, formats, written};
use crate::error::CliError;

/// Items shown as they come: a line each, written at once. JSON is always one object a line here, but for
/// what jq makes on a terminal, since an array would never end; an object in a field has no columns of its own, since nobody
/// knows which the next item will need: people see its members one after the other, and a cell of
/// CSV or TSV has it as JSON.
pub(crate) struct Stream<'a> {
    output: &'a Output,
    fields: &'static [Field],
    program: Option<Program>,
    /// Whether the header has been written.
    headed: Slot<bool>,
    clock: RefCell<Option<Clock>>,
}

impl Output {
    /// Begins to show items that have these fields as they come. As [`Self::listing`], it is for
    /// before the first request.
    pub(crate) fn stream(&self, fields: &'static [Field]) -> Result<Stream<'_>, CliError> {
        self.listing(fields)?;
        let program = self.program(None)?;
        let clock = self.zone.clone().map(Clock::new);
        Ok(Stream {
            output: self,
            fields,
            program,
            headed: Slot::new(false),
            clock: RefCell::new(clock),
        })
    }
}

impl Stream<'_> {
    /// Whether times are told by the clock here.
    pub(crate) fn has_clock(&self) -> bool {
        self.output.format == OutputFormat::Table
            && self.program.is_none()
            && self.clock.borrow().is_some()
    }

    /// Shows the next item.
    pub(crate) fn show(&self, item: &impl Serialize) -> Result<(), CliError> {
        let mut listing = self.output.listing(self.fields)?;
        listing.push(item);
        listing.objects_have_columns();
        if let Some(program) = &self.program {
            let item = listing.json().next().unwrap_or_default();
            return self.output.made(program, &item, Shape::Item);
        }
        let (screen, format) = (&self.output.screen, self.output.format);
        let header = !self.headed.replace(true);
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
