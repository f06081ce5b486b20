//! The format of an export: its flags, and the options of the engine.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use formsvc_export::{
    Compression, FORMATS, FileFormat, Format, FormatRow, ListStyle, RenderOptions, RowFilter,
    StoredRow, TableOptions,
};
use jiff::tz::TimeZone;

use super::typed::typed_args;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{Jq, labels};
use crate::settings::args::whole;

/// The options that only tables use, and those that only CSV and TSV use.
const TABLE_OPTIONS: [&str; 5] =
    ["--columns", "--column-map", "--max-columns", "--lists", "--time-zone"];
const CSV_OPTIONS: [&str; 3] = ["--csv-profile", "--delimiter", "--formula-guard"];

fn is_csv(format: Format) -> bool {
    matches!(format, Format::Csv | Format::Tsv)
}

fn has_effect(option: &str, format: Format) -> bool {
    (format.is_table() || !TABLE_OPTIONS.contains(&option))
        && (is_csv(format) || !CSV_OPTIONS.contains(&option))
        && (format == Format::Parquet || option != "--partition")
}

/// Returns a usage error for an option of the command that the format does not use.
pub(super) fn check_options(format: Format) -> Result<(), CliError> {
    let mut typed = typed_args().into_iter();
    let Some((option, _)) = typed.find(|(option, _)| !has_effect(option, format)) else {
        return Ok(());
    };
    let what = format!("`{option}` has no effect on the format `{}`", format.name());
    let formats = FORMATS.iter().filter(|row| has_effect(&option, row.format));
    let names: Vec<&str> = formats.map(|row| row.name).collect();
    Err(CliError::usage(what).hint(format!("omit it, or use `--format` with {}", names.join(", "))))
}

#[derive(Debug, Args)]
pub(super) struct FormatOptions {
    /// The format [default: by the ending of the output's name, csv if it has none]
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    format: Option<Format>,
    /// Columns of the answers with these labels only, separated by commas; `\,` is a comma in a label
    /// [formats: csv, tsv, xlsx, sqlite, parquet]
    #[arg(long, value_name = "LABELS")]
    columns: Option<String>,
    /// Rename or merge labels: a JSON object of old and new labels [formats: csv, tsv, xlsx, sqlite, parquet]
    #[arg(long, value_name = "FILE")]
    column_map: Option<PathBuf>,
    #[arg(skip)]
    new_labels: HashMap<String, String>,
    /// Export the submissions for which this jq expression is true, such as `(.data.Age | tonumber?) > 30`
    #[arg(long = "where", value_name = "JQ")]
    filter: Option<String>,
    /// Columns for this many labels at most; the other answers share the column `other_answers` [default:
    /// 2500] [formats: csv, tsv, xlsx, sqlite, parquet]
    #[arg(long, value_name = "N", value_parser = whole::<usize>(1..=100_000), hide_short_help = true)]
    max_columns: Option<usize>,
    /// How lists are written: `json` is one cell of JSON, `join` separates the items by `; `, `columns` adds
    /// one column per choice [default: json] [formats: csv, tsv, xlsx, sqlite, parquet]
    #[arg(long, value_name = "STYLE", value_parser = ["json", "join", "columns"], hide_short_help = true)]
    lists: Option<String>,
    /// Add the column `created_at_local` in this time zone, such as Europe/Berlin [formats: csv, tsv, xlsx,
    /// sqlite, parquet]
    #[arg(long, value_name = "ZONE", hide_short_help = true)]
    time_zone: Option<String>,
    /// The dialect of CSV: `rfc4180` ends lines with LF, `excel` with CR LF and begins with a byte order mark
    /// [default: rfc4180] [formats: csv, tsv]
    #[arg(long, value_name = "PROFILE", value_parser = ["rfc4180", "excel"], hide_short_help = true)]
    csv_profile: Option<String>,
    /// The character between cells [formats: csv, tsv]
    #[arg(long, value_name = "CHAR", hide_short_help = true)]
    delimiter: Option<String>,
    /// Put an apostrophe before text that a spreadsheet would run as a formula [default: on] [formats: csv,
    /// tsv]
    #[arg(long, value_name = "on|off", value_parser = ["on", "off"])]
    formula_guard: Option<String>,
}

/// Parses the name of a format, or an ending of its files.
fn formats() -> impl TypedValueParser<Value = Format> {
    let values = FORMATS
        .iter()
        .map(|row| PossibleValue::new(row.name).aliases(&row.extensions[1..]).help(row.about));
    PossibleValuesParser::new(values).try_map(|name| {
        let has_name = |row: &&FormatRow| row.name == name || row.extensions.contains(&&*name);
        FORMATS.iter().find(has_name).map(|row| row.format).ok_or("unknown format")
    })
}

impl FormatOptions {
    /// Returns the format of `--format`, without compression.
    pub(super) fn format(&self) -> Option<FileFormat> {
        Some(FileFormat { format: self.format?, compression: Compression::None })
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
        table.lists = match self.lists.as_deref() {
            Some("join") => ListStyle::Join,
            Some("columns") => ListStyle::Columns,
            _ => ListStyle::Json,
        };
        if let Some(columns) = &self.columns {
            // The columns that are not answers are always included.
            let local = self.time_zone.as_ref().map(|_| "created_at_local");
            let own = ["id", "created_at"].into_iter().chain(local).map(str::to_owned);
            table.columns = own.chain(labels(columns)?).collect();
        }
        table.column_map.clone_from(&self.new_labels);
        table.time_zone = self.time_zone.as_deref().map(time_zone).transpose()?;
        let mut options = RenderOptions::new(format)
            .table(table)
            .excel(self.csv_profile.as_deref() == Some("excel"))
            .formula_guard(self.formula_guard.as_deref() != Some("off"))
            .filter(self.filter.as_deref().map(filter).transpose()?)
            .limit(limit);
        if let Some(text) = &self.delimiter {
            options = options.delimiter(delimiter(text)?);
        }
        Ok(options)
    }
}

fn read_map(path: &Path) -> Result<HashMap<String, String>, CliError> {
    let what = || format!("cannot read the column map `{}`", path.display());
    let json = std::fs::read(path)
        .map_err(|error| CliError::new(Exit::LocalIo, what()).because(&error))?;
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
