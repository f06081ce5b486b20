//! The formats that can be imported: one table, which the command line, its messages and
//! docs/SERVER.md are held to.

use std::path::Path;

/// A format, and what people call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatRow {
    /// The format.
    pub format: ImportFormat,
    /// Its name on a command line.
    pub name: &'static str,
    /// Extensions of files that have it, in lower case and without the dot.
    pub extensions: &'static [&'static str],
    /// What such a file holds.
    pub about: &'static str,
}

macro_rules! formats {
    ($( $(#[$more:meta])* $format:ident, $name:literal, $extensions:expr, $about:literal; )+) => {
        /// How a file is written.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum ImportFormat {
            $( #[doc = $about] $(#[$more])* $format, )+
        }

        /// Every format.
        pub const FORMATS: &[FormatRow] = &[$(
            FormatRow {
                format: ImportFormat::$format,
                name: $name,
                extensions: &$extensions,
                about: $about,
            },
        )+];
    };
}

formats! {
    /// As in RFC 4180: LF or CRLF ends a line; a byte order mark is skipped. A blank line is an empty
    /// answer where there is one column, and a flaw between the records of several.
    Csv, "csv", ["csv"], "values with commas between them; the first record is the labels";
    /// As [`Csv`](Self::Csv) otherwise, quotes included.
    Tsv, "tsv", ["tsv"], "values with tabs between them; the first record is the labels";
    /// Empty lines are skipped.
    Ndjson, "ndjson", ["ndjson", "jsonl"], "one JSON object a line";
    /// White space between the elements is as one likes.
    Json, "json", ["json"], "one JSON array of objects, or of texts that answer one question";
}

impl ImportFormat {
    /// The format a file name's extension stands for, in either case.
    pub fn of_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        let is_it = |known: &&str| extension.eq_ignore_ascii_case(known);
        let row = FORMATS.iter().find(|row| row.extensions.iter().any(is_it))?;
        Some(row.format)
    }

    /// The format of a name in the table.
    pub fn named(name: &str) -> Option<Self> {
        FORMATS.iter().find(|row| row.name == name).map(|row| row.format)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_and_extension_stands_for_one_format() {
        for row in FORMATS {
            assert_eq!(ImportFormat::named(row.name), Some(row.format));
            for extension in row.extensions {
                for extension in [extension.to_string(), extension.to_ascii_uppercase()] {
                    let path = format!("a.b/c.{extension}");
                    assert_eq!(ImportFormat::of_path(Path::new(&path)), Some(row.format), "{path}");
                }
            }
        }
        assert_eq!(ImportFormat::named("CSV"), None);
        assert_eq!(ImportFormat::of_path(Path::new("csv")), None);
    }
}
