//! The submissions that a result leaves out.

use std::fmt;

use formsvc_client::event::SkippedItem;
use formsvc_client::list::{SubmissionPages, TieOverflow};

/// Maximum number of described items.
pub(crate) const MAX_DESCRIBED: usize = 20;

/// The submissions that are or could be missing in a result, although the service has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// Descriptions of the units of the service's cursor of which submissions may be missing, newest first: more
    /// share one than a page can show, or more than 1,000,000 share one time.
    pub units: Vec<String>,
    /// Number of submissions that violate the API.
    pub items: u64,
    /// Descriptions of some of them, 20 at most.
    pub described_items: Vec<String>,
}

impl LeftOut {
    /// Describes the submissions that a list left out: their number, and the first of them.
    pub fn new(units: &[TieOverflow], items: &[SkippedItem], count: u64) -> Self {
        Self {
            units: units.iter().map(ToString::to_string).collect(),
            items: count,
            described_items: items.iter().take(MAX_DESCRIBED).map(ToString::to_string).collect(),
        }
    }

    /// Adds a stored description of an item or of a unit. Returns false if it is only counted.
    pub(crate) fn add_stored(&mut self, is_item: bool, description: &str) -> bool {
        self.items += u64::from(is_item);
        let described = if is_item { &mut self.described_items } else { &mut self.units };
        let is_kept = !is_item || described.len() < MAX_DESCRIBED;
        if is_kept {
            described.push(description.to_owned());
        }
        is_kept
    }

    /// Describes the submissions that the pages of a list left out so far.
    pub fn of_pages(pages: &SubmissionPages) -> Self {
        Self::new(pages.tie_overflows(), pages.skipped(), pages.skipped_count())
    }

    /// Returns true if nothing is described. The result can be incomplete all the same: see
    /// [`Completeness`](formsvc_client::Completeness).
    pub fn is_empty(&self) -> bool {
        self.units.is_empty() && self.items == 0
    }

    /// Adds the submissions that the result of a form leaves out, with the form's name before each description.
    pub fn add(&mut self, form: &str, other: &Self) {
        let name = |description: &String| format!("{form}: {description}");
        self.units.extend(other.units.iter().map(name));
        self.items += other.items;
        let left = MAX_DESCRIBED.saturating_sub(self.described_items.len());
        self.described_items.extend(other.described_items.iter().take(left).map(name));
    }
}

/// States why the result is incomplete. "than a page can show" is also the text for more than 1,000,000 submissions
/// of one time.
impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: &str =
            "more submissions share a unit of the service's cursor than a page can show";
        let items = match self.items {
            0 => return f.write_str(UNITS),
            1 => "1 submission violates the API".to_owned(),
            count => format!("{count} submissions violate the API"),
        };
        f.write_str(&items)?;
        if self.units.is_empty() { Ok(()) } else { write!(f, ", and {UNITS}") }
    }
}
