//! The output of an export: format, path and summary.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use formsvc_client::Completeness;
use formsvc_export::{
    Compression, Destination, Existing, ExportError, FORMATS, FileFormat, Format, MonthFolder,
    Output, Remark, Rendered,
};
use sha2::{Digest, Sha256};

use super::{Export, counted};
use crate::base::sanitize::SanitizingWriter;
use crate::base::text::duration;
use crate::cmd::submissions::outcome::completeness_name;
use crate::context::Context;
use crate::error::CliError;
use crate::error::message::Message;
use crate::exit::Exit;

/// Names of standard output. The last three must not be opened: the file would be written from its start, so
/// that `>>` would not append.
const STDOUT_NAMES: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// Returns standard output. If it is a terminal, text is sanitized.
pub(super) fn stdout(cx: &Context) -> Destination<'static> {
    if cx.settings.terminal.stdout {
        Destination::stream(Box::new(SanitizingWriter::new(io::stdout())))
    } else {
        Destination::stream(Box::new(io::stdout()))
    }
}

/// Removes the progress line before data is written to standard output.
pub(super) fn leave_terminal(cx: &Context) {
    if cx.settings.terminal.stdout {
        cx.progress.share_terminal();
    } else {
        cx.progress.stop_moving();
    }
}

/// Longest part of a form's name in the name of its file.
const STEM_MAX: usize = 80;

impl Export {
    /// Returns the format of `--format` or of the output's name; CSV for several forms and for a name without
    /// an ending. An unknown ending is an error.
    pub(super) fn format(&self) -> Result<FileFormat, CliError> {
        let by_flag = self.options.format();
        if self.is_to_folder() || self.partition.is_some() {
            let default = if self.partition.is_some() { Format::Parquet } else { Format::Csv };
            return Ok(by_flag.unwrap_or(default.into()));
        }
        let by_name = FileFormat::from_path(&self.out);
        match (by_flag, by_name) {
            // `--format csv -o x.csv.gz` is compressed.
            (Some(flag), Some(name)) if flag.format == name.format => return Ok(name),
            (Some(format), _) | (None, Some(format)) => return Ok(format),
            (None, None) => {}
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

    /// Returns the output's path; `None` for standard output, by any of its names.
    pub(super) fn file(&self) -> Option<&Path> {
        let is_stdout = STDOUT_NAMES.iter().any(|name| self.out == Path::new(name));
        (!is_stdout).then_some(&self.out)
    }

    /// Opens the output.
    pub(super) fn output(
        &self,
        cx: &Context,
        path: Option<&Path>,
    ) -> Result<Output<'static>, ExportError> {
        let Some(path) = path else { return Ok(stdout(cx).into()) };
        let existing = if self.no_clobber { Existing::Keep } else { Existing::Replace };
        if self.partition.is_some() {
            let folder = MonthFolder::create(path, existing)?;
            let files = folder.working_files();
            cx.shutdown.at_exit(move || files.remove());
            return Ok(Output::Months(folder));
        }
        let destination = Destination::file(path, existing)?;
        let files = destination.working_files();
        cx.shutdown.at_exit(move || files.remove());
        Ok(destination.into())
    }

    /// Returns the path of each form, which is given by its name and its id. Creates the folder of several
    /// forms.
    pub(super) fn paths(
        &self,
        forms: &[(&str, &str)],
        format: FileFormat,
    ) -> Result<Vec<Option<PathBuf>>, CliError> {
        if !self.is_to_folder() {
            return Ok(vec![self.file().map(Path::to_owned)]);
        }
        std::fs::create_dir_all(&self.out).map_err(|error| {
            let what = format!("cannot create the folder `{}`", self.out.display());
            CliError::new(Exit::LocalIo, what).because(&error)
        })?;
        let paths = file_names(forms, format).into_iter().map(|name| {
            let path = self.out.join(name);
            // The user did not choose this name, and a cloned repository may contain any link.
            if path.is_symlink() {
                let what = format!("`{}` is a symbolic link", path.display());
                let hint = "remove the link, or export this form alone to a file with `-o`";
                return Err(CliError::new(Exit::LocalIo, what).hint(hint));
            }
            Ok(Some(path))
        });
        paths.collect()
    }
}

/// Returns the names of the files of forms, which differ if the ids differ. A name has a hash of the form's id if the
/// form's name is long, has characters that some file system refuses, or differs from another one in case only.
fn file_names(forms: &[(&str, &str)], format: FileFormat) -> Vec<String> {
    let ending = match format.compression {
        Compression::Gzip => ".gz",
        Compression::Zstd => ".zst",
        _ => "",
    };
    let (mut seen, mut repeated) = (HashSet::new(), HashSet::new());
    for name in forms.iter().map(|(name, _)| name.to_ascii_lowercase()) {
        repeated.extend(seen.replace(name));
    }
    let names = forms.iter().map(|(name, id)| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        let plain = name.chars().map(|c| if is_plain(c) { c } else { '_' });
        let mut stem: String = plain.take(STEM_MAX).collect();
        if stem != *name || repeated.contains(&name.to_ascii_lowercase()) {
            // No other stem contains a dot, so the name differs from all names without a hash.
            stem = format!("{stem}.{}", hex::encode(&Sha256::digest(id)[..8]));
        }
        format!("{stem}.{}{ending}", format.format.name())
    });
    names.collect()
}

