//! Unique headings.

use std::collections::{HashMap, HashSet};

/// Heading of a label without visible text.
const UNNAMED: &str = "unnamed";

/// Makes headings unique by numbering: `Name`, `Name (2)`.
#[derive(Debug)]
pub(crate) struct Headings {
    taken: HashSet<String>,
    /// The last number that was tried for a heading, so that many equal headings take linear time.
    numbers: HashMap<String, usize>,
    ignore_case: bool,
    bytes_max: usize,
}

impl Headings {
    /// Creates headings that never equal a reserved one.
    pub(crate) fn new(reserved: &[&str], ignore_case: bool, bytes_max: usize) -> Self {
        let taken = reserved.iter().map(|name| (*name).to_owned()).collect();
        Self { taken, ignore_case, bytes_max, numbers: HashMap::new() }
    }

    /// Returns the unique heading of a label.
    pub(crate) fn add(&mut self, label: &str) -> String {
        let label = if label.trim().is_empty() { UNNAMED } else { label };
        let fold =
            |name: &str| if self.ignore_case { name.to_lowercase() } else { name.to_owned() };
        let label = cut(label, self.bytes_max);
        let mut heading = label.to_owned();
        if self.taken.insert(fold(&heading)) {
            return heading;
        }
        let number = self.numbers.entry(fold(label)).or_insert(1);
        loop {
            *number += 1;
            let suffix = format!(" ({number})");
            heading = cut(label, self.bytes_max.saturating_sub(suffix.len())).to_owned() + &suffix;
            if self.taken.insert(fold(&heading)) {
                return heading;
            }
        }
    }
}

/// Returns the part of a text that has at most so many bytes.
fn cut(text: &str, bytes_max: usize) -> &str {
    let mut end = bytes_max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
