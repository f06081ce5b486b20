//! The format of an export: its flags, and the options of the engine.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use formsvc_export::{
    Compression, FORMATS, FileFormat, Format, ListStyle, RenderOptions, RowFilter, StoredRow,
    TableOptions,
};
use jiff::tz::TimeZone;

use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{Jq, labels};
use crate::settings::args::whole;

/// Largest column map, in bytes.
const MAP_MAX: u64 = 16 << 20;

/// Returns true if a format uses an option.
type IsUsed = fn(Format) -> bool;

/// The options that only some formats use, and the formats that use each.
const OPTION_FORMATS: [(&str, IsUsed); 9] = [
    ("--columns", Format::is_table),
    ("--column-map", Format::is_table),
    ("--max-columns", Format::is_table),
    ("--lists", Format::is_table),
    ("--time-zone", Format::is_table),
    ("--csv-profile", is_csv),
    ("--delimiter", is_csv),
    ("--formula-guard", is_csv),
    ("--partition", |format| format == Format::Parquet),
];

fn is_csv(format: Format) -> bool {
    matches!(format, Format::Csv | Format::Tsv)
}

/// Lists the formats that use an option.
fn formats_of(is_used: IsUsed) -> String {
    let names = FORMATS.iter().filter(|row| is_used(row.format)).map(|row| row.name);
    names.collect::<Vec<_>>().join(", ")
}

/// Returns the help of an option that only some formats use.
pub(super) fn help(option: &str, text: &str) -> String {
    let row = OPTION_FORMATS.iter().find(|(name, _)| *name == option);
    row.map_or_else(String::new, |(_, is_used)| {
        format!("{text} [formats: {}]", formats_of(*is_used))
    })
}

/// Returns a usage error for the first of these options that the format does not use.
pub(super) fn check_options<'a>(
    format: Format,
    given: impl IntoIterator<Item = &'a str>,
) -> Result<(), CliError> {
    for option in given {
        let row = OPTION_FORMATS.iter().find(|(name, _)| *name == option);
        let Some((_, is_used)) = row.filter(|(_, is_used)| !is_used(format)) else { continue };
        let what = format!("`{option}` has no effect on the format `{}`", format.name());
        let hint = format!("omit it; formats that use it: {}", formats_of(*is_used));
        return Err(CliError::usage(what).hint(hint));
    }
    Ok(())
}

