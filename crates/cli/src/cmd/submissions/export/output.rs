//! The output of an export: format, path and summary.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use formsvc_client::Completeness;
use formsvc_export::{
    Compression, Existing, ExportError, FORMATS, FileFormat, Format, MonthFolder, Output, Remark,
    Rendered,
};
use sha2::{Digest, Sha256};

use super::{Export, stdout};
use crate::base::text::duration;
use crate::context::Context;
use crate::error::CliError;
use crate::error::message::Message;

impl Export {
    /// The format of `--format` or of the file's name; CSV if there is no ending. Another ending is an
    /// error, because a file of another format than its name is noticed only when it is opened.
    pub(super) fn format_of_output(&self) -> Result<FileFormat, CliError> {
        if self.partition.is_some() {
            return Ok(self.options.format().unwrap_or(Format::Parquet.into()));
        }
        let by_name = FileFormat::from_path(&self.out);
        if let Some(format) = self.options.format().or(by_name) {
            return Ok(match by_name {
                // `--format csv -o x.gz` is compressed.
                Some(named) if named.format == format.format => named,
                _ => format,
            });
        }
        let is_special = self.out.metadata().is_ok_and(|metadata| !metadata.is_file());
        if self.file().is_none() || self.out.extension().is_none() || is_special {
            return Ok(Format::Csv.into());
        }
        let known: Vec<&str> = FORMATS.iter().flat_map(|row| row.extensions).copied().collect();
        let what = format!("unknown format for `{}`", self.out.display());
        Err(CliError::usage(what).hint(format!(
            "use --format, or one of the endings .{} (text formats also with .gz or .zst)",
            known.join(", .")
        )))
    }

    /// The output's path; `None` for standard output, by any of its names.
    pub(super) fn file(&self) -> Option<&Path> {
        (!stdout::is_name_of_it(&self.out)).then_some(&self.out)
    }

    /// Opens the output.
    pub(super) fn output(
        &self,
        cx: &Context,
        path: Option<&Path>,
    ) -> Result<Output<'static>, ExportError> {
        let Some(path) = path else { return Ok(stdout::destination(cx).into()) };
        let existing = if self.no_clobber { Existing::Keep } else { Existing::Replace };
        if self.partition.is_some() {
            let folder = MonthFolder::create(path, existing)?;
            cx.abort.removes(folder.working_files());
            return Ok(Output::Months(folder));
        }
        let destination = formsvc_export::Destination::file(path, existing)?;
        cx.abort.removes(destination.working_files());
        Ok(destination.into())
    }
}

/// Longest part of a form's name in the name of its file, in bytes.
const STEM_MAX: usize = 80;

/// The names of the files of forms in a folder; each form is given by its name and its id. The file's name has a hash of the id if the form's own name is
/// cut or has characters that not every file system takes, or if two forms' names differ in case
/// only; should these be equal too, a number.
pub(super) fn file_names(forms: &[(&str, &str)], format: FileFormat) -> Vec<String> {
    let is_shared = |name: &str| {
        forms.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name)).nth(1).is_some()
    };
    let ending = match format.compression {
        Compression::Gzip => ".gz",
        Compression::Zstd => ".zst",
        _ => "",
    };
    let mut taken = HashSet::new();
    let names = forms.iter().map(|(name, id)| {
        let stem = plain(name);
        let hash = hex::encode(&Sha256::digest(id)[..4]);
        let is_own = stem == *name && !is_shared(name);
        let first = if is_own { stem.clone() } else { format!("{stem}-{hash}") };
        let numbered = (2..).map(|number| format!("{stem}-{hash}-{number}"));
        let mut candidates = std::iter::once(first).chain(numbered);
        let stem = candidates.find(|stem| taken.insert(stem.to_ascii_lowercase()));
        format!("{}.{}{ending}", stem.expect("there are endless numbers"), format.format.name())
    });
    names.collect()
}

/// Returns the beginning of a name, with `_` for each character that not every file system takes.
fn plain(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    name.chars().map(|c| if is_plain(c) { c } else { '_' }).take(STEM_MAX).collect()
}

