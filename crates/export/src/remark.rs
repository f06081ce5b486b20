//! Remarks about a rendered file.

use formsvc_table::MissingColumn;

/// A property of the output that may surprise its reader.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Remark {
    /// Cells that the formula guard changed.
    #[error(
        "{}: an apostrophe in front keeps a spreadsheet from running the text as a formula",
        counted(*.0, "cell")
    )]
    GuardedCells(u64),
    /// Labels without a column of their own: the answers are in `other_answers`.
    #[error(
        "{}: without a column, because other labels are more common; the answers are in `other_answers`",
        counted(*.0, "label")
    )]
    LabelsWithoutColumn(u64),
    /// Headings that differ from another one only in the case of letters.
    #[error(
        "{}: equal to another one except for upper and lower case, which SQLite, DuckDB and Excel \
         tables do not tell apart",
        counted(*.0, "heading")
    )]
    HeadingsDifferInCase(u64),
    /// Headings with a line break.
    #[error(
        "{}: with a line break, which readers that split lines do not expect",
        counted(*.0, "heading")
    )]
    HeadingsWithLineBreak(u64),
    /// Headings with a dot, which some Parquet readers take for nesting.
    #[error("{}: with a dot, which some Parquet readers take for nesting", counted(*.0, "heading"))]
    HeadingsWithDot(u64),
    /// Selected columns that do not occur.
    #[error("{}", describe_missing(.0))]
    MissingColumns(Vec<MissingColumn>),
    /// Labels with a new name that do not occur.
    #[error("no submission has {}, which the column map renames", listed(.0))]
    UnusedRenames(Vec<String>),
    /// Selected columns and renamed labels of an output without rows.
    #[error("no submission was selected, so the labels {} could not be checked", listed(.0))]
    UncheckedLabels(Vec<String>),
    /// CSV cells of more than 32,767 characters.
    #[error("{}: longer than 32,767 characters, which Excel cuts off", counted(*.0, "cell"))]
    LongCells(u64),
    /// Cells of more than 32,767 characters, which were cut in a workbook.
    #[error("{}: cut at 32,767 characters; the sheet `Notes` lists them", counted(*.0, "cell"))]
    CutCells(u64),
    /// Cells in which CR LF or CR became LF in a workbook.
    #[error("{}: CR became LF", counted(*.0, "cell"))]
    ChangedLineBreaks(u64),
    /// Sheets with rows, if there are more than one.
    #[error("{}: a sheet has at most 1,048,576 rows", counted(*.0, "sheet"))]
    FurtherSheets(u64),
    /// Cells in which NUL or a lone surrogate became U+FFFD.
    #[error("{}: characters that the format cannot store became U+FFFD", counted(*.0, "cell"))]
    ReplacedCharacters(u64),
    /// Stored rows with answers that are not a JSON object; the output contains the text.
    #[error(
        "{}: the stored answers are not valid JSON and were written as text",
        counted(*.0, "submission")
    )]
    DamagedRows(u64),
    /// The file is a mount point and was written in place: it was incomplete for a short time.
    #[error(
        "the file is mounted by itself and was written in place, so that a reader may have seen a \
         part of it; mount its folder instead"
    )]
    WrittenInPlace,
    /// The replaced file was of another user; the new one is of the current user.
    #[error(
        "the replaced file belonged to another user; the new one belongs to you, with the same mode \
         (`chown` restores it)"
    )]
    OwnerChanged,
}

impl Remark {
    /// Returns a remark about a number of cells or headings; `None` for zero.
    pub(crate) fn counted(remark: impl Fn(u64) -> Self, count: u64) -> Option<Self> {
        (count > 0).then(|| remark(count))
    }
}

/// Returns a number with its noun.
fn counted(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", thousands(count), if count == 1 { "" } else { "s" })
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

fn describe_missing(columns: &[MissingColumn]) -> String {
    let names: Vec<_> = columns.iter().map(|column| format!("`{}`", column.heading)).collect();
    let similar: Vec<_> = columns.iter().filter_map(|column| column.similar.as_deref()).collect();
    let names = names.join(", ");
    let text = format!("no submission has {names}; the output has an empty column for each");
    if similar.is_empty() {
        text
    } else {
        format!("{text}. Did you mean `{}`?", similar.join("`, `"))
    }
}