#[derive(Debug, Args)]
pub(super) struct FormatOptions {
    /// The format [default: the ending of the output's name, else csv]
    #[arg(long, value_name = "FORMAT")]
    format: Option<FormatArg>,
    #[arg(long, value_name = "LABELS", help = help("--columns", "Columns of the answers with these labels only, separated by commas; `\\,` is a comma in a label"))]
    columns: Option<String>,
    #[arg(long, value_name = "FILE", help = help("--column-map", "Rename or merge labels: a JSON object of old and new labels"))]
    column_map: Option<PathBuf>,
    /// The content of the column map.
    #[arg(skip)]
    new_labels: HashMap<String, String>,
    /// Export the submissions for which this jq expression is true, such as `(.data.Age | tonumber?) > 30`
    #[arg(long = "where", value_name = "JQ")]
    filter: Option<String>,
    #[arg(long, value_name = "N", value_parser = whole::<usize>(1..=100_000), hide_short_help = true, help = help("--max-columns", "Columns for this many labels at most; the other answers share the column `other_answers` [default: 2500]"))]
    max_columns: Option<usize>,
    #[arg(long, value_name = "STYLE", hide_short_help = true, help = help("--lists", "How lists are written [default: json]"))]
    lists: Option<Lists>,
    #[arg(long, value_name = "ZONE", hide_short_help = true, help = help("--time-zone", "Add the column `created_at_local` in this time zone, such as Europe/Berlin"))]
    time_zone: Option<String>,
    #[arg(long, value_name = "PROFILE", hide_short_help = true, help = help("--csv-profile", "The dialect of CSV [default: rfc4180]"))]
    csv_profile: Option<Profile>,
    #[arg(long, value_name = "CHAR", hide_short_help = true, help = help("--delimiter", "The character between cells"))]
    delimiter: Option<String>,
    #[arg(long, value_name = "on|off", value_parser = ["on", "off"], help = help("--formula-guard", "Put an apostrophe before text that a spreadsheet would run as a formula [default: on]"))]
    formula_guard: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Lists {
    /// One cell of JSON text
    Json,
    /// The items, separated by `; `
    Join,
    /// One column per choice
    Columns,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Profile {
    /// Lines end in LF, without a byte order mark
    Rfc4180,
    /// Lines end in CR LF, with a byte order mark
    Excel,
}

/// A format as an argument.
#[derive(Clone, Copy, Debug)]
struct FormatArg(Format);

impl ValueEnum for FormatArg {
    fn value_variants<'a>() -> &'a [Self] {
        use Format::{Csv, Json, Ndjson, Parquet, Sqlite, Tsv, Xlsx};
        &[Self(Csv), Self(Tsv), Self(Ndjson), Self(Json), Self(Xlsx), Self(Sqlite), Self(Parquet)]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let row = FORMATS.iter().find(|row| row.format == self.0)?;
        Some(PossibleValue::new(row.name).aliases(&row.extensions[1..]).help(row.about))
    }
}

impl FormatOptions {
    /// Returns the format of `--format`, without compression.
    pub(super) fn format(&self) -> Option<FileFormat> {
        let FormatArg(format) = self.format?;
        Some(FileFormat { format, compression: Compression::None })
    }

    /// Returns true if `--where` selects submissions.
    pub(super) fn has_filter(&self) -> bool {
        self.filter.is_some()
    }

    /// Reads the column map. Called once, because a pipe such as `<(…)` cannot be read again.
    pub(super) fn read_column_map(&mut self) -> Result<(), CliError> {
        if let Some(path) = &self.column_map {
            self.new_labels = read_map(path)?;
        }
        Ok(())
    }

    /// Returns the options of the engine.
    pub(super) fn render(
        &self,
        format: FileFormat,
        limit: Option<u64>,
    ) -> Result<RenderOptions, CliError> {
        let mut table = TableOptions::default();
        table.max_columns = self.max_columns.unwrap_or(table.max_columns);
        table.lists = match self.lists {
            None | Some(Lists::Json) => ListStyle::Json,
            Some(Lists::Join) => ListStyle::Join,
            Some(Lists::Columns) => ListStyle::Columns,
        };
        if let Some(columns) = &self.columns {
            // The table's own columns stay.
            let local = self.time_zone.as_ref().map(|_| "created_at_local");
            let own = ["id", "created_at"].into_iter().chain(local).map(str::to_owned);
            table.columns = own.chain(labels(columns)?).collect();
        }
        table.column_map.clone_from(&self.new_labels);
        table.time_zone = self.time_zone.as_deref().map(time_zone).transpose()?;
        let mut options = RenderOptions::new(format)
            .table(table)
            .excel(self.csv_profile == Some(Profile::Excel))
            .formula_guard(self.formula_guard.as_deref() != Some("off"))
            .filter(self.filter.as_deref().map(filter).transpose()?)
            .limit(limit);
        if let Some(text) = &self.delimiter {
            options = options.delimiter(delimiter(text)?);
        }
        Ok(options)
    }

    /// Returns a usage error for an option that the format does not use.
    pub(super) fn check(&self, format: Format) -> Result<(), CliError> {
        let flags = self.flags().into_iter().filter(|(_, value)| value.is_some());
        check_options(format, flags.map(|(flag, _)| flag))
    }

    /// Returns the flags with their values.
    pub(super) fn flags(&self) -> [(&'static str, Option<String>); 10] {
        fn name(value: &impl ValueEnum) -> String {
            value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
        }
        let map = self.column_map.as_ref().map(|path| path.display().to_string());
        [
            ("--format", self.format.as_ref().map(name)),
            ("--columns", self.columns.clone()),
            ("--column-map", map),
            ("--where", self.filter.clone()),
            ("--max-columns", self.max_columns.map(|columns| columns.to_string())),
            ("--lists", self.lists.as_ref().map(name)),
            ("--time-zone", self.time_zone.clone()),
            ("--csv-profile", self.csv_profile.as_ref().map(name)),
            ("--delimiter", self.delimiter.clone()),
            ("--formula-guard", self.formula_guard.clone()),
        ]
    }
}

fn read_map(path: &Path) -> Result<HashMap<String, String>, CliError> {
    let what = || format!("cannot read the column map `{}`", path.display());
    let failed = |error: std::io::Error| CliError::new(Exit::LocalIo, what()).because(&error);
    let mut json = Vec::new();
    // A pipe has no size before it ends.
    let read = File::open(path).and_then(|file| file.take(MAP_MAX + 1).read_to_end(&mut json));
    if read.map_err(failed)? as u64 > MAP_MAX {
        return Err(CliError::usage(what()).cause("the file is longer than 16 MiB"));
    }
    serde_json::from_slice(&json).map_err(|error| {
        let rule =
            "a column map is a JSON object of old and new labels, such as {\"Mail\":\"E-mail\"}";
        CliError::usage(what()).because(&error).hint(rule)
    })
}

/// Finds a time zone of the IANA database.
pub(in crate::cmd::submissions) fn time_zone(name: &str) -> Result<TimeZone, CliError> {
    TimeZone::get(name).map_err(|_| {
        CliError::usage(format!("unknown time zone `{name}`"))
            .hint("use a name of the IANA database, such as Europe/Berlin")
    })
}

fn delimiter(text: &str) -> Result<u8, CliError> {
    match text.as_bytes() {
        _ if text == "\\t" => Ok(b'\t'),
        &[byte] => Ok(byte),
        _ => Err(CliError::usage(format!("the delimiter `{text}` is not one ASCII character"))),
    }
}

/// Returns the filter of `--where`. It sees a submission as the service sends it.
fn filter(code: &str) -> Result<RowFilter, CliError> {
    let jq = Jq::new(code)?;
    Ok(Box::new(move |row: &StoredRow<'_>| {
        jq.is_true(&stored_json(row)).map_err(|error| error.brief())
    }))
}

/// Returns a stored submission as JSON, as the service sends it.
pub(in crate::cmd::submissions) fn stored_json(row: &StoredRow<'_>) -> String {
    let [id, created_at] = [row.id, row.created_at].map(serde_json::Value::from);
    let data = row.data;
    let extra = row.extra.strip_prefix('{').map_or("}".to_owned(), |extra| format!(",{extra}"));
    format!("{{\"id\":{id},\"data\":{data},\"created_at\":{created_at}{extra}")
}

#[cfg(test)]
mod tests {
    use formsvc_export::FormatRow;

    use super::*;

    #[test]
    fn option_of_other_formats_is_refused_and_named() {
        let command = crate::cmd::command();
        let export = command.find_subcommand("submissions").unwrap();
        let export = export.find_subcommand("export").unwrap();
        for (option, is_used) in OPTION_FORMATS {
            let arg = export.get_arguments().find(|arg| arg.get_long() == Some(&option[2..]));
            let help = arg.unwrap().get_help().unwrap().to_string();
            assert!(help.ends_with(&format!("[formats: {}]", formats_of(is_used))), "{help}");
            for FormatRow { format, name, .. } in FORMATS {
                let checked = check_options(*format, ["--where", option]);
                assert_eq!(checked.is_ok(), is_used(*format), "{option} {name}");
                let Err(error) = checked else { continue };
                let text = error.to_text();
                assert_eq!(error.exit, Exit::Usage);
                for expected in [option, name, &formats_of(is_used)] {
                    assert!(text.contains(expected), "{text}");
                }
            }
        }
    }
}
