//! A titled Markdown table.

/// A section of a page: a title, what it is about, and one table.
pub(crate) struct Section {
    /// Heading, without marks.
    pub(crate) title: &'static str,
    /// Markdown that stands before the table.
    pub(crate) about: &'static str,
    /// Heads of the columns.
    pub(crate) columns: &'static [&'static str],
    /// Cells; as many in each row as there are columns.
    pub(crate) rows: Vec<Vec<String>>,
}

impl Section {
    /// The section as Markdown, ending in a line feed.
    pub(crate) fn print(&self) -> String {
        let line = |cells: &mut dyn Iterator<Item = String>| {
            let cells: Vec<String> = cells.map(|cell| cell.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let mut text = format!("## {}\n\n{}\n\n", self.title, self.about);
        text.push_str(&line(&mut self.columns.iter().map(|head| (*head).to_owned())));
        text.push('|');
        text.push_str(&"---|".repeat(self.columns.len()));
        text.push('\n');
        for row in &self.rows {
            assert_eq!(row.len(), self.columns.len(), "a row of `{}` is ragged", self.title);
            text.push_str(&line(&mut row.iter().cloned()));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_in_a_cell_does_not_end_it() {
        let section = Section {
            title: "T",
            about: "About.",
            columns: &["a", "b"],
            rows: vec![vec!["x|y".to_owned(), String::new()]],
        };
        assert_eq!(section.print(), "## T\n\nAbout.\n\n| a | b |\n|---|---|\n| x\\|y |  |\n");
    }
}
