//! Remarks about a rendered file.

use std::fmt;

/// A property of the output that may surprise its reader. The text names the option that avoids it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remark {
    /// Cells that the formula guard changed.
    GuardedCells(u64),
    /// Labels without a column of their own: the answers are in `other_answers`.
    LabelsWithoutColumn(u64),
    /// Headings that differ from another one only in the case of letters.
    HeadingsDifferInCase(usize),
    /// Headings with a line break.
    HeadingsWithLineBreak(usize),
    /// Headings with a dot, which some Parquet readers take for nesting.
    HeadingsWithDot(usize),
    /// Selected columns that do not occur.
    MissingColumns(Vec<String>),
    /// CSV cells of more than 32,767 characters.
    LongCells(u64),
    /// Cells of more than 32,767 characters, which were cut in a workbook.
    CutCells(u64),
    /// Cells in which CR LF or CR became LF in a workbook.
    ChangedLineBreaks(u64),
    /// Sheets with rows, if there are more than one.
    FurtherSheets(usize),
    /// Cells in which NUL or a lone surrogate became U+FFFD.
    ReplacedCharacters(u64),
    /// Stored rows with answers that are not a JSON object; the output contains the text.
    DamagedRows(u64),
    /// The file is a mount point and was written in place: it was incomplete for a short time.
    WrittenInPlace,
    /// The replaced file was of another user; the new one is of the current user.
    OwnerChanged,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GuardedCells(count) => write!(
                f,
                "{} text that a spreadsheet would run as a formula, with an apostrophe in front; \
                 programs read the exact text with `--formula-guard off`",
                contain(*count, "cell")
            ),
            Self::LabelsWithoutColumn(count) => write!(
                f,
                "{} no column because other labels are more common; the answers are in \
                 `other_answers` (`--max-columns` raises the limit)",
                have(*count, "label")
            ),
            Self::HeadingsDifferInCase(count) => write!(
                f,
                "{} from another one only in upper and lower case, which SQLite, DuckDB and Excel \
                 tables do not tell apart; `--column-map` renames labels",
                if *count == 1 {
                    "1 heading differs".into()
                } else {
                    format!("{count} headings differ")
                }
            ),
            Self::HeadingsWithLineBreak(count) => write!(
                f,
                "{} a line break, which readers that split lines do not expect; `--column-map` \
                 renames labels",
                contain(*count as u64, "heading")
            ),
            Self::HeadingsWithDot(count) => write!(
                f,
                "{} a dot, which some Parquet readers take for nesting; `--column-map` renames labels",
                contain(*count as u64, "heading")
            ),
            Self::MissingColumns(headings) => {
                let names: Vec<_> = headings.iter().map(|name| format!("`{name}`")).collect();
                write!(
                    f,
                    "no submission has {}; the output has an empty column for each (`forms schema` \
                     lists the labels)",
                    names.join(", ")
                )
            }
            Self::LongCells(_)
            | Self::CutCells(_)
            | Self::ChangedLineBreaks(_)
            | Self::ReplacedCharacters(_) => self.fmt_cells(f),
            Self::FurtherSheets(count) => write!(
                f,
                "the rows are on {count} sheets, because a sheet has at most 1,048,576 rows; \
                 `--format csv` or `parquet` has no such limit"
            ),
            Self::DamagedRows(count) => write!(
                f,
                "the stored answers of {} are not valid JSON and were written as text; `--fresh` \
                 fetches them again",
                plural(*count, "submission")
            ),
            Self::WrittenInPlace => f.write_str(
                "the file is mounted by itself and was written in place, so that a reader may have \
                 seen a part of it; mount its folder instead",
            ),
            Self::OwnerChanged => f.write_str(
                "the replaced file belonged to another user; the new one belongs to you, with the \
                 same mode (`chown` restores it)",
            ),
        }
    }
}

impl Remark {
    /// Formats a remark about the length and characters of cells.
    fn fmt_cells(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LongCells(count) => write!(
                f,
                "{} more than 32,767 characters, which Excel cuts; `--format ndjson` or `parquet` \
                 avoids spreadsheets",
                have(*count, "cell")
            ),
            Self::CutCells(count) => write!(
                f,
                "{} more than 32,767 characters and {} cut; the sheet `Notes` lists them, and \
                 `--format csv` or `ndjson` keeps the full text",
                have(*count, "cell"),
                if *count == 1 { "was" } else { "were" }
            ),
            Self::ChangedLineBreaks(count) => write!(
                f,
                "CR became LF in {}; `--format csv` or `ndjson` keeps line breaks",
                plural(*count, "cell")
            ),
            Self::ReplacedCharacters(count) => write!(
                f,
                "characters that the format cannot store became U+FFFD in {}; the exact text is in \
                 `--format ndjson`",
                plural(*count, "cell")
            ),
            _ => Ok(()),
        }
    }
}

fn plural(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn have(count: u64, noun: &str) -> String {
    format!("{} {}", plural(count, noun), if count == 1 { "has" } else { "have" })
}

fn contain(count: u64, noun: &str) -> String {
    format!("{} {}", plural(count, noun), if count == 1 { "contains" } else { "contain" })
}
