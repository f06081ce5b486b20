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

/// Returns a usage error for an option of the command that the format does not use.
pub(super) fn check_options(format: Format) -> Result<(), CliError> {
    let typed = typed_args();
    let unused = OPTION_FORMATS
        .iter()
        .find(|(name, is_used)| !is_used(format) && typed.iter().any(|(typed, _)| typed == name));
    let Some((option, is_used)) = unused else { return Ok(()) };
    let what = format!("`{option}` has no effect on the format `{}`", format.name());
    let hint = format!("omit it; formats that use it: {}", formats_of(*is_used));
    Err(CliError::usage(what).hint(hint))
}

#[derive(Debug, Args)]
pub(super) struct FormatOptions {
    /// The format [default: the ending of the output's name, else csv]
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    format: Option<Format>,
    #[arg(long, value_name = "LABELS", help = help("--columns", "Columns of the answers with these labels only, separated by commas; `\\,` is a comma in a label"))]
    columns: Option<String>,
    #[arg(long, value_name = "FILE", help = help("--column-map", "Rename or merge labels: a JSON object of old and new labels"))]
    column_map: Option<PathBuf>,
    #[arg(skip)]
    new_labels: HashMap<String, String>,
    /// Export the submissions for which this jq expression is true, such as `(.data.Age | tonumber?) > 30`
    #[arg(long = "where", value_name = "JQ")]
    filter: Option<String>,
    #[arg(long, value_name = "N", value_parser = whole::<usize>(1..=100_000), hide_short_help = true, help = help("--max-columns", "Columns for this many labels at most; the other answers share the column `other_answers` [default: 2500]"))]
    max_columns: Option<usize>,
    #[arg(long, value_name = "STYLE", value_parser = ["json", "join", "columns"], hide_short_help = true, help = help("--lists", "How lists are written: `json` is one cell of JSON, `join` separates the items by `; `, `columns` adds one column per choice [default: json]"))]
    lists: Option<String>,
    #[arg(long, value_name = "ZONE", hide_short_help = true, help = help("--time-zone", "Add the column `created_at_local` in this time zone, such as Europe/Berlin"))]
    time_zone: Option<String>,
    #[arg(long, value_name = "PROFILE", value_parser = ["rfc4180", "excel"], hide_short_help = true, help = help("--csv-profile", "The dialect of CSV: `excel` has lines that end in CR LF, and a byte order mark [default: rfc4180]"))]
    csv_profile: Option<String>,
    #[arg(long, value_name = "CHAR", hide_short_help = true, help = help("--delimiter", "The character between cells"))]
    delimiter: Option<String>,
    #[arg(long, value_name = "on|off", value_parser = ["on", "off"], help = help("--formula-guard", "Put an apostrophe before text that a spreadsheet would run as a formula [default: on]"))]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_of_an_option_names_its_formats() {
        let command = crate::cmd::command();
        let export = command.find_subcommand("submissions").unwrap();
        let export = export.find_subcommand("export").unwrap();
        for (option, is_used) in OPTION_FORMATS {
            let arg = export.get_arguments().find(|arg| arg.get_long() == Some(&option[2..]));
            let help = arg.unwrap().get_help().unwrap().to_string();
            assert!(help.ends_with(&format!("[formats: {}]", formats_of(is_used))), "{help}");
        }
    }
}
