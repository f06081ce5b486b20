//! Commands for a person to type next: this program, for the same service, with the same flags.

use clap::ValueEnum;

use crate::base::sanitize::one_line;
use crate::base::shell::quoted;
use crate::settings::args::{Globals, Rate};
use crate::settings::{PROFILE_DEFAULT, Service, Settings, written};

/// A command line that is put together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    words: Vec<String>,
}

impl Line {
    /// A command of this program, with the flags of every command as they were given to this one.
    pub(crate) fn of(settings: &Settings, command: &[&str]) -> Self {
        let mut line = Self { words: vec!["formsvc".to_owned()] };
        match settings.service {
            Service::Demo => line.words.push("--demo".to_owned()),
            // Which one is used unless it is named may change meanwhile.
            Service::At { .. } if settings.profile != PROFILE_DEFAULT => {
                line.flag("--profile", &settings.profile);
            }
            Service::At { .. } => {}
        }
        line.words.extend(settings.given.words.iter().cloned());
        line.words.extend(command.iter().map(|&word| word.to_owned()));
        line
    }

    /// The flags of every command that were given, but for those that choose the profile and the demo.
    pub(crate) fn given(globals: &Globals) -> Self {
        fn name<T: ValueEnum>(value: &T) -> String {
            value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
        }
        let mut line = Self::default();
        let rate = |rate: &Rate| match rate {
            Rate::PerMinute(rate) => rate.to_string(),
            Rate::Off => "off".to_owned(),
        };
        // Another profile may be the one that is used: then this one has to be named.
        let profile = globals.profile.clone().filter(|profile| profile == PROFILE_DEFAULT);
        let file = globals.api_key_file.as_ref();
        for (flag, value) in [
            ("--profile", profile),
            ("--base-url", globals.base_url.clone()),
            ("--api-key-file", file.map(|path| path.display().to_string())),
            ("--output", globals.output.as_ref().map(name)),
            ("--json", globals.json.clone()),
            ("--jq", globals.jq.clone()),
            ("--template", globals.template.clone()),
            ("--time-style", globals.time_style.as_ref().map(name)),
            ("--color", globals.color.as_ref().map(name)),
            ("--error-format", globals.error_format.as_ref().map(name)),
            ("--timeout", globals.timeout.map(written)),
            ("--max-wait", globals.max_wait.map(written)),
            ("--cacert", globals.cacert.as_ref().map(|path| path.display().to_string())),
            ("--max-rate", globals.max_rate.as_ref().map(rate)),
        ] {
            if let Some(value) = value {
                line.flag(flag, &value);
            }
        }
        for (switch, on) in [
            ("--api-key-stdin", globals.api_key_stdin),
            ("--no-pager", globals.no_pager),
            ("--quiet", globals.quiet),
            ("--no-input", globals.no_input),
        ] {
            line.words.extend(on.then(|| switch.to_owned()));
        }
        if globals.verbose > 0 {
            line.words.push(format!("-{}", "v".repeat(globals.verbose.into())));
        }
        line
    }

    /// With a flag and its value.
    pub(crate) fn flag(&mut self, flag: &str, value: &str) -> &mut Self {
        if value.starts_with('-') {
            self.words.push(format!("{flag}={value}"));
        } else {
            self.words.extend([flag.to_owned(), value.to_owned()]);
        }
        self
    }

    /// Adds a flag without a value.
    pub(crate) fn switch(&mut self, flag: &str) -> &mut Self {
        self.words.push(flag.to_owned());
        self
    }

    /// With a flag and its value, if it has one.
    pub(crate) fn maybe(&mut self, flag: &str, value: Option<&str>) -> &mut Self {
        if let Some(value) = value {
            self.flag(flag, value);
        }
        self
    }

    /// The line, quoted for a shell. None if a word cannot be shown as it is, such as a cursor with
    /// control characters in it: what is shown would be another command.
    pub(crate) fn shown(&self) -> Option<String> {
        if self.words.iter().any(|word| one_line(word) != **word) {
            return None;
        }
        let words: Vec<_> = self.words.iter().map(|word| quoted(word)).collect();
        Some(words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, FromArgMatches};

    use super::*;
    use crate::cmd::Cli;

    /// The globals a line means.
    fn parsed(words: &[&str]) -> Globals {
        let matches = Cli::command().try_get_matches_from(words).unwrap();
        Cli::from_arg_matches(&matches).unwrap().globals
    }

    /// A value that each flag takes.
    fn value(flag: &str) -> &'static str {
        match flag {
            "output" => "csv",
            "time-style" => "absolute",
            "color" => "never",
            "error-format" => "json",
            "timeout" | "max-wait" => "1m 30s",
            "max-rate" => "60",
            "profile" => PROFILE_DEFAULT,
            _ => "-it's a b",
        }
    }

    #[test]
    fn every_flag_of_every_command_is_said_again() {
        let command = crate::cmd::command();
        let globals = command.get_arguments().filter(|arg| arg.is_global_set());
        let flags: Vec<&str> = globals.filter_map(|arg| arg.get_long()).collect();
        assert!(flags.len() > 15, "{flags:?}");
        for flag in flags.into_iter().filter(|flag| *flag != "demo") {
            let arg = command.get_arguments().find(|arg| arg.get_long() == Some(flag)).unwrap();
            let long = if arg.get_action().takes_values() {
                format!("--{flag}={}", value(flag))
            } else {
                format!("--{flag}")
            };
            let once = parsed(&["formsvc", &long, "me"]);
            let line = Line::given(&once);
            assert!(!line.words.is_empty(), "{flag}");
            let words: Vec<&str> = line.words.iter().map(String::as_str).collect();
            let again = parsed(&[&["formsvc"], &words[..], &["me"]].concat());
            assert_eq!(format!("{once:?}"), format!("{again:?}"), "{flag}");
        }
    }

    #[test]
    fn what_cannot_be_shown_as_it_is_is_not_shown() {
        let mut line = Line { words: vec!["formsvc".to_owned()] };
        line.flag("--field", "cursor=a b");
        assert_eq!(line.shown().as_deref(), Some("formsvc --field 'cursor=a b'"));
        assert_eq!(line.flag("--field", "cursor=\u{1b}[2J").shown(), None);
    }
}
