//! `--variant`: the names of the table of variants, as values of a flag.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use formsvc_contract::variant::{VARIANTS, Variant};

/// Reads the name of a variant.
pub(crate) fn parser() -> impl TypedValueParser<Value = Variant> {
    let values = VARIANTS.iter().map(|row| PossibleValue::new(row.name).help(row.makes));
    PossibleValuesParser::new(values)
        .map(|name| Variant::of_name(&name).expect("the values are the names of the table"))
}
