//! Options of standard output and standard error.

use clap::ValueEnum;

use crate::error::ErrorFormat;

/// Format of data on standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Aligned columns
    Table,
    /// One JSON array or object
    Json,
    /// One JSON object per line
    Ndjson,
    /// Comma-separated, with a header
    Csv,
    /// Tab-separated, without a header
    Tsv,
}

/// Format of times on a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimeStyle {
    /// Age, such as 2 hours ago
    #[default]
    Relative,
    /// Local date and time, such as 2026-03-01 09:30:00
    Absolute,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal that supports them
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// `--json`, `--jq`, `--template` and `--output` as flags.
#[derive(Clone, Debug, Default)]
pub(crate) struct Json {
    /// The fields, separated by commas. An empty value requests the list of fields.
    pub fields: Option<String>,
    /// The format from the `--output` flag. Requested fields are JSON unless this flag is set: a setting does not
    /// change their format.
    pub format: Option<OutputFormat>,
    /// A jq expression.
    pub jq: Option<String>,
    /// A template.
    pub template: Option<String>,
}

/// Options of the output of a command.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a property of a stream or a flag")]
pub(crate) struct OutputOptions {
    pub(crate) json: Json,
    /// The format from a flag or a setting; `None` if the stream decides.
    pub(crate) format: Option<OutputFormat>,
    pub(crate) time_style: TimeStyle,
    pub(crate) color: Color,
    pub(crate) error_format: ErrorFormat,
    pub(crate) quiet: bool,
    pub(crate) stdout_is_terminal: bool,
    pub(crate) stderr_is_terminal: bool,
    /// False if long output never goes through a pager.
    pub(crate) pager: bool,
    /// The pager from a variable or the config file.
    pub(crate) pager_command: Option<String>,
}
