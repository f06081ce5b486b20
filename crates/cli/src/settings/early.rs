//! Format and colours of errors, as far as they are known before the arguments are parsed.

use std::ffi::OsString;

use clap::ValueEnum;

use crate::base::env::{self, Lookup};
use crate::error::ErrorFormat;
use crate::output::Color;
use crate::settings::Settings;

/// Format and colours of errors, for errors that occur before the settings are resolved.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ParsedEarly {
    pub(crate) error_format: ErrorFormat,
    pub(crate) color: Color,
}

impl ParsedEarly {
    /// Reads the flags, or else the variables. An invalid value is ignored here, and reported when the
    /// settings are resolved.
    pub(crate) fn new(args: &[OsString], env: Lookup<'_>) -> Self {
        let value = |flag: &str, variable: &str| {
            value_of(args, flag).or_else(|| env(variable)?.into_string().ok())
        };
        Self {
            error_format: parse(value("--error-format", env::ERROR_FORMAT.name)),
            color: parse(value("--color", env::COLOR.name)),
        }
    }

    /// Takes the values of the resolved settings.
    pub(crate) fn adopt(&mut self, settings: &Settings) {
        (self.error_format, self.color) = (settings.output.error_format, settings.output.color);
    }
}

fn parse<T: ValueEnum + Default>(value: Option<String>) -> T {
    value.and_then(|value| T::from_str(&value, false).ok()).unwrap_or_default()
}

/// Returns the last value of a flag before `--`.
pub(crate) fn value_of(args: &[OsString], flag: &str) -> Option<String> {
    let (mut value, mut words) = (None, args.get(1..).unwrap_or_default().iter());
    while let Some(word) = words.next().and_then(|word| word.to_str().or(Some(""))) {
        if word == "--" {
            break;
        }
        if word == flag {
            value = words.as_slice().first().and_then(|next| next.to_str()).map(str::to_owned);
        } else if let Some(given) = word.strip_prefix(flag).and_then(|rest| rest.strip_prefix('='))
        {
            value = Some(given.to_owned());
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &str, variable: Option<&str>) -> ErrorFormat {
        let args: Vec<OsString> = args.split(' ').map(OsString::from).collect();
        let env = |name: &str| {
            (name == "FORMSVC_ERROR_FORMAT").then(|| variable.map(OsString::from)).flatten()
        };
        ParsedEarly::new(&args, &env).error_format
    }

    #[test]
    fn flag_is_found_at_every_position() {
        use ErrorFormat::{Json, Text};
        for (args, variable, format) in [
            ("formsvc me", None, Text),
            ("formsvc --bad --error-format json", None, Json),
            ("formsvc --error-format=json lits", None, Json),
            ("formsvc lits", Some("json"), Json),
            ("formsvc lits --error-format text", Some("json"), Text),
            ("formsvc --error-format json --error-format text", None, Text),
            ("formsvc api -- --error-format json", None, Text),
            ("formsvc --error-format", Some("json"), Json),
            ("formsvc --error-format xml", None, Text),
            ("--error-format json", None, Text),
        ] {
            assert_eq!(parsed(args, variable), format, "{args} {variable:?}");
        }
    }
}
