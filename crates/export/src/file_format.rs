//! Names of formats and compressions, one row each in [`FORMATS`].

use std::path::Path;

/// Compression of an output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// None.
    #[default]
    None,
    /// gzip (`.gz`).
    Gzip,
    /// Zstandard (`.zst`), in builds with the feature `zstd`.
    Zstd,
}

impl Compression {
    /// Returns true if this build has the compression.
    pub fn is_available(self) -> bool {
        cfg!(feature = "zstd") || self != Self::Zstd
    }
}

/// A format of exports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Comma-separated values.
    Csv,
    /// Tab-separated values.
    Tsv,
    /// One JSON object per line.
    Ndjson,
    /// One JSON array.
    Json,
    /// A workbook of Excel and other spreadsheets, in builds with the feature `xlsx`.
    Xlsx,
    /// An SQLite database.
    Sqlite,
    /// Apache Parquet, in builds with the feature `parquet`.
    Parquet,
}

/// Description of a format.
#[derive(Clone, Copy, Debug)]
pub struct FormatRow {
    /// The format.
    pub format: Format,
    /// Its name on a command line.
    pub name: &'static str,
    /// File name endings of the format.
    pub extensions: &'static [&'static str],
    /// A description of one line.
    pub about: &'static str,
}

/// Every format.
pub const FORMATS: &[FormatRow] = {
    use Format::{Csv, Json, Ndjson, Parquet, Sqlite, Tsv, Xlsx};
    &[
        row(
            Csv,
            &["csv"],
            "comma-separated values, quoted as in RFC 4180, one column per question",
        ),
        row(Tsv, &["tsv", "tab"], "tab-separated values, quoted like CSV"),
        row(Ndjson, &["ndjson", "jsonl"], "one JSON object per line, answers byte for byte"),
        row(Json, &["json"], "one JSON array, answers byte for byte"),
        row(Xlsx, &["xlsx"], "a workbook for spreadsheets; text is never a formula"),
        row(
            Sqlite,
            &["sqlite", "sqlite3", "db"],
            "an SQLite database with exact answers and a view with typed columns",
        ),
        row(
            Parquet,
            &["parquet"],
            "Apache Parquet with typed columns, for DuckDB, pandas and Spark; needs a build with \
             `--features parquet`",
        ),
    ]
};

/// Describes a format, which has the name of its first ending.
const fn row(
    format: Format,
    extensions: &'static [&'static str],
    about: &'static str,
) -> FormatRow {
    FormatRow { format, name: extensions[0], extensions, about }
}

impl Format {
    /// Returns the format of a file name's ending, without compression.
    pub fn from_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        FORMATS.iter().find(|row| row.extensions.contains(&&*extension)).map(|row| row.format)
    }

    /// Returns the name on a command line.
    pub fn name(self) -> &'static str {
        FORMATS.iter().find(|row| row.format == self).map_or("", |row| row.name)
    }

    /// Returns true if this build can write the format.
    pub fn is_available(self) -> bool {
        match self {
            Self::Parquet => cfg!(feature = "parquet"),
            Self::Xlsx => cfg!(feature = "xlsx"),
            _ => true,
        }
    }

    /// Returns true if the format has columns; false if it writes each row as a JSON object.
    pub fn is_table(self) -> bool {
        !matches!(self, Self::Ndjson | Self::Json)
    }

    /// Returns true if the format is written from its beginning to its end, and can be compressed. Other
    /// formats need a file.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Csv | Self::Tsv | Self::Ndjson | Self::Json)
    }
}

/// A format and its compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileFormat {
    /// The format.
    pub format: Format,
    /// The compression, for text formats.
    pub compression: Compression,
}

impl FileFormat {
    /// Returns the format of a file name such as `rows.csv` or `rows.ndjson.gz`.
    pub fn from_path(path: &Path) -> Option<Self> {
        let compression = match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "gz" => Compression::Gzip,
            "zst" => Compression::Zstd,
            _ => Compression::None,
        };
        let stem = path.file_stem().map(Path::new);
        let path = if compression == Compression::None { Some(path) } else { stem };
        let format = path.and_then(Format::from_path)?;
        let is_valid = format.is_text() || compression == Compression::None;
        is_valid.then_some(Self { format, compression })
    }

    /// Returns the format of a name such as `csv` or `ndjson.gz`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::from_path(Path::new(&format!("x.{name}")))
    }
}

impl From<Format> for FileFormat {
    fn from(format: Format) -> Self {
        Self { format, compression: Compression::None }
    }
}
