//! The format of an export: flags, and the options that they mean.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use formsvc_export::{
    Compression, CsvProfile, FORMATS, FileFormat, Format, ListStyle, RenderOptions, RowFilter,
    StoredRow,
};
use jiff::tz::TimeZone;

use crate::again::Line;
use crate::args::whole;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{Jq, labels};

/// Largest column map, in bytes.
const MAP_MAX: u64 = 16 << 20;

#[derive(Debug, Args)]
pub(super) struct FormatOptions {
    /// The format [default: the ending of the output's name, else csv]
    #[arg(long, value_name = "FORMAT")]
    format: Option<FormatArg>,
    /// Columns of the answers with these labels only, separated by commas; `\,` is a comma in a label
    #[arg(long, value_name = "LABELS")]
    columns: Option<String>,
    /// Rename or merge labels: a JSON object of old and new labels
    #[arg(long, value_name = "FILE")]
    column_map: Option<PathBuf>,
    /// The content of the column map.
    #[arg(skip)]
    new_labels: HashMap<String, String>,
    /// Export the submissions for which this jq expression is true, such as `(.data.Age | tonumber?) > 30`
    #[arg(long = "where", value_name = "JQ")]
    filter: Option<String>,
    /// Columns for this many labels at most; the other answers share the column `other_answers`
    #[arg(long, value_name = "N", default_value_t = 2_500, value_parser = whole::<usize>(1..=100_000), hide_short_help = true)]
    max_columns: usize,
    /// How lists are written
    #[arg(long, value_name = "STYLE", default_value = "json", hide_short_help = true)]
    lists: Lists,
    /// Add the column `created_at_local` in this time zone, such as Europe/Berlin
    #[arg(long, value_name = "ZONE", hide_short_help = true)]
    time_zone: Option<String>,
    /// The dialect of CSV and TSV
    #[arg(long, value_name = "PROFILE", default_value = "rfc4180", hide_short_help = true)]
    csv_profile: Profile,
    /// The character between cells of CSV and TSV
    #[arg(long, value_name = "CHAR", hide_short_help = true)]
    delimiter: Option<String>,
    /// In CSV and TSV, put an apostrophe before text that a spreadsheet would run as a formula
    #[arg(long, value_name = "on|off", default_value = "on")]
    formula_guard: Switch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
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

/// A row of the table of formats, as an argument.
#[derive(Clone, Copy, Debug)]
struct FormatArg(Format);

impl ValueEnum for FormatArg {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [FormatArg; FORMATS.len()] = {
            let mut all = [FormatArg(Format::Csv); FORMATS.len()];
            let mut at = 0;
            while at < FORMATS.len() {
                all[at] = FormatArg(FORMATS[at].format);
                at += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let row = FORMATS.iter().find(|row| row.format == self.0)?;
        Some(PossibleValue::new(row.name).help(row.about))
    }
}

impl FormatOptions {
    /// The format of `--format`, without compression.
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

    /// The options of the engine.
    pub(super) fn render(
        &self,
        format: FileFormat,
        limit: Option<u64>,
    ) -> Result<RenderOptions, CliError> {
        let mut options = RenderOptions::new(format);
        let table = &mut options.table;
        table.max_columns = self.max_columns;
        table.lists = match self.lists {
            Lists::Json => ListStyle::Json,
            Lists::Join => ListStyle::Join,
            Lists::Columns => ListStyle::Columns,
        };
        if let Some(columns) = &self.columns {
            // The table's own columns stay.
            let local = self.time_zone.as_ref().map(|_| "created_at_local");
            let own = ["id", "created_at"].into_iter().chain(local).map(str::to_owned);
            table.columns = own.chain(labels(columns)?).collect();
        }
        table.column_map.clone_from(&self.new_labels);
        table.time_zone = self.time_zone.as_deref().map(time_zone).transpose()?;
        options.csv_profile = match self.csv_profile {
            Profile::Rfc4180 => CsvProfile::Rfc4180,
            Profile::Excel => CsvProfile::Excel,
        };
        options.delimiter = self.delimiter.as_deref().map(delimiter).transpose()?;
        options.formula_guard = self.formula_guard == Switch::On;
        options.filter = self.filter.as_deref().map(filter).transpose()?;
        options.limit = limit;
        Ok(options)
    }

    /// Adds the flags to a command that continues.
    pub(super) fn repeat(&self, line: &mut Line) {
        fn name(value: &impl ValueEnum) -> String {
            value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
        }
        let map = self.column_map.as_ref().map(|path| path.display().to_string());
        let columns = self.max_columns.to_string();
        for (flag, value) in [
            ("--format", self.format.as_ref().map(name)),
            ("--columns", self.columns.clone()),
            ("--column-map", map),
            ("--where", self.filter.clone()),
            ("--max-columns", (self.max_columns != 2_500).then_some(columns)),
            ("--lists", (self.lists != Lists::Json).then(|| name(&self.lists))),
            ("--time-zone", self.time_zone.clone()),
            (
                "--csv-profile",
                (self.csv_profile != Profile::Rfc4180).then(|| name(&self.csv_profile)),
            ),
            ("--delimiter", self.delimiter.clone()),
            ("--formula-guard", (self.formula_guard == Switch::Off).then(|| "off".to_owned())),
        ] {
            line.maybe(flag, value.as_deref());
        }
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

fn time_zone(name: &str) -> Result<TimeZone, CliError> {
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

/// The filter of `--where`. It sees a submission as the service sends it.
fn filter(code: &str) -> Result<RowFilter, CliError> {
    let jq = Jq::new(code)?;
    Ok(Box::new(move |row: &StoredRow<'_>| {
        let extra = row.extra.strip_prefix('{').map_or(String::new(), |extra| format!(",{extra}"));
        let end = if extra.is_empty() { "}" } else { "" };
        let text = serde_json::Value::from;
        let (id, created_at) = (text(row.id), text(row.created_at));
        let data = row.data;
        let json = format!("{{\"id\":{id},\"data\":{data},\"created_at\":{created_at}{extra}{end}");
        jq.is_true(&json).map_err(|error| error.brief())
    }))
}
