//! Remarks about a rendered file.

use std::fmt;

use formsvc_table::MissingColumn;

/// A property of the output that may surprise its reader.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remark {
    /// Cells that the formula guard changed.
    GuardedCells(u64),
    /// Labels without a column of their own: the answers are in `other_answers`.
    LabelsWithoutColumn(u64),
    /// Headings that differ from another one only in the case of letters.
    HeadingsDifferInCase(u64),
    /// Headings with a line break.
    HeadingsWithLineBreak(u64),
    /// Headings with a dot, which some Parquet readers take for nesting.
    HeadingsWithDot(u64),
    /// Selected columns that do not occur.
    MissingColumns(Vec<MissingColumn>),
    /// Labels with a new name that do not occur.
    UnusedRenames(Vec<String>),
    /// Selected columns and renamed labels of an output without rows.
    UncheckedLabels(Vec<String>),
    /// CSV cells of more than 32,767 characters.
    LongCells(u64),
    /// Cells of more than 32,767 characters, which were cut in a workbook.
    CutCells(u64),
    /// Cells in which CR LF or CR became LF in a workbook.
    ChangedLineBreaks(u64),
    /// Sheets with rows, if there are more than one.
    FurtherSheets(u64),
    /// Cells in which NUL or a lone surrogate became U+FFFD.
    ReplacedCharacters(u64),
    /// Stored rows with answers that are not a JSON object; the output contains the text.
    DamagedRows(u64),
    /// The file is a mount point and was written in place: it was incomplete for a short time.
    WrittenInPlace,
    /// The replaced file was of another user; the new one is of the current user.
    OwnerChanged,
}

impl Remark {
    /// Returns a remark about a number of cells or headings; `None` for zero.
    pub(crate) fn counted(remark: impl Fn(u64) -> Self, count: u64) -> Option<Self> {
        (count > 0).then(|| remark(count))
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, noun, text) = match self {
            Self::GuardedCells(count) => (
                count,
                "cell",
                "an apostrophe in front keeps a spreadsheet from running the text as a formula",
            ),
            Self::LabelsWithoutColumn(count) => (
                count,
                "label",
                "without a column, because other labels are more common; the answers are in \
                 `other_answers`",
            ),
            Self::HeadingsDifferInCase(count) => (
                count,
                "heading",
                "equal to another one except for upper and lower case, which SQLite, DuckDB and Excel \
                 tables do not tell apart",
            ),
            Self::HeadingsWithLineBreak(count) => (
                count,
                "heading",
                "with a line break, which readers that split lines do not expect",
            ),
            Self::HeadingsWithDot(count) => {
                (count, "heading", "with a dot, which some Parquet readers take for nesting")
            }
            Self::LongCells(count) => {
                (count, "cell", "longer than 32,767 characters, which Excel cuts off")
            }
            Self::CutCells(count) => {
                (count, "cell", "cut at 32,767 characters; the sheet `Notes` lists them")
            }
            Self::ChangedLineBreaks(count) => (count, "cell", "CR became LF"),
            Self::FurtherSheets(count) => (count, "sheet", "a sheet has at most 1,048,576 rows"),
            Self::ReplacedCharacters(count) => {
                (count, "cell", "characters that the format cannot store became U+FFFD")
            }
            Self::DamagedRows(count) => (
                count,
                "submission",
                "the stored answers are not valid JSON and were written as text",
            ),
            Self::MissingColumns(columns) => return fmt_missing(f, columns),
            Self::UnusedRenames(labels) => {
                let labels = listed(labels);
                return write!(f, "no submission has {labels}, which the column map renames");
            }
            Self::UncheckedLabels(labels) => {
                let labels = listed(labels);
                return write!(
                    f,
                    "no submission was selected, so the labels {labels} could not be checked"
                );
            }
            Self::WrittenInPlace => {
                return f.write_str(
                    "the file is mounted by itself and was written in place, so that a reader may \
                     have seen a part of it; mount its folder instead",
                );
            }
            Self::OwnerChanged => {
                return f.write_str(
                    "the replaced file belonged to another user; the new one belongs to you, with \
                     the same mode (`chown` restores it)",
                );
            }
        };
        let plural = if *count == 1 { "" } else { "s" };
        write!(f, "{} {noun}{plural}: {text}", thousands(*count))
    }
}

/// Formats a number with a comma between groups of three digits.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

/// Lists the first labels of many.
fn listed(labels: &[String]) -> String {
    const SHOWN_MAX: usize = 10;
    let shown: Vec<_> = labels.iter().take(SHOWN_MAX).map(|label| format!("`{label}`")).collect();
    let more = labels.len().saturating_sub(SHOWN_MAX);
    shown.join(", ") + &(if more > 0 { format!(" and {more} more") } else { String::new() })
}

fn fmt_missing(f: &mut fmt::Formatter<'_>, columns: &[MissingColumn]) -> fmt::Result {
    let names: Vec<_> = columns.iter().map(|column| format!("`{}`", column.heading)).collect();
    write!(f, "no submission has {}; the output has an empty column for each", names.join(", "))?;
    let similar: Vec<_> = columns.iter().filter_map(|column| column.similar.as_deref()).collect();
    if similar.is_empty() {
        Ok(())
    } else {
        write!(f, ". Did you mean `{}`?", similar.join("`, `"))
    }
}
