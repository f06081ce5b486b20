//! Formats of exported requests.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use formsvc_workbench::export::{ExportFormat, FORMATS};

/// Returns the parser of a format, or only of formats that contain requests to send.
pub(in crate::cmd) fn export_format(
    requests_only: bool,
) -> impl TypedValueParser<Value = ExportFormat> {
    let rows = FORMATS.iter().filter(move |row| row.is_request || !requests_only);
    let values = rows.map(|row| PossibleValue::new(row.name).help(row.description));
    PossibleValuesParser::new(values).map(|name| {
        let row = FORMATS.iter().find(|row| row.name == name);
        row.expect("the values are the names of formats").format
    })
}
