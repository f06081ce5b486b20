//! What has to be known before the arguments are understood: how to tell that they are not.

use std::ffi::OsString;

use clap::ValueEnum;

use crate::base::env::{self, Lookup};
use crate::error::ErrorFormat;
use crate::output::Color;
use crate::settings::args::Globals;
use crate::settings::{self, Care, Settings, Terminal};

/// How errors are told that come before settings are resolved.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Early {
    pub(crate) error_format: ErrorFormat,
    pub(crate) color: Color,
    /// Whether a flag or the environment says how, and in which colours.
    said: (bool, bool),
}

impl Early {
    /// From the arguments, wherever the flag stands, else from the environment. What makes no sense
    /// counts as not said: whoever resolves the settings tells about it.
    pub(crate) fn of(args: &[OsString], env: Lookup<'_>) -> Self {
        let said = |flag: &str, variable: &str| {
            value_of(args, flag).or_else(|| env(variable)?.into_string().ok())
        };
        let error_format = said("--error-format", env::ERROR_FORMAT.name);
        let color = said("--color", env::COLOR.name);
        Self {
            said: (error_format.is_some(), color.is_some()),
            error_format: read(error_format),
            color: read(color),
        }
    }

    /// What the configuration says, where nothing stronger does. Read only when something went
    /// wrong, and as far as it can be read.
    pub(crate) fn ask_configuration(&mut self, env: Lookup<'_>) {
        let (none, terminal) = (Globals::default(), Terminal::default());
        let Ok(settings) = settings::load(none, env, terminal, Care::Lenient) else { return };
        let (said_format, said_color) = self.said;
        if !said_format {
            self.error_format = settings.error_format;
        }
        if !said_color {
            self.color = settings.color;
        }
    }

    /// What the settings say once they are known.
    pub(crate) fn adopt(&mut self, settings: &Settings) {
        (self.error_format, self.color) = (settings.error_format, settings.color);
    }
}

fn read<T: ValueEnum + Default>(said: Option<String>) -> T {
    said.and_then(|value| T::from_str(&value, false).ok()).unwrap_or_default()
}

/// The last value a flag was given before `--`.
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

    fn told(args: &str, variable: Option<&str>) -> ErrorFormat {
        let args: Vec<OsString> = args.split(' ').map(OsString::from).collect();
        let env = |name: &str| {
            (name == "FORMSVC_ERROR_FORMAT").then(|| variable.map(OsString::from)).flatten()
        };
        Early::of(&args, &env).error_format
    }

    #[test]
    fn the_flag_is_found_wherever_it_stands() {
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
            assert_eq!(told(args, variable), format, "{args} {variable:?}");
        }
    }
}