/// The manifest beside an output.
pub(super) fn manifest_path(path: &Path) -> PathBuf {
    // Without the slash at the end of a folder's name.
    let mut name = path.components().as_path().as_os_str().to_owned();
    name.push(".manifest.json");
    name.into()
}

/// Reports the remarks about an output.
pub(super) fn report_rendered(cx: &Context, rendered: &Rendered) {
    for remark in &rendered.remarks {
        let advice = advice(remark).map_or(String::new(), |advice| format!("; {advice}"));
        cx.progress.remark(&format!("{remark}{advice}"));
    }
}

/// The flags that avoid the problem in a remark.
fn advice(remark: &Remark) -> Option<&'static str> {
    Some(match remark {
        Remark::GuardedCells(_) => "programs read the exact text with `--formula-guard off`",
        Remark::LabelsWithoutColumn(_) => "`--max-columns` raises the limit",
        Remark::HeadingsDifferInCase(_)
        | Remark::HeadingsWithLineBreak(_)
        | Remark::HeadingsWithDot(_) => "`--column-map` renames labels",
        Remark::MissingColumns(columns)
            if columns.iter().all(|column| column.similar.is_none()) =>
        {
            "`formsvc forms schema` lists the labels"
        }
        Remark::LongCells(_) => "`--format ndjson` or `parquet` avoids spreadsheets",
        Remark::CutCells(_) => "`--format csv` or `ndjson` keeps the full text",
        Remark::ChangedLineBreaks(_) => "`--format csv` or `ndjson` keeps line breaks",
        Remark::FurtherSheets(_) => "`--format csv` or `parquet` has no such limit",
        Remark::ReplacedCharacters(_) => {
            "the exact text is in `--format ndjson`, and in the table `submissions` of SQLite"
        }
        Remark::DamagedRows(_) => "`--fresh` fetches them again",
        _ => return None,
    })
}

/// The message of a complete export.
pub(super) fn summary(
    rendered: &Rendered,
    completeness: Completeness,
    file: Option<&Path>,
    elapsed: Duration,
) -> Message {
    let columns = match rendered.columns {
        0 => String::new(),
        columns => format!(", {}", counted(columns as u64, "column")),
    };
    let place = file.map_or(String::new(), |file| format!(" → {}", file.display()));
    let (submissions, time) = (counted(rendered.rows, "submission"), duration(elapsed));
    let complete = match completeness {
        Completeness::Proven => "yes",
        Completeness::Incomplete => "no",
        _ => "unproven",
    };
    let doubt = if complete == "yes" { String::new() } else { format!("; complete: {complete}") };
    let message = Message::info(format!("{submissions}{columns}{place} in {time}{doubt}"))
        .with("submissions", rendered.rows)
        .with("columns", rendered.columns)
        .with("seconds", elapsed.as_secs_f64())
        .with("complete", complete);
    match file {
        Some(file) => message.with("file", file.display().to_string()),
        None => message,
    }
}

pub(in crate::cmd) use crate::base::text::count as counted;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_with_equal_file_names_get_files_of_their_own() {
        let names = |ids: &[&str]| {
            let forms: Vec<_> = ids.iter().map(|id| (*id, *id)).collect();
            file_names(&forms, Format::Csv.into())
        };
        assert_eq!(names(&["a", "b"]), ["a.csv", "b.csv"]);
        assert_eq!(names(&["A", "b", "a"]), ["A-559aead0.csv", "b.csv", "a-ca978112.csv"]);
        assert_eq!(names(&["a.b", "a_b"]), ["a_b-2e7336dc.csv", "a_b.csv"]);
        let taken = names(&["x-2d711642", "x", "X"]);
        assert_eq!(taken, ["x-2d711642.csv", "x-2d711642-2.csv", "X-4b68ab38.csv"]);
        let long = names(&[&"q7/3=".repeat(900)]);
        assert_eq!(long[0].len(), STEM_MAX + "-00000000.csv".len());
    }
}
