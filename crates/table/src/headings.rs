//! Unique headings.

use std::collections::{HashMap, HashSet};

/// Heading of a label without visible text.
const UNNAMED: &str = "unnamed";

/// Makes headings unique by numbering: `Name`, `Name (2)`.
///
/// ```
/// use formsvc_table::Headings;
/// let mut headings = Headings::new(&["id"], true, 63);
/// assert_eq!(headings.add("Id"), "Id (2)");
/// assert_eq!(headings.add(" "), "unnamed");
/// ```
#[derive(Clone, Debug)]
pub struct Headings {
    taken: HashSet<String>,
    /// The last number that was tried for a heading, so that many equal headings take linear time.
    numbers: HashMap<String, usize>,
    ignore_case: bool,
    bytes_max: usize,
}

impl Headings {
    /// Creates headings that never equal a reserved one. A heading has at most `bytes_max` bytes, its
    /// number included.
    pub fn new(reserved: &[&str], ignore_case: bool, bytes_max: usize) -> Self {
        let taken = reserved.iter().map(|heading| fold(ignore_case, heading)).collect();
        Self { taken, numbers: HashMap::new(), ignore_case, bytes_max }
    }

    /// Excludes a heading that exists already.
    pub fn reserve(&mut self, heading: &str) {
        self.taken.insert(fold(self.ignore_case, heading));
    }

    /// Returns the unique heading of a label.
    pub fn add(&mut self, label: &str) -> String {
        let label = if label.trim().is_empty() { UNNAMED } else { label };
        let first = fold(self.ignore_case, cut(label, self.bytes_max));
        let number = self.numbers.entry(first).or_insert(0);
        loop {
            *number += 1;
            let suffix = if *number == 1 { String::new() } else { format!(" ({number})") };
            let room = self.bytes_max.saturating_sub(suffix.len());
            let heading = cut(label, room).to_owned() + &suffix;
            if self.taken.insert(fold(self.ignore_case, &heading)) {
                return heading;
            }
        }
    }
}

fn fold(ignore_case: bool, name: &str) -> String {
    if ignore_case { name.to_lowercase() } else { name.to_owned() }
}

/// Returns the part of a text that has at most so many bytes.
fn cut(text: &str, bytes_max: usize) -> &str {
    let mut end = bytes_max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
