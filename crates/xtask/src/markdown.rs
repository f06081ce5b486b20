//! A titled Markdown table.

/// A section of a page: a title, an introduction and one table.
pub(crate) struct Section {
    /// Heading, without `#`.
    pub(crate) title: &'static str,
    /// Markdown before the table.
    pub(crate) about: &'static str,
    pub(crate) columns: &'static [&'static str],
    /// Cells of each row, one for each column.
    pub(crate) rows: Vec<Vec<String>>,
}

impl Section {
    /// Returns the section as Markdown. It ends in a line feed.
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
            assert_eq!(
                row.len(),
                self.columns.len(),
                "a row of `{}` has another number of cells",
                self.title
            );
            text.push_str(&line(&mut row.iter().cloned()));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bar_in_cell_is_escaped() {
        let section = Section {
            title: "T",
            about: "About.",
            columns: &["a", "b"],
            rows: vec![vec!["x|y".to_owned(), String::new()]],
        };
        assert_eq!(section.print(), "## T\n\nAbout.\n\n| a | b |\n|---|---|\n| x\\|y |  |\n");
    }
}
