//! Unique headings.

use std::collections::{HashMap, HashSet};

/// Heading of a label without visible text.
const UNNAMED: &str = "unnamed";

/// Makes headings unique by numbering: `Name`, `Name (2)`.
#[derive(Debug, Default)]
pub(crate) struct Headings {
    taken: HashSet<String>,
    /// The last number that was tried for a heading, so that many equal headings take linear time.
    numbers: HashMap<String, usize>,
    ignore_case: bool,
}

impl Headings {
    /// Creates headings that never equal a reserved one.
    pub(crate) fn new(reserved: &[&str], ignore_case: bool) -> Self {
        let taken = reserved.iter().map(|name| (*name).to_owned()).collect();
        Self { taken, ignore_case, ..Self::default() }
    }

    /// Returns the unique heading of a label.
    pub(crate) fn add(&mut self, label: &str) -> String {
        let label = if label.trim().is_empty() { UNNAMED } else { label };
        let fold =
            |name: &str| if self.ignore_case { name.to_lowercase() } else { name.to_owned() };
        let mut heading = label.to_owned();
        if self.taken.insert(fold(&heading)) {
            return heading;
        }
        let number = self.numbers.entry(fold(label)).or_insert(1);
        loop {
            *number += 1;
            heading = format!("{label} ({number})");
            if self.taken.insert(fold(&heading)) {
                return heading;
            }
        }
    }
}