/// Returns the path of the manifest of an output.
pub(super) fn manifest_path(path: &Path) -> PathBuf {
    // Without the slash at the end of a folder's name.
    let mut name = path.components().as_path().as_os_str().to_owned();
    name.push(".manifest.json");
    name.into()
}

/// Reports the remarks about an output, with the flag that avoids the most common problems.
pub(super) fn report_rendered(cx: &Context, rendered: &Rendered) {
    for remark in &rendered.remarks {
        let advice = match remark {
            Remark::GuardedCells(_) => "; programs read the exact text with `--formula-guard off`",
            Remark::LabelsWithoutColumn(_) => "; `--max-columns` raises the limit",
            Remark::MissingColumns(columns) if columns.iter().all(|it| it.similar.is_none()) => {
                "; `formsvc forms schema` lists the labels"
            }
            Remark::LongCells(_) | Remark::CutCells(_) | Remark::ChangedLineBreaks(_) => {
                "; `--format ndjson` keeps the full text"
            }
            Remark::DamagedRows(_) => "; `--fresh` fetches them again",
            _ => "",
        };
        cx.progress.remark(&format!("{remark}{advice}"));
    }
}

/// Returns the summary of an export. `times` are the wall time and the time of waits in it.
pub(super) fn summary(
    rendered: &Rendered,
    completeness: Completeness,
    file: Option<&Path>,
    times: (Duration, Duration),
) -> Message {
    let columns = match rendered.columns {
        0 => String::new(),
        columns => format!(", {}", counted(columns as u64, "column")),
    };
    let place = file.map_or(String::new(), |file| format!(" → {}", file.display()));
    let (submissions, time) = (counted(rendered.rows, "submission"), with_waits(times));
    let complete = completeness_name(completeness);
    let doubt = if complete == "yes" { String::new() } else { format!("; complete: {complete}") };
    let message = Message::info(format!("{submissions}{columns}{place} in {time}{doubt}"))
        .with("submissions", rendered.rows)
        .with("columns", rendered.columns)
        .with("seconds", times.0.as_secs_f64())
        .with("complete", complete);
    match file {
        Some(file) => message.with("file", file.display().to_string()),
        None => message,
    }
}

/// Formats a wall time and the waits in it: `45.0 s (42.5 s waiting)`.
pub(in crate::cmd::submissions) fn with_waits((elapsed, waited): (Duration, Duration)) -> String {
    if waited < Duration::from_secs(1) {
        return duration(elapsed);
    }
    format!("{} ({} waiting)", duration(elapsed), duration(waited))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_with_equal_names_have_different_files() {
        let names = |ids: &[&str]| {
            let forms: Vec<_> = ids.iter().map(|id| (*id, *id)).collect();
            file_names(&forms, Format::Csv.into())
        };
        assert_eq!(names(&["a", "b"]), ["a.csv", "b.csv"]);
        assert_eq!(
            names(&["A", "b", "a"]),
            ["A.559aead08264d579.csv", "b.csv", "a.ca978112ca1bbdca.csv"]
        );
        assert_eq!(names(&["a.b", "a_b"]), ["a_b.2e7336dc8eba87ef.csv", "a_b.csv"]);
        let long = names(&[&"q7/3=".repeat(900)]);
        assert_eq!(long[0].len(), STEM_MAX + ".0000000000000000.csv".len());
    }

    #[test]
    fn hash_in_a_file_name_differs_from_all_form_names() {
        let forms = [("x y", "frm_2"), ("x_y-04f1cc6a5733162a", "frm_3")];
        let expected = ["x_y.04f1cc6a5733162a.csv", "x_y-04f1cc6a5733162a.csv"];
        assert_eq!(file_names(&forms, Format::Csv.into()), expected);
    }

    #[test]
    fn file_names_of_many_forms_take_linear_time() {
        // Protects against a comparison of each name with all others. Asserts no time: such a comparison takes
        // minutes, and a correct search less than a second.
        let names: Vec<String> = (0..100_000).map(|at| format!("form_{at}")).collect();
        let forms: Vec<_> = names.iter().map(|name| (&**name, &**name)).collect();
        let files = file_names(&forms, Format::Csv.into());
        assert_eq!(files.last().unwrap(), "form_99999.csv");
    }

    #[test]
    fn summary_time_names_the_waits() {
        let time = |millis| Duration::from_millis(millis);
        assert_eq!(with_waits((time(45_000), time(42_500))), "45.0 s (42.5 s waiting)");
        assert_eq!(with_waits((time(2_500), time(999))), "2.5 s");
    }
}
