//! The errors of the command line as JSON, from the tables in formsvc-cli.

use formsvc_cli::MESSAGE_FIELDS;
use formsvc_cli::error::{CODES, FIELDS};

use crate::markdown::Section;

pub(crate) fn fields() -> Section {
    let rows = FIELDS
        .iter()
        .map(|row| vec![format!("`{}`", row.name), row.holds.to_owned(), row.meaning.to_owned()]);
    Section {
        title: "Errors of `formsvc` as JSON",
        about: "With `--error-format json`, `FORMSVC_ERROR_FORMAT=json` or `error_format` in the \
                configuration, every\nfailure is one line of JSON on standard error, \
                `{\"error\":{…}}`, wrong arguments included. The object has\nall of these fields, \
                always; later releases may add more.",
        columns: &["Field", "Holds", "Meaning"],
        rows: rows.collect(),
    }
}

pub(crate) fn message_fields() -> Section {
    let rows = MESSAGE_FIELDS
        .iter()
        .map(|row| vec![format!("`{}`", row.name), row.holds.to_owned(), row.meaning.to_owned()]);
    Section {
        title: "Messages of `formsvc` as JSON",
        about: "With the same setting, every other line on standard error is a JSON object as well: \
                warnings,\nsummaries, progress, and the log of `-vv`. It has no member `error`. `level` and \
                `message` are\nalways there, the other fields where they apply; later releases may add more. \
                `--quiet` leaves\nonly the errors. Prompts, which a terminal alone gets, stay text.",
        columns: &["Field", "Type", "Meaning"],
        rows: rows.collect(),
    }
}

pub(crate) fn codes() -> Section {
    let rows = CODES.iter().map(|row| {
        vec![format!("`{}`", row.name), row.exit.code().to_string(), row.meaning.to_owned()]
    });
    Section {
        title: "Error codes of `formsvc`",
        about: "The field `code`, which never changes its meaning; later releases may add more. \
                Each belongs to one\nexit code.",
        columns: &["Code", "Exit", "Meaning"],
        rows: rows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_and_code_has_its_row() {
        assert_eq!(fields().rows.len(), FIELDS.len());
        assert_eq!(codes().rows.len(), CODES.len());
        assert_eq!(message_fields().rows.len(), MESSAGE_FIELDS.len());
    }
}
